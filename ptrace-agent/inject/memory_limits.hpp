// SPDX-License-Identifier: MIT
// Limits of a process that apply to the memory of the runtime: RLIMIT_AS and
// mlockall(2).
#pragma once

#include "base/target_addr.hpp"

#include <cstdint>
#include <string>
#include <sys/types.h>

namespace dt::agent {

// Returns why the runtime must not use this much address space of the process, or an
// empty string.
std::string address_space_refusal(pid_t pid, std::uint64_t bytes);

// Says which pages of new mappings the kernel locks after mlockall(2):
// - none
// - each page at its first access (MCL_FUTURE | MCL_ONFAULT)
// - all pages when they are mapped (MCL_FUTURE)
enum class FutureLocks : std::uint8_t { none, on_fault, at_once };
// Returns the size of the memory that the process has locked, in KiB.
std::uint64_t locked_kib(pid_t pid);
// Finds out how the process locks new mappings. `page` was just mapped and has not been
// accessed. `locked_before` is the result of locked_kib() from before the mapping.
FutureLocks future_locks(pid_t pid, std::uint64_t locked_before, TargetAddr page);

} // namespace dt::agent
