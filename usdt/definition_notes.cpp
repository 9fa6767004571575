// SPDX-License-Identifier: MIT
#include "usdt/definition_notes.hpp"

#include "usdt/notes.hpp"

#include <gelf.h>
#include <set>
#include <string_view>
#include <utility>

namespace dt::usdt {

namespace {

// Returns "", or the reason why the note is not valid.
std::string read_note(std::string_view description, DefinitionNote& note)
{
    if (!take_text(description, note.provider))
        return "has an unterminated name";
    if (!is_note_name(note.provider))
        return "has an invalid provider name";
    if (!take_text(description, note.text))
        return "has unterminated text";
    return "";
}

void append_padded(std::string& to, std::string_view bytes)
{
    to += bytes;
    to.append((4 - bytes.size() % 4) % 4, '\0');
}

} // namespace

DefinitionNotes parse_definition_notes(std::span<const std::byte> section)
{
    DefinitionNotes out;
    std::set<std::pair<std::string, std::string>> known;
    std::size_t n_left_out = 0;
    auto read = [&](std::string_view description) {
        DefinitionNote note;
        std::string wrong = read_note(description, note);
        if (!wrong.empty() || known.contains({note.provider, note.text}))
            return wrong;
        if (known.size() == max_definitions) {
            n_left_out++;
            return wrong;
        }
        known.emplace(note.provider, note.text);
        out.notes.push_back(std::move(note));
        return wrong;
    };
    const NoteKind kind{definition_section, definition_owner, definition_type};
    out.troubles = walk_notes(section, kind, read);
    if (n_left_out != 0)
        out.troubles.push_back(left_out(kind, n_left_out, max_definitions));
    return out;
}

std::string definition_note(const DefinitionNote& note)
{
    std::string description = note.provider + '\0' + note.text + '\0';
    GElf_Nhdr header{sizeof definition_owner,
                     static_cast<GElf_Word>(description.size()), definition_type};
    std::string out(reinterpret_cast<const char*>(&header), sizeof header);
    append_padded(out, {definition_owner, sizeof definition_owner});
    append_padded(out, description);
    return out;
}

} // namespace dt::usdt
