// SPDX-License-Identifier: MIT
// The notes by which a program carries the definitions of its providers:
//
//   section .note.dtrace, one note per definition; owner "dtrace", type 0x44540001
//     provider NUL  D text NUL: the types that the provider block needs, the block itself,
//                               #pragma D attributes; after the preprocessor
//
// They are not loaded, and other tools pass them over. Files lie: a note that cannot be is
// left out and told. The same definition twice is one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dt::usdt {

constexpr char definition_section[] = ".note.dtrace";
constexpr char definition_owner[] = "dtrace";
// No type of the generic ones, by which readelf would show what it is not.
constexpr std::uint32_t definition_type = 0x44540001; // "DT", first form

struct DefinitionNote {
    std::string provider, text;
    bool operator==(const DefinitionNote&) const = default;
};

constexpr std::size_t max_definitions = 4096; // of one file

struct DefinitionNotes {
    std::vector<DefinitionNote> notes;
    std::vector<std::string> troubles; // sentences, at most eleven
};

// section: of a little-endian 64-bit file.
DefinitionNotes parse_definition_notes(std::span<const std::byte> section);
// The note as the section has it.
std::string definition_note(const DefinitionNote& note);

} // namespace dt::usdt
