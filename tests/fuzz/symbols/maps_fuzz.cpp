// SPDX-License-Identifier: MIT
// Fuzzes the functions that read text: the parser of /proc/PID/maps, the matching of
// globs, demangling and suggestions. The first line of the input is the pattern, and
// the rest is the text.
#include "libdtrace/symbols/demangle.hpp"
#include "libdtrace/symbols/suggest.hpp"
#include "process/maps.hpp"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    std::string_view text(reinterpret_cast<const char*>(data), size);
    std::string_view pattern = text.substr(0, text.find('\n'));
    std::string_view rest =
        text.substr(pattern.size() < size ? pattern.size() + 1 : size);

    if (auto maps = dt::ProcessMaps::parse(rest))
        for (const dt::Mapping& mapping : maps->all())
            if (!maps->at(mapping.begin))
                std::abort();
    dt::NameMatcher(pattern).matches(rest);
    dt::NameMatcher(pattern).matches("_Z" + std::string(rest.substr(0, 300)));
    if (auto name = dt::demangle("_Z" + std::string(rest.substr(0, 300))))
        dt::without_parameters(*name);
    dt::Suggestions suggestions(pattern);
    suggestions.consider(rest);
    suggestions.nearest();
    dt::printable_name(rest);
    return 0;
}
