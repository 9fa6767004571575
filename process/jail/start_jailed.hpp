// SPDX-License-Identifier: MIT
// Starts a process that parses files of targets, and connects it with a socket. The
// process must enter the jail itself (jail.hpp).
#pragma once

#include "base/fd.hpp"
#include "base/result.hpp"

#include <functional>
#include <sys/types.h>

namespace dt {

enum class Parent {
    caller, // waitpid(2) reports the exit of the process to the caller
    init,   // waitpid(2) of the caller never reports the process
};

struct JailedProcess {
    Fd socket;
    pid_t pid = 0; // 0 if the parent is not the caller
    // Refers to the process if the parent is not the caller. Empty before Linux 5.3.
    Fd pidfd;
};

// Forks. The new process gets this name, calls `serve` with its end of the socket, and
// exits. Errors: those of socketpair(2) and fork(2).
Result<JailedProcess> start_jailed(const char* name,
                                   const std::function<void(Fd)>& serve, Parent parent);

} // namespace dt
