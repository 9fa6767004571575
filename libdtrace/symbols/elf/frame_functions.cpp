// SPDX-License-Identifier: MIT
// Every FDE of .eh_frame covers a function or a part of one. The FDE begins with the
// start and the length of this range. The augmentation of the CIE describes the format
// (LSB 10.5): 'R' gives the encoding of the start and the length. 'z' means that
// augmentation data follow. 'L' means that these data contain the address of the
// language table (LSDA).
#include "libdtrace/symbols/elf/frame_functions.hpp"

#include "libdtrace/symbols/elf/split_off.hpp"

#include <algorithm>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <map>

namespace dt {

namespace {

// The parts of an encoding (DW_EH_PE_*): the format, and the base of the value.
constexpr unsigned char pe_format = 0x0f, pe_application = 0x70;
constexpr unsigned char pe_unknown = 0xff;

struct Encodings {
    unsigned char start =
        DW_EH_PE_absptr; // pe_unknown if the augmentation is not known
    unsigned char table = DW_EH_PE_omit;
};

// Properties that the FDEs of one CIE share.
struct Common {
    Encodings encodings{pe_unknown, DW_EH_PE_omit};
    bool has_data = false; // has augmentation data, prefixed by its length
    std::int64_t data_factor = 1;
    CanonicalFrame at_call;
};

Encodings encodings_of(const Dwarf_CIE& cie)
{
    constexpr Encodings unknown{pe_unknown, DW_EH_PE_omit};
    std::string_view augmentation = cie.augmentation;
    if (augmentation.empty())
        return {};
    if (augmentation[0] != 'z')
        return unknown;
    Encodings found;
    std::size_t at = 0;
    for (char c : augmentation.substr(1)) {
        if (c == 'S' || c == 'B' || c == 'G')
            continue; // the letters for signal frames and aarch64 have no operand
        if (at >= cie.augmentation_data_size)
            return unknown;
        unsigned char value = cie.augmentation_data[at++];
        if (c == 'R')
            found.start = value;
        if (c == 'L')
            found.table = value;
        if (c == 'R' || c == 'L')
            continue;
        if (c != 'P')
            return unknown;
        switch (value & pe_format) { // skips the pointer to the personality routine
        case DW_EH_PE_udata2:
        case DW_EH_PE_sdata2:
            at += 2;
            break;
        case DW_EH_PE_udata4:
        case DW_EH_PE_sdata4:
            at += 4;
            break;
        case DW_EH_PE_absptr:
        case DW_EH_PE_udata8:
        case DW_EH_PE_sdata8:
            at += 8;
            break;
        default:
            return unknown;
        }
    }
    return found;
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
    case DW_EH_PE_udata2:
        return widened(std::uint16_t{});
    case DW_EH_PE_sdata2:
        return widened(std::int16_t{});
    case DW_EH_PE_udata4:
        return widened(std::uint32_t{});
    case DW_EH_PE_sdata4:
        return widened(std::int32_t{});
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
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
        // libdw only reads the buffer, so it may be const.
        data_.d_buf = const_cast<std::byte*>(bytes.data());
        data_.d_type = ELF_T_BYTE;
        data_.d_version = EV_CURRENT;
        data_.d_size = bytes.size();
        data_.d_align = 1;
    }

    std::vector<Frame> read()
    {
        std::vector<Frame> frames;
        Dwarf_Off at = 0, next = 0;
        Dwarf_CFI_Entry entry;
        while (next_entry(at, next, entry)) {
            if (!dwarf_cfi_cie_p(&entry))
                if (auto frame = frame_of(entry.fde)) {
                    frame->index = static_cast<std::uint32_t>(frames.size());
                    frames.push_back(*frame);
                }
            if (next <= at)
                break;
            at = next;
            if (frames.size() >= elf_limits::functions) {
                file_.add_cut(".eh_frame has more than " +
                              std::to_string(elf_limits::functions) +
                              " functions: those in its last " +
                              std::to_string(bytes_.size() -
                                             std::min<std::size_t>(at, bytes_.size())) +
                              " bytes are omitted");
                break;
            }
        }
        return frames;
    }

private:
    bool next_entry(Dwarf_Off at, Dwarf_Off& next, Dwarf_CFI_Entry& entry)
    {
        return at < bytes_.size() &&
               dwarf_next_cfi(
                   reinterpret_cast<const unsigned char*>(file_.header().e_ident),
                   &data_, true, at, &next, &entry) == 0;
    }

    const Common& common_at(Dwarf_Off cie)
    {
        if (auto known = common_.find(cie); known != common_.end())
            return known->second;
        Dwarf_Off next = 0;
        Dwarf_CFI_Entry entry;
        Common& found = common_[cie];
        if (next_entry(cie, next, entry) && dwarf_cfi_cie_p(&entry)) {
            found.encodings = encodings_of(entry.cie);
            found.has_data = entry.cie.augmentation[0] == 'z';
            found.data_factor = entry.cie.data_alignment_factor;
            found.at_call =
                at_first_address({},
                                 between(entry.cie.initial_instructions,
                                         entry.cie.initial_instructions_end),
                                 found.data_factor);
        }
        return found;
    }

    // Returns the bytes between two addresses in bytes_. Does not read after the end of
    // bytes_.
    Bytes between(const std::uint8_t* from, const std::uint8_t* to) const
    {
        const auto* begin = reinterpret_cast<const std::uint8_t*>(bytes_.data());
        auto first = static_cast<std::size_t>(from - begin);
        auto last = std::min(static_cast<std::size_t>(to - begin), bytes_.size());
        return first < last ? bytes_.subspan(first, last - first) : Bytes{};
    }

    std::optional<Frame> frame_of(const Dwarf_FDE& fde)
    {
        const Common& common = common_at(fde.CIE_pointer);
        const Encodings& encodings = common.encodings;
        unsigned char encoding = encodings.start;
        unsigned char application = encoding & pe_application;
        if (encoding == pe_unknown ||
            (application != 0 && application != DW_EH_PE_pcrel))
            return std::nullopt;
        auto at = static_cast<std::size_t>(
            fde.start - reinterpret_cast<const std::uint8_t*>(bytes_.data()));
        auto start = read_encoded(bytes_, at, encoding & pe_format);
        if (!start)
            return std::nullopt;
        auto length = read_encoded(bytes_, at + start->n_bytes, encoding & pe_format);
        if (!length || length->value == 0)
            return std::nullopt;
        std::uint64_t addr =
            start->value + (application == DW_EH_PE_pcrel ? addr_ + at : 0);
        for (const ElfSegment& segment : file_.segments()) {
            if (!segment.executable || !segment.contains(addr))
                continue;
            Frame frame;
            frame.range = {
                addr, std::min(length->value, segment.addr + segment.mem_bytes - addr)};
            std::size_t behind = at + start->n_bytes + length->n_bytes;
            frame.table = table_at(encodings.table, behind);
            frame.split_off = frame_at_start(common, fde, behind) != common.at_call;
            return frame;
        }
        return std::nullopt;
    }

    // Returns the frame at the start of the FDE's range. `at` is the offset after the
    // FDE's start and length.
    CanonicalFrame frame_at_start(const Common& common, const Dwarf_FDE& fde,
                                  std::size_t at) const
    {
        const auto* begin = reinterpret_cast<const std::uint8_t*>(bytes_.data());
        if (common.has_data) { // skips the data; their length is in the first byte
            if (at >= bytes_.size() || (bytes_[at] & std::byte{0x80}) != std::byte{0})
                return common.at_call;
            at += 1 + std::to_integer<std::size_t>(bytes_[at]);
        }
        return at_first_address(common.at_call,
                                between(begin + std::min(at, bytes_.size()), fde.end),
                                common.data_factor);
    }

    // Returns the address of the LSDA, or 0. `at` is the offset of the augmentation
    // data, which start with their length.
    std::uint64_t table_at(unsigned char encoding, std::size_t at) const
    {
        unsigned char application = encoding & pe_application;
        if (encoding == DW_EH_PE_omit ||
            (application != 0 && application != DW_EH_PE_pcrel) ||
            (encoding & DW_EH_PE_indirect) != 0 || at >= bytes_.size())
            return 0;
        // The length is assumed to occupy one byte.
        if (bytes_[at] == std::byte{0})
            return 0;
        auto value = read_encoded(bytes_, ++at, encoding & pe_format);
        if (!value || value->value == 0)
            return 0;
        return value->value + (application == DW_EH_PE_pcrel ? addr_ + at : 0);
    }

    const ElfSections& file_;
    Bytes bytes_;
    std::uint64_t addr_; // link-time address of bytes_[0]
    Elf_Data data_{};
    std::map<Dwarf_Off, Common> common_;
};

} // namespace

std::vector<Frame> read_frames(const ElfSections& file)
{
    const ElfSection* section = file.find(".eh_frame");
    if (!section)
        return {};
    auto bytes = file.data(*section);
    if (!bytes)
        return {};
    auto frames = FrameReader(file, *bytes, section->header.sh_addr).read();
    std::sort(frames.begin(), frames.end(), [](const Frame& a, const Frame& b) {
        return a.range.addr != b.range.addr ? a.range.addr < b.range.addr
                                            : a.range.n_bytes > b.range.n_bytes;
    });
    frames.erase(std::unique(frames.begin(), frames.end(),
                             [](const Frame& a, const Frame& b) {
                                 return a.range.addr == b.range.addr;
                             }),
                 frames.end());
    return frames;
}

std::vector<AddressRange> read_frame_functions(const ElfSections& file)
{
    std::vector<AddressRange> ranges;
    for (const Frame& frame : read_frames(file))
        ranges.push_back(frame.range);
    return ranges;
}

} // namespace dt
