// SPDX-License-Identifier: MIT
// What grabbing and creating a target have in common.
#pragma once

#include "base/result.hpp"

#include <string>
#include <sys/types.h>

namespace dt::agent {

// Code::unsupported when the program of a process is a 32-bit one.
// Refuses a process that has a shadow stack. A call or return that is moved for a probe
// does not change the shadow stack, and the next return would kill the process. `name`
// begins the sentence.
Result<Ok> refuse_shadow_stack(pid_t pid, const std::string& name);
Result<Ok> refuse_32_bit(pid_t pid, const std::string& name);
// Refuses a program that gained rights when it was executed (set-user-ID, set-group-ID,
// capabilities): the other targets, whose user may have executed it, share memory with
// it, and could read what it records and change what its probes do.
Result<Ok> refuse_gained_rights(pid_t pid, const std::string& name);

} // namespace dt::agent
