// SPDX-License-Identifier: MIT
// Parses arbitrary bytes as a .note.dtrace section. The content of the notes must not
// change when they are written and parsed again.
//
//   definition_notes_fuzz -max_total_time=60 -rss_limit_mb=2048 -timeout=20 CORPUS
#include "usdt/definition_notes.hpp"

#include "tests/fuzz/require.hpp"

using dt::fuzz::require;
using dt::usdt::DefinitionNotes;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const auto* first = reinterpret_cast<const std::byte*>(data);
    const DefinitionNotes all = dt::usdt::parse_definition_notes({first, first + size});
    std::size_t n_bytes = 0;
    std::string section;
    for (const dt::usdt::DefinitionNote& note : all.notes) {
        require(!note.provider.empty());
        n_bytes += note.provider.size() + note.text.size();
        section += definition_note(note);
    }
    // There are at most ten messages about invalid notes, and one about too many notes.
    require(n_bytes <= size && all.troubles.size() <= 11);
    require(all.notes.size() <= dt::usdt::max_definitions);
    const auto* written = reinterpret_cast<const std::byte*>(section.data());
    const DefinitionNotes again =
        dt::usdt::parse_definition_notes({written, written + section.size()});
    require(again.notes == all.notes && again.troubles.empty());
    return 0;
}
