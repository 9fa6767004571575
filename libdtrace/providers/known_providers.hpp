// SPDX-License-Identifier: MIT
// Definitions of well-known providers whose programs do not describe their probes'
// arguments. The directory known/ has a file for each provider. A probe's definition is
// ignored if the program passes a different number of arguments.
#pragma once

#include <string>
#include <string_view>
#include <sys/types.h>

namespace dt {

// Returns the definition as D text, or "" for an unknown provider.
std::string_view known_definition(std::string_view provider);

// Explains how to start the process so that the probe fires. Returns "" if the process
// was started with the necessary option or environment variable.
std::string missing_switch(pid_t pid, std::string_view provider,
                           std::string_view probe);

} // namespace dt
