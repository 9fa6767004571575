// SPDX-License-Identifier: MIT
// Detects that another tracer has set a uprobe where one of our jumps is, and removes
// the jump.
//
//   text      e9 d0 d1 d2 d3   our jump, over `sub $8,%rsp` (48 83 ec 08) and `push`
//   set       cc d0 d1 d2 d3   the kernel executes the sub, from the file
//   removed   48 d0 d1 d2 d3   no instruction of the program
//   mended    cc 83 ec 08 53   what this class makes of the second line
//
// The kernel reports neither. So the text of all jumps is compared with the expected
// bytes every second, and at once if a thread traps inside a window.
//
// Not covered: a uprobe that is set and removed within a second, if no thread reaches
// it, but a thread reaches the first byte before the next comparison.
#pragma once

#include "ptrace-agent/hold/client_wait.hpp"
#include "ptrace-agent/hold/tracees.hpp"
#include "ptrace-agent/plant/jump_writer.hpp"
#include "ptrace-agent/wire/alarms.hpp"
#include "ptrace-agent/wire/client_link.hpp"

namespace dt::agent {

class UprobeWatch {
public:
    UprobeWatch(Tracees& tracees, ClientLink& client, Alarms& alarms, JumpWriter& jumps,
                ClientWait& client_wait)
        : tracees_(tracees), client_(client), alarms_(alarms), jumps_(jumps),
          client_wait_(client_wait)
    {
    }

    // Begins to compare the text. Called after jumps were written.
    void begin();
    // Called when a thread has trapped inside the window that contains `at`. If the
    // window's text has changed, the next compare_if_due() compares all text.
    void window_trapped(const AddressSpace& space, TargetAddr at);
    // Compares the text if it is time. No target may be stopped.
    void compare_if_due();

private:
    bool compare(const std::shared_ptr<AddressSpace>& space);

    Tracees& tracees_;
    ClientLink& client_;
    Alarms& alarms_;
    JumpWriter& jumps_;
    ClientWait& client_wait_;
};

} // namespace dt::agent
