// SPDX-License-Identifier: MIT
// Well-known providers whose programs do not say what their probes' arguments are: known/
// has a definition of each. Programs of other versions may pass others; then sizes alone count.
#pragma once

#include <string>
#include <string_view>
#include <sys/types.h>

namespace dt {

// D text; "": none.
std::string_view known_definition(std::string_view provider);

// What the process lacks for a probe to fire, as a sentence; "": nothing that is known.
std::string missing_switch(pid_t pid, std::string_view provider,
                           std::string_view probe);

} // namespace dt
