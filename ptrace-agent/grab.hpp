// SPDX-License-Identifier: MIT
// What grabbing and creating a target have in common.
#pragma once

#include "base/result.hpp"

#include <string>
#include <sys/types.h>

namespace dt::agent {

// Code::unsupported when the program of a process is a 32-bit one.
Result<Ok> refuse_32_bit(pid_t pid, const std::string& name);

} // namespace dt::agent
