// SPDX-License-Identifier: MIT
// A provider as `dtrace -h` and `dtrace -G` put it into programs: what provider.d says, in
// terms of C. Whoever compiles provider.d makes it; header.hpp and object.hpp write it out.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dt::usdt {

struct SourceArgument {
    std::string form; // bytes and kind, as stands before an operand's @: -4, 8, 8f
    std::string declaration; // "const char *dt_a1", of the n-th parameter(n)
};

// As many as <dtrace/sdt.h> and SystemTap's header pass: each finds its register or its
// place on the stack, whatever it is.
inline constexpr std::size_t max_source_arguments = 12;

struct SourceProbe {
    std::string name; // as in a note: query__start
    std::vector<SourceArgument> arguments;
};

struct ProviderSource {
    std::string name;
    std::vector<SourceProbe> probes;
    std::vector<std::string> tags; // that the declarations name: "struct connection"
    std::string definition;        // D text; empty: none goes along
};

// Of an argument in C; the first is 1.
std::string parameter(std::size_t n);
// postgresql, query__start: POSTGRESQL_QUERY_START.
std::string macro_name(std::string_view provider, std::string_view probe);
// postgresql, query__start: postgresql_query__start_semaphore.
std::string semaphore_name(std::string_view provider, std::string_view probe);
// app, query__start: __dtrace_app___query__start, which the macro calls.
std::string function_name(std::string_view provider, std::string_view probe);
// query-start is query__start in notes and in C.
std::string note_name(std::string_view probe);
// What a provider brings into each file that has it is kept once: the section group's name.
// Other definitions of the same provider have another.
std::string group_name(const ProviderSource& provider);

} // namespace dt::usdt
