// SPDX-License-Identifier: MIT
// The header of `dtrace -h`: for each probe a macro and a test whether somebody traces it.
//
//   #define APP_QUERY_START(dt_a1) __dtrace_app___query__start(dt_a1)
//   #define APP_QUERY_START_ENABLED() ...
//
// A macro calls an inline function, so that arguments are checked and converted as a call
// converts them; in the function are the nop and its note, in the form of SystemTap's
// <sys/sdt.h>. The header needs no other, no library and no object of `dtrace -G`: each
// file that includes it brings the providers' semaphores and their definitions (a section
// group), of which the linker keeps one.
#pragma once

#include "usdt/provider_source.hpp"

#include <span>

namespace dt::usdt {

// source: the name of the file that it was made from.
std::string header_text(std::span<const ProviderSource> providers,
                        std::string_view source);

} // namespace dt::usdt
