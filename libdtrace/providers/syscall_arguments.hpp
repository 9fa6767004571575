// SPDX-License-Identifier: MIT
// The arguments of system calls, as tracefs describes them. They are the fields of the
// event syscalls:sys_enter_NAME, one per line:
//
//   <tab>field:const struct iovec * vec;<tab>offset:24;<tab>size:8;<tab>signed:0;
//
// Fields that are not arguments are skipped.
#pragma once

#include "base/result.hpp"
#include "libdtrace/compile/compiler.hpp"

#include <string_view>
#include <vector>

namespace dt {

// Parses the contents of events/syscalls/sys_enter_NAME/format.
std::vector<ArgumentTypes::Written> arguments_in_format(std::string_view format);

// Reads the arguments of a system call. `call` is the function name of its probes.
// Errors: Code::unsupported if the kernel does not describe this call, Code::not_found
// if tracefs is not mounted, Code::permission if tracefs is unreadable.
Result<std::vector<ArgumentTypes::Written>> syscall_arguments(std::string_view call);

} // namespace dt
