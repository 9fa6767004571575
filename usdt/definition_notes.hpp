// SPDX-License-Identifier: MIT
// The notes in a program's file that contain the definitions of its providers:
//
//   section .note.dtrace, one note per definition; owner "dtrace", type 0x44540001
//     provider NUL  D text NUL
//
// The D text is preprocessed. It contains the types that the provider block needs, the
// block itself, and its #pragma D attributes.
//
// The notes are not loaded into memory. Files are untrusted: an invalid note is omitted
// and reported. Duplicate definitions are returned only once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dt::usdt {

constexpr char definition_section[] = ".note.dtrace";
constexpr char definition_owner[] = "dtrace";
// The note's type. If it were a generic type, readelf would print a misleading
// description.
constexpr std::uint32_t definition_type = 0x44540001; // "DT", version 1

struct DefinitionNote {
    std::string provider, text;
    bool operator==(const DefinitionNote&) const = default;
};

constexpr std::size_t max_definitions = 4096; // per file

struct DefinitionNotes {
    std::vector<DefinitionNote> notes;
    // Messages about the first ten invalid notes, and a message about all notes beyond
    // max_definitions.
    std::vector<std::string> troubles;
};

// Parses the content of .note.dtrace from a little-endian 64-bit file.
DefinitionNotes parse_definition_notes(std::span<const std::byte> section);
// Encodes the note in the section's format.
std::string definition_note(const DefinitionNote& note);

} // namespace dt::usdt
