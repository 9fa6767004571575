// SPDX-License-Identifier: MIT
#include "ptrace-agent/address_space.hpp"

#include "base/page_bytes.hpp"
#include "process/proc_files.hpp"
#include "ptrace-agent/unwind.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

namespace dt::agent {

constexpr std::byte breakpoint{0xcc}; // int3

static TargetAddr page_of(TargetAddr at)
{
    return {at.value & ~std::uint64_t(page_bytes - 1)};
}

Fd open_mem(pid_t pid)
{
    return Fd(open(proc_path(pid, "mem").c_str(), O_RDWR | O_CLOEXEC));
}

static SpaceId next_id()
{
    static SpaceId last = 0;
    return ++last;
}

AddressSpace::AddressSpace(pid_t owner, TracepointTable& table)
    : id_(next_id()), owner_(owner), proc_tid_(owner), table_(table),
      mem_(open_mem(proc_tid()))
{
}

AddressSpace::~AddressSpace()
{
    forget_unwind(*this);
    table_.remove_space(id_);
    table_.reclaim();
}

void AddressSpace::hand_over(pid_t to)
{
    owner_ = proc_tid_ = to;
    handed_over_ = true;
    forget_unwind(*this); // its state belongs to the earlier owner
}

void AddressSpace::reopen()
{
    mem_ = open_mem(proc_tid());
}

pid_t AddressSpace::proc_tid()
{
    auto has_memory = [this](pid_t tid) {
        char state = thread_state(owner_, tid);
        return state != 'Z' && state != 'X' && state != 0;
    };
    if (has_memory(proc_tid_))
        return proc_tid_;
    for (pid_t tid : threads_of(owner_)) {
        if (has_memory(tid))
            return proc_tid_ = tid;
    }
    return proc_tid_;
}

bool AddressSpace::read(TargetAddr from, std::span<std::byte> into)
{
    touched_ = true;
    if (handed_over_)
        return read_text(from, into);
    iovec local{into.data(), into.size()};
    iovec remote{reinterpret_cast<void*>(from.value), into.size()};
    ssize_t n = process_vm_readv(proc_tid_, &local, 1, &remote, 1, 0);
    if (n < 0 && errno == ESRCH) // the owner has exited, but not its vfork children
        return read_text(from, into);
    return n == static_cast<ssize_t>(into.size());
}

bool AddressSpace::write(TargetAddr to, std::span<const std::byte> bytes)
{
    touched_ = true;
    if (handed_over_)
        return write_text(to, bytes);
    iovec local{const_cast<std::byte*>(bytes.data()), bytes.size()};
    iovec remote{reinterpret_cast<void*>(to.value), bytes.size()};
    ssize_t n = process_vm_writev(proc_tid_, &local, 1, &remote, 1, 0);
    if (n < 0 && errno == ESRCH)
        return write_text(to, bytes);
    return n == static_cast<ssize_t>(bytes.size());
}

bool AddressSpace::read_text(TargetAddr from, std::span<std::byte> into) const
{
    return pread(mem_.get(), into.data(), into.size(),
                 static_cast<off_t>(from.value)) == static_cast<ssize_t>(into.size());
}

bool AddressSpace::write_text(TargetAddr to, std::span<const std::byte> bytes)
{
    return pwrite(mem_.get(), bytes.data(), bytes.size(),
                  static_cast<off_t>(to.value)) == static_cast<ssize_t>(bytes.size());
}

bool AddressSpace::read_original(TargetAddr from, std::span<std::byte> into) const
{
    if (!read_text(from, into))
        return false;
    for (std::size_t i = 0; i < into.size(); ++i) {
        if (into[i] != breakpoint)
            continue;
        if (Tracepoint* tp = find(from + i); tp != nullptr && tp->written)
            into[i] = tp->original();
    }
    patches.overlay_original(from, into);
    return true;
}

Tracepoint* AddressSpace::find(TargetAddr at) const
{
    return static_cast<Tracepoint*>(table_.find(id_, at));
}

Tracepoint& AddressSpace::add(const Instruction& insn)
{
    auto entry = std::make_unique<Tracepoint>(id_, insn.at, insn);
    Tracepoint& added = *entry;
    [[maybe_unused]] bool ok = static_cast<bool>(table_.add(std::move(entry)));
    assert(ok); // the address has no tracepoint yet
    note_jumpless(insn.at);
    return added;
}

void AddressSpace::note_jumpless(TargetAddr at)
{
    constexpr std::size_t n_unchecked = 4096;
    if (jumpless_.size() % n_unchecked == 0 && jumpless_.size() > 2 * n_tracepoints())
        (void)without_jump();
    jumpless_.push_back(at);
}

void AddressSpace::sort_jumpless()
{
    if (n_sorted_ == jumpless_.size())
        return;
    auto added = jumpless_.begin() + static_cast<std::ptrdiff_t>(n_sorted_);
    if (!std::is_sorted(added, jumpless_.end()))
        std::sort(added, jumpless_.end());
    std::inplace_merge(jumpless_.begin(), added, jumpless_.end());
    jumpless_.erase(std::unique(jumpless_.begin(), jumpless_.end()), jumpless_.end());
    n_sorted_ = jumpless_.size();
}

std::vector<Tracepoint*> AddressSpace::without_jump(TargetAddr from, TargetAddr end)
{
    sort_jumpless();
    std::vector<Tracepoint*> all;
    for (auto at = std::lower_bound(jumpless_.begin(), jumpless_.end(), from);
         at != jumpless_.end() && *at < end; ++at) {
        Tracepoint* tp = find(*at);
        if (tp != nullptr && (tp->written || !tp->site))
            all.push_back(tp);
    }
    return all;
}

std::vector<Tracepoint*> AddressSpace::without_jump(std::span<Tracepoint* const> but)
{
    sort_jumpless();
    std::vector<Tracepoint*> all;
    std::vector<TargetAddr> still;
    auto passed = but.begin();
    for (TargetAddr at : jumpless_) {
        while (passed != but.end() && (*passed)->at() < at)
            ++passed;
        bool is_passed = passed != but.end() && (*passed)->at() == at;
        Tracepoint* tp = is_passed ? nullptr : find(at);
        bool has_none = tp != nullptr && (tp->written || !tp->site);
        if (has_none)
            all.push_back(tp);
        if (is_passed || has_none)
            still.push_back(at);
    }
    jumpless_.swap(still);
    n_sorted_ = jumpless_.size();
    return all;
}

// Sorts the tracepoints by address, in which order planting usually adds them.
static void sort_by_address(std::vector<Tracepoint*>& all)
{
    auto before = [](Tracepoint* a, Tracepoint* b) { return a->at() < b->at(); };
    if (!std::is_sorted(all.begin(), all.end(), before))
        std::sort(all.begin(), all.end(), before);
}

std::vector<Tracepoint*> AddressSpace::tracepoints() const
{
    std::vector<Tracepoint*> all;
    table_.for_each(id_, [&all](TableEntry& entry) {
        all.push_back(static_cast<Tracepoint*>(&entry));
    });
    sort_by_address(all);
    return all;
}

// Writes breakpoints (plant) or original bytes. For each page, reads and writes once
// from the first site to the last.
std::vector<Tracepoint*> AddressSpace::exchange(std::vector<Tracepoint*> all,
                                                bool plant)
{
    std::vector<Tracepoint*> failed;
    std::byte text[page_bytes];
    sort_by_address(all);
    if (plant)
        rescue.protect(*this, all);
    for (std::size_t first = 0, last; first < all.size(); first = last) {
        TargetAddr page = page_of(all[first]->at());
        for (last = first; last < all.size() && page_of(all[last]->at()) == page;)
            ++last;
        TargetAddr from = all[first]->at();
        std::span<std::byte> span(text, all[last - 1]->at() - from + 1);
        std::vector<Tracepoint*> changed;
        bool readable = read_text(from, span);
        for (std::size_t i = first; i < last; ++i) {
            Tracepoint& tp = *all[i];
            std::byte& byte = span[tp.at() - from];
            if (!readable || byte != (plant ? tp.original() : breakpoint)) {
                failed.push_back(&tp);
                continue;
            }
            byte = plant ? breakpoint : tp.original();
            changed.push_back(&tp);
        }
        bool wrote = changed.empty() || write_text(from, span);
        for (Tracepoint* tp : changed) {
            if (!wrote) {
                failed.push_back(tp);
                continue;
            }
            tp->written = plant;
            if (plant) // it may be listed no more because of an earlier jump
                note_jumpless(tp->at());
        }
    }
    return failed;
}

std::vector<Tracepoint*>
AddressSpace::write_breakpoints(const std::vector<Tracepoint*>& all)
{
    return exchange(all, true);
}

std::vector<Tracepoint*>
AddressSpace::restore_originals(const std::vector<Tracepoint*>& all)
{
    return exchange(all, false);
}

void AddressSpace::forget(Tracepoint& tracepoint)
{
    table_.remove(id_, tracepoint.at());
}

void AddressSpace::forget_all()
{
    table_.remove_space(id_);
    table_.reclaim();
    jumpless_.clear();
    n_sorted_ = 0;
    known_text.forget_all();
    statics.forget_all();
    slots.forget_all();
    rescue.forget();
    patches.forget_all();
    runtime.forget();
    native.forget();
    runtime.refusal.clear();
    patches.common_areas.clear();
    forget_unwind(*this);
    call_place.forget_all();
    watched = {};
    errno_place.forget_all();
}

void AddressSpace::restore_copy(pid_t child) const
{
    Fd mem = open_mem(child);
    if (!mem)
        return;
    std::vector<Tracepoint*> all = tracepoints();
    std::byte text[page_bytes];
    for (std::size_t first = 0, last; first < all.size(); first = last) {
        TargetAddr page = page_of(all[first]->at());
        for (last = first; last < all.size() && page_of(all[last]->at()) == page;)
            ++last;
        TargetAddr from = all[first]->at();
        std::size_t n = all[last - 1]->at() - from + 1;
        auto offset = static_cast<off_t>(from.value);
        if (pread(mem.get(), text, n, offset) != static_cast<ssize_t>(n))
            continue;
        bool changed = false;
        for (std::size_t i = first; i < last; ++i) {
            std::byte& byte = text[all[i]->at() - from];
            if (!all[i]->written || byte != breakpoint)
                continue;
            byte = all[i]->original();
            changed = true;
        }
        if (changed)
            (void)!pwrite(mem.get(), text, n, offset); // fails if the child has exited
    }
}

} // namespace dt::agent
