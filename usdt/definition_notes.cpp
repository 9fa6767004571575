// SPDX-License-Identifier: MIT
#include "usdt/definition_notes.hpp"

#include <algorithm>
#include <cstring>
#include <gelf.h>
#include <string_view>

namespace dt::usdt {

namespace {

constexpr std::size_t max_troubles = 10;
constexpr std::size_t max_name_bytes = 512;

bool is_name(std::string_view name)
{
    return !name.empty() && name.size() <= max_name_bytes &&
           std::all_of(name.begin(), name.end(),
                       [](unsigned char c) { return c > ' ' && c < 0x7f && c != ':'; });
}

// Empty: it is a definition. Else what is wrong.
std::string read_note(std::string_view description, DefinitionNote& note)
{
    std::size_t name_end = description.find('\0');
    if (name_end == std::string_view::npos)
        return "has a name that does not end";
    note.provider = description.substr(0, name_end);
    if (!is_name(note.provider))
        return "has a name that cannot be a provider's";
    std::size_t text_end = description.find('\0', name_end + 1);
    if (text_end == std::string_view::npos)
        return "has a text that does not end";
    note.text = description.substr(name_end + 1, text_end - name_end - 1);
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
    auto tell = [&](std::size_t offset, const std::string& what) {
        if (out.troubles.size() < max_troubles)
            out.troubles.push_back("the note at offset " + std::to_string(offset) +
                                   " of " + definition_section + " " + what);
    };
    Elf_Data data{};
    data.d_buf = const_cast<std::byte*>(section.data());
    data.d_size = section.size();
    data.d_type = ELF_T_NHDR;
    data.d_version = EV_CURRENT;
    data.d_align = 4;
    const auto* bytes = reinterpret_cast<const char*>(section.data());
    for (std::size_t at = 0; at < section.size();) {
        GElf_Nhdr header{};
        std::size_t name = 0, description = 0;
        std::size_t next = gelf_getnote(&data, at, &header, &name, &description);
        if (next == 0 || next <= at) {
            tell(at, "does not fit into it, nor do those behind");
            break;
        }
        bool ours =
            header.n_type == definition_type &&
            header.n_namesz == sizeof definition_owner &&
            std::memcmp(bytes + name, definition_owner, sizeof definition_owner) == 0;
        DefinitionNote note;
        if (ours) {
            std::string wrong = read_note({bytes + description, header.n_descsz}, note);
            if (!wrong.empty())
                tell(at, wrong);
            else if (std::find(out.notes.begin(), out.notes.end(), note) ==
                     out.notes.end())
                out.notes.push_back(std::move(note));
        }
        at = next;
    }
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
