// SPDX-License-Identifier: MIT
// The numbers of system calls in progress, at instructions that can make any system
// call. The number is known before the call, and is needed for the return probe.
//
// If the runtime is loaded, the numbers are in its table (DT_RT_CALLS), because the
// return may be a jump although the call has a breakpoint. Otherwise they are here.
#pragma once

#include "base/target_addr.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>

namespace dt::agent {

class AddressSpace;

class CallNotes {
public:
    explicit CallNotes(AddressSpace& space) : space_(space) {}

    // Notes the number of the call that a thread is about to make. `sp` is its stack
    // pointer, and `at` is the address of the syscall instruction.
    void note(TargetAddr sp, TargetAddr at, unsigned session, std::uint64_t number);
    // Returns and forgets the number of the call that has returned. Returns nothing if it
    // is unknown.
    std::optional<std::uint64_t> take(TargetAddr sp, TargetAddr at, unsigned session);
    void forget() { notes_.clear(); }

private:
    AddressSpace& space_;
    std::map<std::tuple<TargetAddr, TargetAddr, unsigned>, std::uint64_t> notes_;
};

} // namespace dt::agent
