// SPDX-License-Identifier: MIT
#include "ptrace-agent/trap/call_notes.hpp"

#include "ptrace-agent/address_space.hpp"

#include <array>

namespace dt::agent {

// A program can leave calls without a return, by longjmp(3). So old notes are discarded
// when there are this many.
constexpr std::size_t max_notes = 65536;

// A part of the runtime's table: the entries that a search tests.
struct CallEntries {
    CallEntries(const AddressSpace& space, std::uint64_t key)
        : table(space.runtime.image + DT_RT_CALLS), first(dt_rt_call_slot(key))
    {
    }
    TargetAddr at(std::uint32_t i) const
    {
        return table + ((first + i) & (DT_RT_MAX_CALLS - 1)) * sizeof(dt_rt_call);
    }
    TargetAddr table;
    std::uint32_t first;
};

void CallNotes::note(TargetAddr sp, TargetAddr at, unsigned session,
                     std::uint64_t number)
{
    if (space_.runtime.image.value == 0) {
        if (notes_.size() >= max_notes)
            notes_.clear();
        notes_[{sp, at, session}] = number;
        return;
    }
    const std::uint64_t key = dt_rt_call_key(sp.value, at.value, session);
    const CallEntries entries(space_, key);
    for (std::uint32_t i = 0; i < DT_RT_CALL_REACH; i++) {
        dt_rt_call call{};
        if (!space_.read_value(entries.at(i), call))
            return;
        if (call.key != 0 && call.key != key)
            continue;
        call = {key, number};
        space_.write(entries.at(i), std::as_bytes(std::span(&call, 1)));
        return;
    }
}

std::optional<std::uint64_t> CallNotes::take(TargetAddr sp, TargetAddr at,
                                             unsigned session)
{
    if (auto own = notes_.extract({sp, at, session}); !own.empty())
        return own.mapped();
    if (space_.runtime.image.value == 0)
        return std::nullopt;
    const std::uint64_t key = dt_rt_call_key(sp.value, at.value, session);
    const CallEntries entries(space_, key);
    for (std::uint32_t i = 0; i < DT_RT_CALL_REACH; i++) {
        dt_rt_call call{};
        if (!space_.read_value(entries.at(i), call))
            return std::nullopt;
        if (call.key != key)
            continue;
        const std::uint64_t number = call.number;
        call = {};
        space_.write(entries.at(i), std::as_bytes(std::span(&call, 1)));
        return number;
    }
    return std::nullopt;
}

} // namespace dt::agent
