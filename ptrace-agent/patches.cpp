// SPDX-License-Identifier: MIT
#include "ptrace-agent/patches.hpp"

#include "ptrace-agent/address_space.hpp"
#include "ptrace-agent/proc_files.hpp"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace dt::agent {

constexpr std::uint64_t span_gap = 4096; // patches closer than this are one write
constexpr std::size_t max_span = 1 << 20;

// Bytes for many places of one memory, written in few calls.
template <class Items, class At, class Put>
static void in_spans(const Items& items, At range, Put put)
{
    for (std::size_t first = 0, last; first < items.size(); first = last) {
        auto [from, n] = range(items[first]);
        TargetAddr end = from + n;
        for (last = first + 1; last < items.size(); ++last) {
            auto [next, bytes] = range(items[last]);
            if (next - end > span_gap || next + bytes - from > max_span)
                break;
            end = next + bytes;
        }
        put(first, last, from, end - from);
    }
}

std::vector<Planted*> Patches::write(AddressSpace& text,
                                     std::vector<std::unique_ptr<Planted>> all,
                                     const MoveThreads& move_threads)
{
    std::vector<Planted*> odd;
    std::vector<Planted*> list;
    for (auto& planted : all)
        list.push_back(planted.get());

    // Trampolines and stubs first: a jump never leads to what is not there yet.
    struct Piece {
        TargetAddr at;
        const std::vector<std::byte>* code;
        Planted* planted;
    };
    std::vector<Piece> pieces;
    for (Planted* planted : list) {
        pieces.push_back({planted->patch.trampoline, &planted->patch.code, planted});
        if (planted->patch.stub)
            pieces.push_back(
                {*planted->patch.stub, &planted->patch.stub_code, planted});
    }
    std::sort(pieces.begin(), pieces.end(),
              [](const Piece& a, const Piece& b) { return a.at < b.at; });
    std::vector<std::byte> bytes;
    in_spans(
        pieces, [](const Piece& p) { return std::pair(p.at, p.code->size()); },
        [&](std::size_t first, std::size_t last, TargetAddr from, std::uint64_t n) {
            bytes.assign(n, std::byte{0xcc});
            bool ok = text.read_text(from, bytes);
            for (std::size_t i = first; i < last; ++i)
                std::copy(pieces[i].code->begin(), pieces[i].code->end(),
                          bytes.begin() +
                              static_cast<std::ptrdiff_t>(pieces[i].at - from));
            ok = ok && text.write_text(from, bytes);
            for (std::size_t i = first; i < last && !ok; ++i)
                odd.push_back(pieces[i].planted);
        });

    std::sort(list.begin(), list.end(),
              [](Planted* a, Planted* b) { return a->patch.at < b->patch.at; });
    std::sort(odd.begin(), odd.end());
    odd.erase(std::unique(odd.begin(), odd.end()), odd.end());
    std::erase_if(list, [&odd](Planted* planted) {
        return std::binary_search(odd.begin(), odd.end(), planted);
    });
    // No moment in which somebody stands in a half of what was an instruction.
    move_threads(list);
    in_spans(
        list, [](Planted* p) { return std::pair(p->patch.at, p->patch.text.size()); },
        [&](std::size_t first, std::size_t last, TargetAddr from, std::uint64_t n) {
            bytes.resize(n);
            bool ok = text.read_text(from, bytes);
            std::vector<Planted*> changed;
            for (std::size_t i = first; i < last; ++i) {
                Patch& patch = list[i]->patch;
                auto here =
                    bytes.begin() + static_cast<std::ptrdiff_t>(patch.at - from);
                if (!ok ||
                    !std::equal(patch.original.begin(), patch.original.end(), here)) {
                    odd.push_back(list[i]);
                    continue;
                }
                std::copy(patch.text.begin(), patch.text.end(), here);
                changed.push_back(list[i]);
            }
            ok = ok && (changed.empty() || text.write_text(from, bytes));
            for (Planted* planted : changed) {
                planted->written = ok;
                if (!ok)
                    odd.push_back(planted);
            }
        });

    std::sort(odd.begin(), odd.end());
    odd.erase(std::unique(odd.begin(), odd.end()), odd.end());
    for (auto& planted : all) {
        by_trampoline_[planted->patch.trampoline] = planted.get();
        if (planted->patch.stub)
            by_trampoline_[*planted->patch.stub] = planted.get();
        TargetAddr window = planted->patch.at;
        if (planted->written)
            planted_[window] = std::move(planted);
        else
            retired_.push_back(std::move(planted));
    }
    return odd;
}

// The original bytes over those of our jumps that still stand there.
template <class Read, class Write>
static void put_back(std::vector<Planted*> list, Read read, Write write)
{
    std::vector<std::byte> bytes;
    in_spans(
        list, [](Planted* p) { return std::pair(p->patch.at, p->patch.text.size()); },
        [&](std::size_t first, std::size_t last, TargetAddr from, std::uint64_t n) {
            bytes.resize(n);
            if (!read(from, bytes))
                return;
            for (std::size_t i = first; i < last; ++i) {
                const Patch& patch = list[i]->patch;
                auto here =
                    bytes.begin() + static_cast<std::ptrdiff_t>(patch.at - from);
                if (std::equal(patch.text.begin(), patch.text.end(), here))
                    std::copy(patch.original.begin(), patch.original.end(), here);
            }
            write(from, bytes);
        });
}

void Patches::take_out(AddressSpace& text, const std::vector<TargetAddr>& windows)
{
    std::vector<Planted*> list;
    for (TargetAddr window : windows) {
        if (auto found = planted_.find(window); found != planted_.end())
            list.push_back(found->second.get());
    }
    put_back(
        list,
        [&](TargetAddr at, std::span<std::byte> bytes) {
            return text.read_text(at, bytes);
        },
        [&](TargetAddr at, std::span<std::byte> bytes) { text.write_text(at, bytes); });
    for (TargetAddr window : windows)
        drop(window);
}

void Patches::restore_in(pid_t child) const
{
    Fd mem(open(proc_path(child, "mem").c_str(), O_RDWR | O_CLOEXEC));
    if (!mem)
        return;
    std::vector<Planted*> list;
    for (const auto& [at, planted] : planted_)
        list.push_back(planted.get());
    put_back(
        list,
        [&](TargetAddr at, std::span<std::byte> bytes) {
            return pread(mem.get(), bytes.data(), bytes.size(),
                         static_cast<off_t>(at.value)) ==
                   static_cast<ssize_t>(bytes.size());
        },
        [&](TargetAddr at, std::span<std::byte> bytes) {
            (void)!pwrite(mem.get(), bytes.data(), bytes.size(),
                          static_cast<off_t>(at.value)); // it may have died
        });
}

void Patches::drop(TargetAddr window)
{
    auto found = planted_.find(window);
    if (found == planted_.end())
        return;
    found->second->written = false;
    retired_.push_back(std::move(found->second));
    planted_.erase(found);
}

std::vector<std::uint32_t> Patches::reclaim()
{
    std::vector<std::uint32_t> sites;
    for (auto& planted : retired_) {
        const Patch& patch = planted->patch;
        by_trampoline_.erase(patch.trampoline);
        if (patch.stub)
            by_trampoline_.erase(*patch.stub);
        space_.give_back({patch.trampoline, patch.stub}, patch.code.size());
        for (const Planted::Probed& probed : planted->probed)
            sites.push_back(probed.site);
    }
    retired_.clear();
    return sites;
}

void Patches::forget_all()
{
    planted_.clear();
    by_trampoline_.clear();
    retired_.clear();
    areas.clear();
    space_ = TrampolineSpace();
}

Planted* Patches::at(TargetAddr window) const
{
    auto found = planted_.find(window);
    return found == planted_.end() ? nullptr : found->second.get();
}

Planted* Patches::covering(TargetAddr address) const
{
    auto after = planted_.upper_bound(address);
    if (after == planted_.begin())
        return nullptr;
    Planted* planted = std::prev(after)->second.get();
    bool inside = address - planted->patch.at < planted->patch.original.size();
    return inside ? planted : nullptr;
}

Planted* Patches::first_from(TargetAddr address) const
{
    if (Planted* over = covering(address))
        return over;
    auto next = planted_.lower_bound(address);
    return next == planted_.end() ? nullptr : next->second.get();
}

std::optional<Found> Patches::find(TargetAddr pc) const
{
    Planted* planted = covering(pc);
    if (planted == nullptr && in_areas(pc)) {
        auto after = by_trampoline_.upper_bound(pc);
        if (after != by_trampoline_.begin())
            planted = std::prev(after)->second;
    }
    if (planted == nullptr)
        return std::nullopt;
    auto place = place_of(planted->patch, pc);
    if (!place)
        return std::nullopt;
    return Found{planted, *place};
}

std::vector<TargetAddr> Patches::windows() const
{
    std::vector<TargetAddr> all;
    for (const auto& [at, planted] : planted_)
        all.push_back(at);
    return all;
}

void Patches::overlay_original(TargetAddr from, std::span<std::byte> bytes) const
{
    auto at = planted_.upper_bound(from);
    if (at != planted_.begin())
        --at;
    for (; at != planted_.end() && at->first < from + bytes.size(); ++at) {
        const Patch& patch = at->second->patch;
        for (std::size_t i = 0; i < patch.original.size(); ++i) {
            std::uint64_t offset = patch.at + i - from;
            if (patch.at + i >= from && offset < bytes.size() &&
                bytes[offset] == patch.text[i])
                bytes[offset] = patch.original[i];
        }
    }
}

} // namespace dt::agent
