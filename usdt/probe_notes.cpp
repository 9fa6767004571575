// SPDX-License-Identifier: MIT
#include "usdt/probe_notes.hpp"

#include <cstring>
#include <gelf.h>
#include <optional>

namespace dt::usdt {

namespace {

constexpr std::uint32_t note_type = 3;
constexpr char owner[] = "stapsdt";
constexpr std::size_t max_troubles = 10;
constexpr std::size_t max_name_bytes = 512;

// Fields of one description, from its start.
class Fields {
public:
    explicit Fields(std::span<const std::byte> left) : left_(left) {}

    std::optional<std::uint64_t> word()
    {
        std::uint64_t value = 0;
        if (left_.size() < sizeof value)
            return std::nullopt;
        std::memcpy(&value, left_.data(), sizeof value);
        left_ = left_.subspan(sizeof value);
        return value;
    }
    std::optional<std::string> text()
    {
        const auto* from = reinterpret_cast<const char*>(left_.data());
        std::size_t n = strnlen(from, left_.size());
        if (n == left_.size())
            return std::nullopt;
        left_ = left_.subspan(n + 1);
        return std::string(from, n);
    }

private:
    std::span<const std::byte> left_;
};

bool is_name(const std::string& name)
{
    if (name.empty() || name.size() > max_name_bytes)
        return false;
    for (unsigned char c : name)
        if (c <= ' ' || c >= 0x7f || c == ':')
            return false;
    return true;
}

// Empty: it is a probe. Else what is wrong.
std::string read_note(std::span<const std::byte> description, ProbeNote& note)
{
    Fields fields(description);
    auto at = fields.word(), base = fields.word(), semaphore = fields.word();
    if (!at || !base || !semaphore)
        return "is too short for three addresses";
    auto provider = fields.text(), name = fields.text(), arguments = fields.text();
    if (!provider || !name)
        return "has names that do not end";
    note = {*at,
            *base,
            *semaphore,
            std::move(*provider),
            std::move(*name),
            std::move(arguments).value_or("")};
    if (!is_name(note.provider) || !is_name(note.name))
        return "has a name that cannot be one";
    if (!arguments)
        return "has arguments that do not end";
    return "";
}

} // namespace

ProbeNotes parse_probe_notes(std::span<const std::byte> section)
{
    ProbeNotes out;
    std::size_t n_bad = 0;
    auto tell = [&](std::size_t offset, const std::string& what) {
        if (++n_bad <= max_troubles)
            out.troubles.push_back("the note at offset " + std::to_string(offset) +
                                   " of .note.stapsdt " + what);
    };
    Elf_Data data{};
    data.d_buf = const_cast<std::byte*>(section.data());
    data.d_size = section.size();
    data.d_type = ELF_T_NHDR;
    data.d_version = EV_CURRENT;
    data.d_align = 4;
    std::size_t at = 0;
    while (at < section.size()) {
        GElf_Nhdr header{};
        std::size_t name = 0, description = 0;
        std::size_t next = gelf_getnote(&data, at, &header, &name, &description);
        if (next == 0 || next <= at) {
            tell(at, "does not fit into it, nor do those behind");
            break;
        }
        bool ours = header.n_type == note_type && header.n_namesz == sizeof owner &&
                    std::memcmp(section.data() + name, owner, sizeof owner) == 0;
        if (ours) {
            ProbeNote note;
            std::string wrong =
                read_note(section.subspan(description, header.n_descsz), note);
            if (!wrong.empty())
                tell(at, wrong);
            else
                out.notes.push_back(std::move(note));
        }
        at = next;
    }
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
