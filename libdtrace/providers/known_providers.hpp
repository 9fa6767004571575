// SPDX-License-Identifier: MIT
// Definitions of well-known providers whose programs do not describe their probes'
// arguments. The directory known/ contains one file for each provider. If a program
// passes more or fewer arguments than the definition of a probe has, the definition is
// not used, and only the sizes of the probe's arguments are known.
#pragma once

#include <string>
#include <string_view>
#include <sys/types.h>

namespace dt {

// Returns the definition as D text, or "" if the provider is not known.
std::string_view known_definition(std::string_view provider);

// If the probe does not fire because the process was started without an option or an
// environment variable, returns a message that says how to start the process. Otherwise
// returns "".
std::string missing_switch(pid_t pid, std::string_view provider,
                           std::string_view probe);

} // namespace dt
