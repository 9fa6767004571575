// SPDX-License-Identifier: MIT
// Generates the header that `dtrace -h` writes. For each probe, the header defines two
// macros. The first fires the probe, and the second returns whether the probe is
// traced:
//
//   #define APP_QUERY_START(dt_a1) __dtrace_app___query__start(dt_a1)
//   #define APP_QUERY_START_ENABLED() ...
//
// The first macro calls an inline function, so that the compiler checks and converts
// the arguments. Like a probe of <dtrace/sdt.h>, the function contains nops and an ELF
// note that describes the probe.
//
// A program with this header needs no library and no object file from `dtrace -G`. The
// header itself contains the semaphores and the provider's definition, in section
// groups. If several files of a program include the header, the linker keeps only one
// copy of each group.
#pragma once

#include "usdt/provider_source.hpp"

#include <span>

namespace dt::usdt {

// `source` is the name of the file from which the header is generated.
std::string header_text(std::span<const ProviderSource> providers,
                        std::string_view source);

} // namespace dt::usdt
