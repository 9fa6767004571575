// SPDX-License-Identifier: MIT
#include "ptrace-agent/unwind_objects.hpp"

#include "base/page_bytes.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <elf.h>

namespace dt::agent {

namespace {

constexpr std::uint64_t end_of_users = std::uint64_t{1} << 47;
constexpr std::size_t max_headers = 128;

// DW_EH_PE_*: how a number is stored, and what it is relative to.
enum : std::uint8_t {
    stored_udata4 = 0x03,
    stored_udata8 = 0x04,
    stored_sdata4 = 0x0b,
    stored_sdata8 = 0x0c,
    relative_to_place = 0x10,
    relative_to_header = 0x30,
};

// Reads the encoded numbers of .eh_frame_hdr one after the other.
class Numbers {
public:
    Numbers(std::uint64_t header, const ReadBytes& read) : header_(header), read_(read)
    {
    }

    std::optional<std::array<std::uint8_t, 4>> encodings()
    {
        std::array<std::uint8_t, 4> bytes{};
        if (!read_(header_, bytes.data(), bytes.size()))
            return std::nullopt;
        at_ = header_ + bytes.size();
        return bytes;
    }
    std::optional<std::uint64_t> next(std::uint8_t encoding)
    {
        const std::uint64_t place = at_;
        std::optional<std::uint64_t> value;
        switch (encoding & 0x0f) {
        case stored_udata4:
            value = take<std::uint32_t>();
            break;
        case stored_sdata4:
            value = take<std::int32_t>();
            break;
        case stored_udata8:
        case stored_sdata8:
            value = take<std::int64_t>();
            break;
        default:
            return std::nullopt;
        }
        if (value && (encoding & 0xf0) == relative_to_place)
            *value += place;
        else if (value && (encoding & 0xf0) == relative_to_header)
            *value += header_;
        else if ((encoding & 0xf0) != 0)
            return std::nullopt;
        return value;
    }
    std::uint64_t at() const { return at_; }

private:
    template <class T> std::optional<std::uint64_t> take()
    {
        T value{};
        if (!read_(at_, &value, sizeof value))
            return std::nullopt;
        at_ += sizeof value;
        return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    }

    std::uint64_t header_, at_ = 0;
    const ReadBytes& read_;
};

bool is_same_file(const Mapping& a, const Mapping& b)
{
    return a.file == b.file && a.path == b.path;
}

} // namespace

const Mapping* UnwindObjects::mapping_at(TargetAddr at)
{
    const Mapping* found = find_mapping(mappings_, at);
    if (found != nullptr && found->executable)
        return found;
    mappings_ = mappings_of(pid_); // the object may be newer than the old list
    tables_.clear();
    found = find_mapping(mappings_, at);
    return found != nullptr && found->executable ? found : nullptr;
}

const FrameTable* UnwindObjects::table_at(TargetAddr at, const ReadBytes& read)
{
    const Mapping* text = mapping_at(at);
    if (text == nullptr || text->path.empty())
        return nullptr; // code that was generated at run time
    auto [known, is_new] = tables_.try_emplace(text->begin);
    if (is_new)
        known->second = find_table(at, read);
    return known->second ? &*known->second : nullptr;
}

std::optional<FrameTable> UnwindObjects::find_table(TargetAddr at,
                                                    const ReadBytes& read)
{
    // The ELF header is at offset 0 of the file. The file may be mapped several times.
    // The text belongs to the last mapping of offset 0 that begins at or below the
    // text.
    const Mapping* text = find_mapping(mappings_, at);
    const Mapping* first = nullptr;
    for (const Mapping& each : mappings_) {
        if (each.begin > text->begin)
            break;
        if (each.offset == 0 && is_same_file(each, *text))
            first = &each;
    }
    Elf64_Ehdr elf{};
    if (first == nullptr || !read(first->begin.value, &elf, sizeof elf) ||
        std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 ||
        elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_phentsize != sizeof(Elf64_Phdr) ||
        elf.e_phnum > max_headers || elf.e_phoff > first->end - first->begin)
        return std::nullopt;
    std::vector<Elf64_Phdr> headers(elf.e_phnum);
    for (std::size_t i = 0; i < headers.size(); ++i)
        if (!read(first->begin.value + elf.e_phoff + i * sizeof(Elf64_Phdr),
                  &headers[i], sizeof headers[i]))
            return std::nullopt;
    auto loads_beginning = [](const Elf64_Phdr& each) {
        return each.p_type == PT_LOAD && each.p_offset < page_bytes;
    };
    auto load = std::find_if(headers.begin(), headers.end(), loads_beginning);
    if (load == headers.end())
        return std::nullopt;
    const std::uint64_t bias =
        first->begin.value - (load->p_vaddr - load->p_offset) / page_bytes * page_bytes;

    auto is_frames = [](const Elf64_Phdr& each) {
        return each.p_type == PT_GNU_EH_FRAME;
    };
    auto frames = std::find_if(headers.begin(), headers.end(), is_frames);
    if (frames == headers.end())
        return std::nullopt;
    FrameTable table{text->begin, text->end, bias + frames->p_vaddr, 0, 0};
    Numbers numbers(table.header, read);
    auto encodings = numbers.encodings();
    constexpr std::uint8_t version = 1, sorted = relative_to_header | stored_sdata4;
    if (table.header >= end_of_users || !encodings || (*encodings)[0] != version ||
        (*encodings)[3] != sorted || !numbers.next((*encodings)[1]))
        return std::nullopt;
    auto n_entries = numbers.next((*encodings)[2]);
    constexpr std::uint64_t entry_bytes = 8;
    // The table must be inside the segment that its program header describes.
    if (!n_entries || frames->p_memsz < numbers.at() - table.header ||
        *n_entries > (frames->p_memsz - (numbers.at() - table.header)) / entry_bytes ||
        frames->p_memsz > end_of_users - table.header)
        return std::nullopt;
    table.entries = numbers.at();
    table.n_entries = *n_entries;
    return table;
}

} // namespace dt::agent
