// SPDX-License-Identifier: MIT
// Parses arbitrary bytes as a .note.stapsdt section, and the arguments in its notes.
#include "usdt/operands.hpp"
#include "usdt/probe_notes.hpp"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const auto* first = reinterpret_cast<const std::byte*>(data);
    const dt::usdt::ProbeNotes all = dt::usdt::parse_probe_notes({first, first + size});
    std::size_t n_bytes = 0;
    for (const dt::usdt::ProbeNote& note : all.notes) {
        n_bytes += note.provider.size() + note.name.size() + note.arguments.size();
        if (note.provider.empty() || note.name.empty())
            std::abort(); // a probe has a provider and a name
        dt::usdt::probe_name(note.name);
        dt::usdt::parse_operands(note.arguments);
    }
    // All strings are parts of the input, so they cannot be longer than the input. There
    // are at most ten messages about invalid notes, and one about too many notes.
    if (n_bytes > size || all.troubles.size() > 11)
        std::abort();
    return 0;
}
