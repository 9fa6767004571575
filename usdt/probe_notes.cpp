// SPDX-License-Identifier: MIT
#include "usdt/probe_notes.hpp"

#include "usdt/notes.hpp"

#include <cstring>

namespace dt::usdt {

namespace {

constexpr NoteKind stapsdt{".note.stapsdt", "stapsdt", 3};

bool take_word(std::string_view& bytes, std::uint64_t& word)
{
    if (bytes.size() < sizeof word)
        return false;
    std::memcpy(&word, bytes.data(), sizeof word);
    bytes.remove_prefix(sizeof word);
    return true;
}

// Returns "", or the reason why the note is not valid.
std::string read_note(std::string_view left, ProbeNote& note)
{
    if (!take_word(left, note.at) || !take_word(left, note.base) ||
        !take_word(left, note.semaphore))
        return "is too short for three addresses";
    if (!take_text(left, note.provider) || !take_text(left, note.name))
        return "has unterminated names";
    if (!is_note_name(note.provider) || !is_note_name(note.name))
        return "has an invalid name";
    if (!take_text(left, note.arguments))
        return "has unterminated arguments";
    return "";
}

} // namespace

ProbeNotes parse_probe_notes(std::span<const std::byte> section)
{
    ProbeNotes out;
    std::size_t n_left_out = 0;
    auto read = [&](std::string_view description) {
        if (out.notes.size() == max_probe_notes) {
            n_left_out++;
            return std::string();
        }
        ProbeNote note;
        std::string wrong = read_note(description, note);
        if (wrong.empty())
            out.notes.push_back(std::move(note));
        return wrong;
    };
    out.troubles = walk_notes(section, stapsdt, read);
    if (n_left_out != 0)
        out.troubles.push_back(left_out(stapsdt, n_left_out, max_probe_notes));
    return out;
}

std::string probe_name(std::string_view in_note)
{
    std::string out;
    for (std::size_t i = 0; i < in_note.size(); i++) {
        bool dash = in_note.substr(i, 2) == "__";
        out += dash ? '-' : in_note[i];
        i += dash ? 1 : 0;
    }
    return out;
}

} // namespace dt::usdt
