// SPDX-License-Identifier: MIT
// The static probes (USDT) of one image, from its notes.
//
//   .note.stapsdt ──usdt/probe_notes──> sites ──by provider, function and name──> probes
//   .note.dtrace ──usdt/definition_notes──> the definitions of the providers
//
// A site that is outside the file's text or not at a nop is omitted and reported. A
// semaphore outside the file's data is ignored and reported, because incrementing it
// would change other memory.
#pragma once

#include "libdtrace/symbols/elf/function_table.hpp"
#include "usdt/operands.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dt {

class ParsedElf;

struct StaticSite {
    std::uint64_t at = 0;        // link-time
    std::uint64_t offset = 0;    // in its function; 0 if it is not in a function
    std::uint64_t semaphore = 0; // link-time address, or 0 if there is no semaphore
    std::string arguments;       // usdt/operands.hpp
};

struct StaticProbe {
    std::string provider;          // without a pid
    std::string function;          // the function that contains its sites
    std::string name;              // in D's spelling: query-start
    std::vector<StaticSite> sites; // ascending
};

struct StaticProbes {
    std::vector<StaticProbe> probes; // sorted by provider, name, function
    // A provider's name and the text of a definition (usdt/definition_notes.hpp). A
    // provider may have several definitions.
    std::vector<std::pair<std::string, std::string>> definitions;
    // The syntax of arguments whose text is valid in both AT&T and Intel syntax.
    usdt::Syntax syntax = usdt::Syntax::att;
    std::vector<std::string> troubles;
};

// Reads the static probes of an image. Looks up function names only if there are
// probes.
StaticProbes read_static_probes(ParsedElf& image);

} // namespace dt
