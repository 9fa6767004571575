// SPDX-License-Identifier: MIT
// Maps and unmaps the agent's memory in a target, and records this in the target's
// journal (mapping_journal.hpp).
#include "ptrace-agent/inject/injector.hpp"

#include "process/maps.hpp"

#include <cerrno>
#include <sys/mman.h>
#include <sys/syscall.h>

namespace dt::agent {

constexpr std::uint64_t highest_error = 4095;

static bool is_error(std::uint64_t result)
{
    return result > ~highest_error;
}

// Maps the target's journal, if it is not mapped yet. If the journal cannot be mapped, the
// agent works without it. The thread may no longer exist when this function returns.
void Injector::open_journal(Thread& thread)
{
    const std::shared_ptr<AddressSpace> space = thread.process->space;
    if (space->journal.is_open() || space->journal.is_refused())
        return;
    const auto place = MappingJournal::find_place(mappings_of(space->proc_tid()));
    if (!place)
        return space->journal.refuse();
    auto mapped = call(
        thread, SYS_mmap,
        {place->value, journal_bytes, PROT_READ,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, ~0ull, 0});
    if (!mapped)
        return;
    if (*mapped == place->value)
        space->journal.open(*space, *place);
    else
        space->journal.refuse();
}

Result<std::uint64_t> Injector::map_ours(Thread& thread, const OurMapping& wanted)
{
    const std::shared_ptr<AddressSpace> space = thread.process->space;
    const pid_t tid = thread.tid;
    MappingJournal& journal = space->journal;
    open_journal(thread);
    auto map = [&](TargetAddr at, int flags) -> Result<std::uint64_t> {
        Thread* now = tracees_.find_thread(tid);
        if (now == nullptr)
            return Error{Code::gone, "it ended"};
        return call(*now, SYS_mmap,
                    {at.value, wanted.bytes,
                     static_cast<std::uint64_t>(wanted.protection),
                     static_cast<std::uint64_t>(MAP_PRIVATE | MAP_ANONYMOUS |
                                                wanted.flags | flags),
                     ~0ull, 0});
    };
    JournalEntry entry{0, wanted.bytes, wanted.n_inherited.value_or(wanted.bytes),
                       wanted.kind, EntryState::planned};
    const TargetAddr at =
        wanted.at.value != 0 ? wanted.at : journal.next_place(wanted.bytes);
    if (at.value != 0) {
        entry.at = at.value;
        journal.add(*space, entry);
        auto mapped = map(at, MAP_FIXED_NOREPLACE);
        if (mapped && *mapped == at.value)
            journal.set_state(*space, at, EntryState::mapped);
        else if (mapped)
            journal.set_state(*space, at, EntryState::unused);
        if (!mapped || *mapped == at.value)
            return mapped;
        // A kernel without MAP_FIXED_NOREPLACE may map at another address.
        if (Thread* now = tracees_.find_thread(tid);
            now != nullptr && !is_error(*mapped))
            (void)call(*now, SYS_munmap, {*mapped, wanted.bytes, 0, 0, 0, 0});
        if (wanted.exact)
            return is_error(*mapped) ? *mapped : -std::uint64_t{EEXIST};
    }
    auto mapped = map({}, 0);
    if (mapped && !is_error(*mapped)) {
        entry.at = *mapped;
        entry.state = EntryState::mapped;
        journal.add(*space, entry);
    }
    return mapped;
}

bool Injector::unmap_ours(Thread& thread, TargetAddr at, std::uint64_t bytes)
{
    const std::shared_ptr<AddressSpace> space = thread.process->space;
    space->journal.set_state(*space, at, EntryState::leaving);
    auto done = call(thread, SYS_munmap, {at.value, bytes, 0, 0, 0, 0});
    if (!done || *done != 0)
        return false;
    space->journal.set_state(*space, at, EntryState::unused);
    return true;
}

void Injector::close_journal(Thread& thread)
{
    const std::shared_ptr<AddressSpace> space = thread.process->space;
    if (!space->journal.is_open() || !space->journal.is_empty())
        return;
    if (call(thread, SYS_munmap,
             {space->journal.at().value, journal_bytes, 0, 0, 0, 0}))
        space->journal.forget();
}

} // namespace dt::agent
