// SPDX-License-Identifier: MIT
// A command that a system() action runs with /bin/sh.
//
// The process exists before it executes the shell, so that the session can attach to it
// first. A program that the command executes can then be traced from its beginning.
#pragma once

#include "base/fd.hpp"

#include <csignal>
#include <optional>
#include <string>
#include <sys/types.h>

namespace dt {

class ShellCommand {
public:
    // Creates the process. It waits for begin(). While this object exists, the caller
    // ignores SIGINT and SIGQUIT, so that only the command receives them, as with
    // system(3).
    explicit ShellCommand(const std::string& command);
    // Ends the process if begin() was not called.
    ~ShellCommand();
    ShellCommand(const ShellCommand&) = delete;
    ShellCommand& operator=(const ShellCommand&) = delete;

    // The process, or -1 with errno if it could not be created.
    pid_t pid() const { return pid_; }
    // A pidfd, which becomes readable when the process exits.
    int fd() const { return ended_.get(); }
    // Lets the process execute the shell.
    void begin() { gate_.reset(); }
    // Returns the wait status if the process has exited, -1 with errno if waitpid(2)
    // fails, and nothing if the process runs.
    std::optional<int> status();

private:
    struct sigaction interrupt_ {
    }, quit_{};
    pid_t pid_ = -1;
    Fd gate_; // the process waits until this end of a pipe is closed
    Fd ended_;
};

} // namespace dt
