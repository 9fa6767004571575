// SPDX-License-Identifier: MIT
// The header of `dtrace -h`: for each probe a macro, and a test whether it is traced.
//
//   #define APP_QUERY_START(dt_a1) __dtrace_app___query__start(dt_a1)
//   #define APP_QUERY_START_ENABLED() ...
//
// A macro calls an inline function, so that arguments are checked and converted as in a
// call. The function contains the nop and its note, in the format of SystemTap's
// <sys/sdt.h>. The header needs no other header, no library and no object of `dtrace
// -G`: each file that includes it contains the providers' semaphores and their
// definitions (a section group), of which the linker keeps one copy.
#pragma once

#include "usdt/provider_source.hpp"

#include <span>

namespace dt::usdt {

// source: the name of the file that the header is generated from.
std::string header_text(std::span<const ProviderSource> providers,
                        std::string_view source);

} // namespace dt::usdt
