// SPDX-License-Identifier: MIT
#include "ptrace-agent/plant/patches.hpp"

#include "process/page_map.hpp"
#include "process/proc_files.hpp"
#include "ptrace-agent/address_space.hpp"
#include "ptrace-agent/confine/relayed_calls.hpp"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace dt::agent {

constexpr std::uint64_t span_gap = 4096; // largest gap in a span, in bytes
constexpr std::size_t max_span = 1 << 20;

// Calls put() for spans of neighbouring items, to save system calls. are_joined()
// decides whether the bytes between two neighbours may be rewritten. put() returns
// false if it could not access the entire span. It is then called for each item.
template <class Items, class At, class Joined, class Put>
static void in_spans(const Items& items, At range, Joined are_joined, Put put)
{
    for (std::size_t first = 0, last; first < items.size(); first = last) {
        auto [from, n] = range(items[first]);
        TargetAddr end = from + n;
        for (last = first + 1; last < items.size(); ++last) {
            auto [next, bytes] = range(items[last]);
            if (next - end > span_gap || next + bytes - from > max_span ||
                !are_joined(items[last - 1], items[last]))
                break;
            end = next + bytes;
        }
        if (put(first, last, from, end - from) || last - first == 1)
            continue;
        for (std::size_t i = first; i < last; ++i) {
            auto [at, bytes] = range(items[i]);
            put(i, i + 1, at, bytes);
        }
    }
}

// Returns the position of address `at` in bytes that were read from address `from`.
static std::vector<std::byte>::iterator place_in(std::vector<std::byte>& bytes,
                                                 TargetAddr from, TargetAddr at)
{
    return bytes.begin() + static_cast<std::ptrdiff_t>(at - from);
}

static std::pair<TargetAddr, std::size_t> window_of(const Planted* planted)
{
    return {planted->patch.at, planted->patch.text.size()};
}

// Returns whether `text` contains the bytes of a patch, except bytes that uprobes have
// changed: to int3, or back to the original byte.
template <class Iterator> static bool contains(Iterator text, const Patch& patch)
{
    constexpr std::byte int3{0xcc};
    std::size_t n_ours = 0;
    for (std::size_t k = 0; k < patch.text.size(); ++k, ++text) {
        if (*text == patch.text[k])
            n_ours += patch.text[k] != patch.original[k] ? 1 : 0;
        else if (*text != int3 && *text != patch.original[k])
            return false;
    }
    return n_ours > 0;
}

// Joins all neighbours in in_spans(). While no thread runs, the text between two
// windows may be rewritten with the same bytes.
constexpr auto in_stopped_text = [](const auto&, const auto&) { return true; };

static void sort_unique(std::vector<Planted*>& all)
{
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
}

// Moves the selected patches from `from` to retired_. `selected` must be sorted.
void Patches::retire(const std::vector<Planted*>& selected,
                     std::vector<std::unique_ptr<Planted>>& from)
{
    if (selected.empty())
        return;
    auto first =
        std::stable_partition(from.begin(), from.end(), [&selected](const auto& each) {
            return !std::binary_search(selected.begin(), selected.end(), each.get());
        });
    retired_.insert(retired_.end(), std::make_move_iterator(first),
                    std::make_move_iterator(from.end()));
    from.erase(first, from.end());
}

std::vector<Planted*> Patches::prepare(AddressSpace& text,
                                       std::vector<std::unique_ptr<Planted>> all)
{
    struct Piece {
        TargetAddr at;
        std::span<const std::byte> code;
        Planted* planted;
    };
    auto before = [](const auto& a, const auto& b) { return a.at < b.at; };
    std::vector<Piece> pieces;
    pieces.reserve(all.size());
    for (const auto& planted : all) {
        const Patch& patch = planted->patch;
        pieces.push_back({patch.trampoline, patch.code, planted.get()});
        for (std::size_t i = 0; i < patch.stubs.size(); ++i)
            pieces.push_back({patch.stubs[i], patch.code_of_stub(i), planted.get()});
    }
    if (!std::is_sorted(pieces.begin(), pieces.end(), before))
        std::sort(pieces.begin(), pieces.end(), before);
    std::vector<Planted*> unwritten;
    std::vector<std::byte> bytes;
    in_spans(
        pieces, [](const Piece& p) { return std::pair(p.at, p.code.size()); },
        // Joins only pieces of the same area. The bytes between two areas may belong to
        // the program, which may be running and may change them.
        [this](const Piece& a, const Piece& b) {
            return space_.area_of(a.at) == space_.area_of(b.at);
        },
        [&](std::size_t first, std::size_t last, TargetAddr from, std::uint64_t n) {
            bytes.assign(n, std::byte{0xcc});
            // Only bytes of other trampolines must be preserved between the pieces.
            auto known = std::lower_bound(trampolines_.begin(), trampolines_.end(),
                                          Trampoline{from, nullptr}, before);
            bool any_between = known != trampolines_.end() && known->at < from + n;
            bool ok = !any_between || text.read_text(from, bytes);
            for (std::size_t i = first; i < last; ++i)
                std::copy(pieces[i].code.begin(), pieces[i].code.end(),
                          place_in(bytes, from, pieces[i].at));
            ok = ok && text.write_text(from, bytes);
            for (std::size_t i = first; i < last && !ok; ++i)
                unwritten.push_back(pieces[i].planted);
            return true;
        });
    auto n_known = static_cast<std::ptrdiff_t>(trampolines_.size());
    for (const Piece& piece : pieces)
        trampolines_.push_back({piece.at, piece.planted});
    std::inplace_merge(trampolines_.begin(), trampolines_.begin() + n_known,
                       trampolines_.end(), before);
    std::move(prepared_.begin(), prepared_.end(), std::back_inserter(retired_));
    prepared_ = std::move(all);
    sort_unique(unwritten);
    retire(unwritten, prepared_);
    return unwritten;
}

std::vector<Planted*> Patches::write(AddressSpace& text,
                                     const MoveThreads& move_threads)
{
    std::vector<Planted*> list;
    list.reserve(prepared_.size());
    for (const auto& planted : prepared_)
        list.push_back(planted.get());
    // Move the threads first, so that no thread has its pc in the middle of a jump.
    move_threads(list);
    std::vector<Planted*> unwritten;
    std::vector<std::byte> bytes;
    in_spans(
        list, window_of, in_stopped_text,
        [&](std::size_t first, std::size_t last, TargetAddr from, std::uint64_t n) {
            bytes.resize(n);
            const bool ok = text.read_text(from, bytes);
            std::vector<Planted*> changed;
            for (std::size_t i = first; i < last && ok; ++i) {
                Patch& patch = list[i]->patch;
                auto here = place_in(bytes, from, patch.at);
                if (!std::equal(patch.original.begin(), patch.original.end(), here))
                    continue;
                std::copy(patch.text.begin(), patch.text.end(), here);
                changed.push_back(list[i]);
            }
            const bool all = ok && (changed.empty() || text.write_text(from, bytes));
            for (Planted* planted : changed)
                planted->written = all || stands(text, *planted);
            return all;
        });
    std::copy_if(list.begin(), list.end(), std::back_inserter(unwritten),
                 [](const Planted* planted) { return !planted->written; });
    sort_unique(unwritten);
    retire(unwritten, prepared_);
    auto n_before = static_cast<std::ptrdiff_t>(standing_.size());
    standing_.reserve(standing_.size() + prepared_.size());
    for (auto& planted : prepared_) {
        TargetAddr window = planted->patch.at;
        standing_.push_back({window, std::move(planted)});
    }
    prepared_.clear();
    std::inplace_merge(
        standing_.begin(), standing_.begin() + n_before, standing_.end(),
        [](const Standing& a, const Standing& b) { return a.at < b.at; });
    return unwritten;
}

// Restores the original bytes wherever one of our jumps is still in the text. Bytes
// that uprobes have changed stay as they are.
template <class Read, class Write>
static void put_back(std::vector<Planted*> list, Read read, Write write)
{
    std::vector<std::byte> bytes;
    in_spans(
        list, window_of, in_stopped_text,
        [&](std::size_t first, std::size_t last, TargetAddr from, std::uint64_t n) {
            bytes.resize(n);
            if (!read(from, bytes))
                return false;
            for (std::size_t i = first; i < last; ++i) {
                const Patch& patch = list[i]->patch;
                auto here = place_in(bytes, from, patch.at);
                if (!contains(here, patch))
                    continue;
                for (std::size_t k = 0; k < patch.text.size(); ++k, ++here)
                    *here = *here == patch.text[k] ? patch.original[k] : *here;
            }
            return write(from, bytes);
        });
}

void Patches::take_out(AddressSpace& text, const std::vector<TargetAddr>& windows)
{
    std::vector<Planted*> list;
    for (TargetAddr window : windows) {
        if (Planted* planted = at(window))
            list.push_back(planted);
    }
    put_back(
        list,
        [&](TargetAddr at, std::span<std::byte> bytes) {
            return text.read_text(at, bytes);
        },
        [&](TargetAddr at, std::span<std::byte> bytes) {
            return text.write_text(at, bytes);
        });
    drop(windows);
}

void Patches::restore_in(pid_t child) const
{
    Fd mem(open(proc_path(child, "mem").c_str(), O_RDWR | O_CLOEXEC));
    if (!mem)
        return;
    std::vector<Planted*> list;
    for (const Standing& each : standing_)
        list.push_back(each.planted.get());
    put_back(
        list,
        [&](TargetAddr at, std::span<std::byte> bytes) {
            return pread(mem.get(), bytes.data(), bytes.size(),
                         static_cast<off_t>(at.value)) ==
                   static_cast<ssize_t>(bytes.size());
        },
        [&](TargetAddr at, std::span<std::byte> bytes) {
            return write_memory(mem.get(), bytes.data(), bytes.size(), at.value) ==
                   static_cast<ssize_t>(bytes.size()); // fails if the child is dead
        });
}

bool stands(const AddressSpace& text, const Planted& planted)
{
    const Patch& patch = planted.patch;
    std::vector<std::byte> bytes(patch.text.size());
    return text.read_text(patch.at, bytes) && contains(bytes.begin(), patch);
}

bool has_only_uprobes(const AddressSpace& text, const Planted& planted)
{
    constexpr std::byte int3{0xcc};
    const Patch& patch = planted.patch;
    std::vector<std::byte> bytes(patch.text.size());
    if (!text.read_text(patch.at, bytes))
        return false;
    for (std::size_t i = 0; i < bytes.size(); ++i)
        if (bytes[i] != patch.text[i] && bytes[i] != int3 &&
            bytes[i] != patch.original[i])
            return false;
    return true;
}

bool Patches::any_in(TargetAddr from, TargetAddr end) const
{
    auto first = behind(from - 1);
    return first != standing_.end() && first->at < end;
}

// Returns the windows in [from_addr, end_addr) for which test() is false. Also returns
// windows if their text cannot be read. Ignores windows for which may_read() is false.
template <class MayRead, class Test>
std::vector<TargetAddr>
Patches::windows_failing(const AddressSpace& text, TargetAddr from_addr,
                         TargetAddr end_addr, MayRead may_read, Test test) const
{
    std::vector<TargetAddr> found;
    std::vector<const Planted*> list;
    for (auto each = behind(from_addr - 1);
         each != standing_.end() && each->at < end_addr; ++each)
        list.push_back(each->planted.get());
    std::vector<std::byte> bytes;
    in_spans(
        list, window_of, in_stopped_text,
        [&](std::size_t first, std::size_t last, TargetAddr from, std::uint64_t n) {
            if (!may_read(from, n))
                return last - first == 1;
            bytes.resize(n);
            const bool ok = text.read_text(from, bytes);
            if (!ok && last - first > 1)
                return false;
            for (std::size_t i = first; i < last; ++i) {
                const Patch& patch = list[i]->patch;
                if (!ok || !test(place_in(bytes, from, patch.at), patch))
                    found.push_back(patch.at);
            }
            return true;
        });
    return found;
}

std::vector<TargetAddr> Patches::gone(const AddressSpace& text, TargetAddr from,
                                      TargetAddr end) const
{
    return windows_failing(
        text, from, end, [](TargetAddr, std::uint64_t) { return true; },
        [](auto at, const Patch& patch) { return contains(at, patch); });
}

std::vector<TargetAddr> Patches::changed(AddressSpace& text) const
{
    if (standing_.empty())
        return {};
    const PageMap page_map(text.proc_tid());
    return windows_failing(
        text, {1}, {~std::uint64_t{0}},
        [&](TargetAddr from, std::uint64_t n) {
            const auto pages = page_map.pages(from, n);
            return !pages.empty() && std::ranges::all_of(pages, &PageState::is_own);
        },
        [](auto at, const Patch& patch) {
            return std::equal(patch.text.begin(), patch.text.end(), at);
        });
}

void Patches::drop(const std::vector<TargetAddr>& windows)
{
    if (windows.empty())
        return;
    for (TargetAddr window : windows) {
        auto after = behind(window);
        if (after == standing_.begin() || std::prev(after)->at != window)
            continue;
        Standing& each =
            standing_[static_cast<std::size_t>(after - standing_.begin()) - 1];
        if (each.planted == nullptr)
            continue; // the list contains this window twice
        each.planted->written = false;
        retired_.push_back(std::move(each.planted));
    }
    std::erase_if(standing_, [](const Standing& each) { return !each.planted; });
}

std::vector<std::uint32_t> Patches::reclaim(TargetAddr kept_site)
{
    std::vector<std::uint32_t> sites;
    std::vector<Planted*> freed;
    if (retired_.empty())
        return sites;
    auto kept =
        std::partition(retired_.begin(), retired_.end(),
                       [kept_site](const std::unique_ptr<Planted>& each) {
                           return std::any_of(each->probed.begin(), each->probed.end(),
                                              [kept_site](const auto& probed) {
                                                  return probed.at == kept_site;
                                              });
                       });
    for (auto each = kept; each != retired_.end(); ++each) {
        const std::unique_ptr<Planted>& planted = *each;
        const Patch& patch = planted->patch;
        space_.give_back({patch.trampoline, Stubs(patch.stubs)}, planted->n_room);
        for (const Planted::Probed& probed : planted->probed)
            sites.push_back(probed.site);
        freed.push_back(planted.get());
    }
    std::sort(freed.begin(), freed.end());
    std::erase_if(trampolines_, [&freed](const Trampoline& each) {
        return std::binary_search(freed.begin(), freed.end(), each.planted);
    });
    retired_.erase(kept, retired_.end());
    return sites;
}

void Patches::forget_all()
{
    standing_.clear();
    prepared_.clear();
    retired_.clear();
    trampolines_.clear();
    areas.clear();
    common_areas.clear();
    space_ = TrampolineSpace();
}

Patches::AllStanding::const_iterator Patches::behind(TargetAddr address) const
{
    return std::upper_bound(
        standing_.begin(), standing_.end(), address,
        [](TargetAddr at, const Standing& each) { return at < each.at; });
}

Planted* Patches::at(TargetAddr window) const
{
    auto after = behind(window);
    bool begins = after != standing_.begin() && std::prev(after)->at == window;
    return begins ? std::prev(after)->planted.get() : nullptr;
}

Planted* Patches::covering(AllStanding::const_iterator after, TargetAddr address) const
{
    if (after == standing_.begin())
        return nullptr;
    Planted* planted = std::prev(after)->planted.get();
    bool inside = address - planted->patch.at < planted->patch.original.size();
    return inside ? planted : nullptr;
}

Planted* Patches::covering(TargetAddr address) const
{
    return covering(behind(address), address);
}

Planted* Patches::first_from(TargetAddr address) const
{
    auto after = behind(address);
    if (Planted* over = covering(after, address))
        return over;
    return after == standing_.end() ? nullptr : after->planted.get();
}

std::optional<Found> Patches::find(TargetAddr pc) const
{
    Planted* planted = covering(pc);
    if (planted == nullptr && in_areas(pc)) {
        auto after = std::upper_bound(
            trampolines_.begin(), trampolines_.end(), pc,
            [](TargetAddr at, const Trampoline& each) { return at < each.at; });
        if (after != trampolines_.begin())
            planted = std::prev(after)->planted;
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
    all.reserve(standing_.size());
    for (const Standing& each : standing_)
        all.push_back(each.at);
    return all;
}

void Patches::overlay_original(TargetAddr from, std::span<std::byte> bytes) const
{
    auto each = behind(from);
    if (each != standing_.begin())
        --each;
    for (; each != standing_.end() && each->at < from + bytes.size(); ++each) {
        const Patch& patch = each->planted->patch;
        for (std::size_t i = 0; i < patch.original.size(); ++i) {
            std::uint64_t offset = patch.at + i - from;
            if (patch.at + i >= from && offset < bytes.size() &&
                bytes[offset] == patch.text[i])
                bytes[offset] = patch.original[i];
        }
    }
}

} // namespace dt::agent
