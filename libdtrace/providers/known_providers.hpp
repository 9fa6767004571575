// SPDX-License-Identifier: MIT
// Definitions of well-known providers whose programs do not describe their probes'
// arguments. The folder known/ contains one file for each provider. If another version
// of a program passes other arguments, only their sizes are right.
#pragma once

#include <string>
#include <string_view>
#include <sys/types.h>

namespace dt {

// Returns D text. Returns "" if the provider is not known.
std::string_view known_definition(std::string_view provider);

// Returns a sentence that says what the process lacks for the probe to fire. Returns ""
// if no such reason is known.
std::string missing_switch(pid_t pid, std::string_view provider,
                           std::string_view probe);

} // namespace dt
