// SPDX-License-Identifier: MIT
// The description of a provider from which `dtrace -h` generates a header and
// `dtrace -G` an object file. It contains the C declarations of the probes' arguments.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dt::usdt {

struct SourceArgument {
    std::string form;        // size and kind in a note, before the @: -4, 8, 8f
    std::string declaration; // "const char *dt_a1"; parameter(n) returns the name
};

// The maximum number of arguments in <dtrace/sdt.h> and SystemTap's header.
inline constexpr std::size_t max_source_arguments = 12;

struct SourceProbe {
    std::string name; // as in a note: query__start
    std::vector<SourceArgument> arguments;
};

struct ProviderSource {
    std::string name;
    std::vector<SourceProbe> probes;
    // The tags that the declarations use, for example "struct connection".
    std::vector<std::string> tags;
    // The provider's definition as D text. If it is empty, the generated files contain
    // no definition.
    std::string definition;
};

// Returns the name of the n-th argument in C. The first argument has number 1.
std::string parameter(std::size_t n);
// Returns the name of the probe's macro: POSTGRESQL_QUERY_START for postgresql,
// query__start.
std::string macro_name(std::string_view provider, std::string_view probe);
// Returns the name of the semaphore: postgresql_query__start_semaphore for postgresql,
// query__start.
std::string semaphore_name(std::string_view provider, std::string_view probe);
// Returns the name of the function that the macro calls: __dtrace_app___query__start
// for app, query__start.
std::string function_name(std::string_view provider, std::string_view probe);
// Returns the name in notes and in C: query__start for query-start.
std::string note_name(std::string_view probe);
// Returns the name of the section group with the provider's data. Different definitions
// of a provider have different group names.
std::string group_name(const ProviderSource& provider);

} // namespace dt::usdt
