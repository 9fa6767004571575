// SPDX-License-Identifier: MIT
// Every FDE of .eh_frame covers one function, or one part of a split one: its first two
// fields are start and length, in the encoding that the 'R' of its CIE's augmentation
// names (DWARF exception header encoding, LSB "Linux Standard Base Core" 10.5).
#include "libdtrace/symbols/frame_functions.hpp"

#include <algorithm>
#include <elfutils/libdw.h>
#include <map>

namespace dt {

namespace {

constexpr unsigned char pe_absptr = 0, pe_udata2 = 2, pe_udata4 = 3, pe_udata8 = 4;
constexpr unsigned char pe_sdata2 = 10, pe_sdata4 = 11, pe_sdata8 = 12;
constexpr unsigned char pe_format = 0x0f, pe_application = 0x70, pe_pcrel = 0x10;
constexpr unsigned char pe_unknown = 0xff;

// The 'R' encoding of a CIE; pe_unknown when the augmentation is not understood.
unsigned char encoding_of(const Dwarf_CIE& cie)
{
    std::string_view augmentation = cie.augmentation;
    if (augmentation.empty())
        return pe_absptr;
    if (augmentation[0] != 'z')
        return pe_unknown;
    std::size_t at = 0;
    for (char c : augmentation.substr(1)) {
        if (c == 'S' || c == 'B' || c == 'G')
            continue; // signal frame, aarch64 marks: no data
        if (at >= cie.augmentation_data_size)
            return pe_unknown;
        unsigned char value = cie.augmentation_data[at++];
        if (c == 'R')
            return value;
        if (c == 'L')
            continue;
        if (c != 'P')
            return pe_unknown;
        switch (value & pe_format) { // the personality routine's pointer is passed over
        case pe_udata2:
        case pe_sdata2:
            at += 2;
            break;
        case pe_udata4:
        case pe_sdata4:
            at += 4;
            break;
        case pe_absptr:
        case pe_udata8:
        case pe_sdata8:
            at += 8;
            break;
        default:
            return pe_unknown;
        }
    }
    return pe_absptr;
}

struct Value {
    std::uint64_t value;
    std::size_t n_bytes;
};

std::optional<Value> read_encoded(Bytes bytes, std::size_t at, unsigned char format)
{
    auto widened = [&]<class T>(T) -> std::optional<Value> {
        auto v = read_at<T>(bytes, at);
        if (!v)
            return std::nullopt;
        return Value{static_cast<std::uint64_t>(std::int64_t(*v)), sizeof(T)};
    };
    switch (format) {
    case pe_udata2:
        return widened(std::uint16_t{});
    case pe_sdata2:
        return widened(std::int16_t{});
    case pe_udata4:
        return widened(std::uint32_t{});
    case pe_sdata4:
        return widened(std::int32_t{});
    case pe_absptr:
    case pe_udata8:
    case pe_sdata8:
        return widened(std::int64_t{});
    default:
        return std::nullopt;
    }
}

class FrameReader {
public:
    FrameReader(const ElfSections& file, Bytes bytes, std::uint64_t addr)
        : file_(file), bytes_(bytes), addr_(addr)
    {
        data_.d_buf = const_cast<std::byte*>(bytes.data()); // libdw only reads it
        data_.d_type = ELF_T_BYTE;
        data_.d_version = EV_CURRENT;
        data_.d_size = bytes.size();
        data_.d_align = 1;
    }

    std::vector<AddressRange> read()
    {
        std::vector<AddressRange> ranges;
        Dwarf_Off at = 0, next = 0;
        Dwarf_CFI_Entry entry;
        while (next_entry(at, next, entry)) {
            if (!dwarf_cfi_cie_p(&entry))
                if (auto range = range_of(entry.fde))
                    ranges.push_back(*range);
            if (next <= at || ranges.size() >= elf_limits::functions)
                break;
            at = next;
        }
        return ranges;
    }

private:
    bool next_entry(Dwarf_Off at, Dwarf_Off& next, Dwarf_CFI_Entry& entry)
    {
        return at < bytes_.size() &&
               dwarf_next_cfi(
                   reinterpret_cast<const unsigned char*>(file_.header().e_ident),
                   &data_, true, at, &next, &entry) == 0;
    }

    unsigned char encoding_at(Dwarf_Off cie)
    {
        if (auto known = encodings_.find(cie); known != encodings_.end())
            return known->second;
        Dwarf_Off next = 0;
        Dwarf_CFI_Entry entry;
        unsigned char encoding = pe_unknown;
        if (next_entry(cie, next, entry) && dwarf_cfi_cie_p(&entry))
            encoding = encoding_of(entry.cie);
        return encodings_[cie] = encoding;
    }

    std::optional<AddressRange> range_of(const Dwarf_FDE& fde)
    {
        unsigned char encoding = encoding_at(fde.CIE_pointer);
        unsigned char application = encoding & pe_application;
        if (encoding == pe_unknown || (application != 0 && application != pe_pcrel))
            return std::nullopt;
        auto at = static_cast<std::size_t>(
            fde.start - reinterpret_cast<const std::uint8_t*>(bytes_.data()));
        auto start = read_encoded(bytes_, at, encoding & pe_format);
        if (!start)
            return std::nullopt;
        auto length = read_encoded(bytes_, at + start->n_bytes, encoding & pe_format);
        if (!length || length->value == 0)
            return std::nullopt;
        std::uint64_t addr = start->value + (application == pe_pcrel ? addr_ + at : 0);
        for (const ElfSegment& segment : file_.segments())
            if (segment.executable && segment.contains(addr))
                return AddressRange{
                    addr,
                    std::min(length->value, segment.addr + segment.mem_bytes - addr)};
        return std::nullopt;
    }

    const ElfSections& file_;
    Bytes bytes_;
    std::uint64_t addr_; // link-time address of bytes_[0]
    Elf_Data data_{};
    std::map<Dwarf_Off, unsigned char> encodings_;
};

} // namespace

std::vector<AddressRange> read_frame_functions(const ElfSections& file)
{
    const ElfSection* section = file.find(".eh_frame");
    if (!section)
        return {};
    auto bytes = file.data(*section);
    if (!bytes)
        return {};
    auto ranges = FrameReader(file, *bytes, section->header.sh_addr).read();
    std::sort(ranges.begin(), ranges.end(), [](AddressRange a, AddressRange b) {
        return a.addr != b.addr ? a.addr < b.addr : a.n_bytes > b.n_bytes;
    });
    ranges.erase(
        std::unique(ranges.begin(), ranges.end(),
                    [](AddressRange a, AddressRange b) { return a.addr == b.addr; }),
        ranges.end());
    return ranges;
}

} // namespace dt
