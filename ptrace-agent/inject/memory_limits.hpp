// SPDX-License-Identifier: MIT
// What a process has decided about its memory, as far as more memory for us is concerned.
#pragma once

#include "base/target_addr.hpp"

#include <cstdint>
#include <string>
#include <sys/types.h>

namespace dt::agent {

// Why so much address space is not to be taken from it; "": it may.
std::string address_space_refusal(pid_t pid, std::uint64_t bytes);

// What mlockall(2) for future mappings makes of a page that was just mapped and not touched.
enum class FutureLocks : std::uint8_t { none, on_fault, at_once };
std::uint64_t locked_kib(pid_t pid); // to be asked before the page is mapped
FutureLocks future_locks(pid_t pid, std::uint64_t locked_before, TargetAddr page);

} // namespace dt::agent
