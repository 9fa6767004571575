// SPDX-License-Identifier: MIT
// The static probes (USDT) of one image, from its notes.
//
//   .note.stapsdt ──usdt/probe_notes──> sites ──by provider, function and name──> probes
//   .note.dtrace ──usdt/definition_notes──> what the providers' authors say of them
//
// A site that is not in the file's text is left out and told, and so is a semaphore that is
// not in its data: to raise that would change some other memory of the program.
#pragma once

#include "libdtrace/symbols/elf/elf_image.hpp"
#include "usdt/operands.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dt {

struct StaticSite {
    std::uint64_t at = 0;        // link-time
    std::uint64_t offset = 0;    // from its function's start; 0: it is in none
    std::uint64_t semaphore = 0; // link-time, 0: there is none
    std::string arguments;       // usdt/operands.hpp
};

struct StaticProbe {
    std::string provider;          // without a pid
    std::string function;          // that holds its sites
    std::string name;              // as D has it: query-start
    std::vector<StaticSite> sites; // ascending
};

struct StaticProbes {
    std::vector<StaticProbe> probes; // by provider, name, function
    // usdt/definition_notes.hpp: provider and text; a provider may have several.
    std::vector<std::pair<std::string, std::string>> definitions;
    // Of all arguments where their own does not tell.
    usdt::Syntax syntax = usdt::Syntax::att;
    std::vector<std::string> troubles;
};

// Empty when the file has none. Names of functions are looked up only then.
StaticProbes read_static_probes(ElfImage& image);

} // namespace dt
