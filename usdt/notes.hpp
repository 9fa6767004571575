// SPDX-License-Identifier: MIT
// The walk over an ELF section of notes, and what is said of those that cannot be.
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
    std::string_view section; // as troubles name it
    std::string_view owner;
    std::uint32_t type = 0;
};

// Reads the bytes of one description. Empty: done. Else what is wrong with it, as a
// sentence behind "the note at offset 8 of .note.x".
using NoteReader = std::function<std::string(std::string_view description)>;

// Each note of this kind in section (of a little-endian 64-bit file) goes to the reader.
// Returns sentences about those that were left out, at most ten.
std::vector<std::string> walk_notes(std::span<const std::byte> section,
                                    const NoteKind& kind, const NoteReader& read);

// Returns a sentence about the notes after the first n_read ones.
std::string left_out(const NoteKind& kind, std::size_t n_left_out, std::size_t n_read);

// Whether a note's name can be that of a provider or a probe.
bool is_note_name(std::string_view name);

// Takes the text up to the first NUL off bytes, and the NUL. False: there is none.
bool take_text(std::string_view& bytes, std::string& text);

} // namespace dt::usdt
