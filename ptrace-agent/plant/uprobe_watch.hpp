// SPDX-License-Identifier: MIT
// Detects that another tracer has set a uprobe where one of our jumps is, and removes
// the jump.
//
//   original  48 83 ec 08 53   sub $8,%rsp; push %rbx
//   jump      e9 d0 d1 d2 d3
//   set       cc d0 d1 d2 d3   the kernel executes the original sub
//   removed   48 d0 d1 d2 d3   not valid code
//
// This class restores d0 to d3 to the original bytes while the uprobe is set.
//
// The kernel does not report that a uprobe is set or removed. So the text of all jumps
// is compared with the expected bytes several times a second, and at once if a thread
// traps inside a window.
//
// Not covered
//   - a uprobe that is set and removed between two comparisons, if no thread traps in
//     the window meanwhile
//   - a uprobe on a byte of the displacement. A thread that executes the jump before the
//     next comparison goes to a wrong address.
#pragma once

#include "ptrace-agent/hold/client_wait.hpp"
#include "ptrace-agent/hold/tracees.hpp"
#include "ptrace-agent/plant/jump_writer.hpp"
#include "ptrace-agent/wire/alarms.hpp"

namespace dt::agent {

class UprobeWatch {
public:
    UprobeWatch(Tracees& tracees, Alarms& alarms, JumpWriter& jumps,
                ClientWait& client_wait)
        : tracees_(tracees), alarms_(alarms), jumps_(jumps), client_wait_(client_wait)
    {
    }

    // Starts the periodic comparison if it is not running. Called after jumps were
    // written.
    void begin();
    // Called when a thread has trapped at `at`, inside a window. If the window's text has
    // changed, the next compare_if_due() compares all text.
    void window_trapped(const AddressSpace& space, TargetAddr at);
    // Compares the text if the alarm is due. Must be called while no target is stopped,
    // because it may stop targets.
    void compare_if_due();

private:
    void report(const AddressSpace& space, const KnownText::Changed& removed);
    bool check(const std::shared_ptr<AddressSpace>& space);

    Tracees& tracees_;
    Alarms& alarms_;
    JumpWriter& jumps_;
    ClientWait& client_wait_;
    std::uint64_t compared_ns_ = 0; // when the last comparison ended
    std::uint64_t spent_ns_ = 0;    // how long it took
};

} // namespace dt::agent
