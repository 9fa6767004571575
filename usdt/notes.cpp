// SPDX-License-Identifier: MIT
#include "usdt/notes.hpp"

#include <algorithm>
#include <gelf.h>

namespace dt::usdt {

constexpr std::size_t max_troubles = 10;
constexpr std::size_t max_name_bytes = 512;

std::vector<std::string> walk_notes(std::span<const std::byte> section,
                                    const NoteKind& kind, const NoteReader& read)
{
    std::vector<std::string> troubles;
    auto tell = [&](std::size_t offset, std::string_view what) {
        if (troubles.size() < max_troubles)
            troubles.push_back("the note at offset " + std::to_string(offset) + " of " +
                               std::string(kind.section) + " " + std::string(what));
    };
    const std::string owner = std::string(kind.owner) + '\0';
    Elf_Data data{};
    data.d_buf = const_cast<std::byte*>(section.data());
    data.d_size = section.size();
    data.d_type = ELF_T_NHDR;
    data.d_version = EV_CURRENT;
    data.d_align = 4;
    const std::string_view bytes(reinterpret_cast<const char*>(section.data()),
                                 section.size());
    for (std::size_t at = 0; at < section.size();) {
        GElf_Nhdr header{};
        std::size_t name = 0, description = 0;
        std::size_t next = gelf_getnote(&data, at, &header, &name, &description);
        if (next == 0 || next <= at) {
            tell(at, "extends past the end of the section, and is omitted with all "
                     "notes after it");
            break;
        }
        if (header.n_type == kind.type &&
            bytes.substr(name, header.n_namesz) == owner) {
            std::string wrong = read(bytes.substr(description, header.n_descsz));
            if (!wrong.empty())
                tell(at, wrong);
        }
        at = next;
    }
    return troubles;
}

std::string left_out(const NoteKind& kind, std::size_t n_left_out, std::size_t n_read)
{
    return std::string(kind.section) + " has more than " + std::to_string(n_read) +
           " notes: " + std::to_string(n_left_out) + " of them are omitted";
}

bool is_note_name(std::string_view name)
{
    return !name.empty() && name.size() <= max_name_bytes &&
           std::all_of(name.begin(), name.end(),
                       [](unsigned char c) { return c > ' ' && c < 0x7f && c != ':'; });
}

bool take_text(std::string_view& bytes, std::string& text)
{
    std::size_t end = bytes.find('\0');
    if (end == std::string_view::npos)
        return false;
    text = bytes.substr(0, end);
    bytes.remove_prefix(end + 1);
    return true;
}

} // namespace dt::usdt
