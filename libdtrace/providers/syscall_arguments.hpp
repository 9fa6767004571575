// SPDX-License-Identifier: MIT
// What tracefs says of the arguments of system calls: the fields of its event
// syscalls:sys_enter_NAME, each a line
//
//   <tab>field:const struct iovec * vec;<tab>offset:24;<tab>size:8;<tab>signed:0;
//
// behind those that all events have, the system call's number, and what newer kernels add of
// the strings that arguments point to.
#pragma once

#include "base/result.hpp"
#include "libdtrace/compile/compiler.hpp"

#include <string_view>
#include <vector>

namespace dt {

// Of the text of such a file: events/syscalls/sys_enter_NAME/format.
std::vector<ArgumentTypes::Written> arguments_in_format(std::string_view format);

// By the name of its probes. unsupported: the kernel describes no such system call, and most
// likely has none; not_found: tracefs is not mounted; permission.
Result<std::vector<ArgumentTypes::Written>> syscall_arguments(std::string_view call);

} // namespace dt
