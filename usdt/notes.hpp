// SPDX-License-Identifier: MIT
// Iterates over the notes of an ELF section, and describes the invalid ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dt::usdt {

struct NoteKind {
    std::string_view section; // the name of the section in messages
    std::string_view owner;
    std::uint32_t type = 0;
};

// Parses one description. Returns "" if it is valid. Otherwise, returns the end of an
// error message that begins with "the note at offset 8 of .note.x".
using NoteReader = std::function<std::string(std::string_view description)>;

// Passes each note of this kind in a little-endian 64-bit file to the reader. Returns
// messages about the first ten invalid notes.
std::vector<std::string> walk_notes(std::span<const std::byte> section,
                                    const NoteKind& kind, const NoteReader& read);

// Returns the message that only the first n_read notes are read, and that n_left_out
// further notes are omitted.
std::string left_out(const NoteKind& kind, std::size_t n_left_out, std::size_t n_read);

// Returns whether a string in a note can be the name of a provider or a probe.
bool is_note_name(std::string_view name);

// Moves the text before the first NUL from `bytes` to `text`, and removes the NUL.
// Returns false if there is no NUL.
bool take_text(std::string_view& bytes, std::string& text);

} // namespace dt::usdt
