// SPDX-License-Identifier: MIT
// Generates the header that `dtrace -h` writes. It has two macros for each probe: one
// fires the probe, and one tests whether the probe is traced.
//
//   #define APP_QUERY_START(dt_a1) __dtrace_app___query__start(dt_a1)
//   #define APP_QUERY_START_ENABLED() ...
//
// A macro calls an inline function, so that arguments are checked and converted. The
// function contains the nops and their note, as in <dtrace/sdt.h>.
//
// The header needs no library and no object from `dtrace -G`. Section groups contain
// the semaphores and the definitions. The linker keeps one copy of each group.
#pragma once

#include "usdt/provider_source.hpp"

#include <span>

namespace dt::usdt {

// `source` is the name of the file from which the header is generated.
std::string header_text(std::span<const ProviderSource> providers,
                        std::string_view source);

} // namespace dt::usdt
