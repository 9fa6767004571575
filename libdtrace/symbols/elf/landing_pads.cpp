// SPDX-License-Identifier: MIT
// The format of a function's exception table, the LSDA (Itanium C++ ABI, as GCC and
// LLVM emit it):
//
//   encoding  [start of landing pads]
//   encoding  [offset of the type table]
//   encoding  length of the call sites
//   for each call site: start, length, landing pad, action
//
// If an encoding is 0xff, the value in brackets is omitted. The default start of
// landing pads is the start of the function. A landing pad is an offset from the start
// of landing pads, or 0.
//
// The third encoding applies to the start, length and landing pad of a call site. Other
// numbers are LEB128.
#include "libdtrace/symbols/elf/landing_pads.hpp"

#include <dwarf.h>

namespace dt {

namespace {

// Reads values in sequence. If a value is beyond the end or in an unknown encoding,
// returns 0, and bad() becomes true.
class Reader {
public:
    Reader(Bytes bytes, std::size_t at) : bytes_(bytes), at_(at) {}
    bool bad() const { return bad_; }
    std::size_t at() const { return at_; }
    void skip(std::size_t n) { at_ += n; }

    std::uint64_t byte() { return fixed<std::uint8_t>(); }

    std::uint64_t uleb128()
    {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            std::uint64_t part = byte();
            value |= (part & 0x7f) << shift;
            if ((part & 0x80) == 0)
                return value;
        }
        bad_ = true;
        return 0;
    }

    std::uint64_t encoded(std::uint64_t encoding)
    {
        switch (encoding) {
        case 0:
        case DW_EH_PE_udata8:
        case DW_EH_PE_sdata8:
            return fixed<std::uint64_t>();
        case DW_EH_PE_uleb128:
        // Offsets are not negative.
        case DW_EH_PE_sleb128:
            return uleb128();
        case DW_EH_PE_udata2:
        case DW_EH_PE_sdata2:
            return fixed<std::uint16_t>();
        case DW_EH_PE_udata4:
        case DW_EH_PE_sdata4:
            return fixed<std::uint32_t>();
        default:
            bad_ = true;
            return 0;
        }
    }

private:
    template <class T> std::uint64_t fixed()
    {
        auto value = read_at<T>(bytes_, at_);
        bad_ |= !value;
        at_ += sizeof(T);
        return value.value_or(0);
    }

    Bytes bytes_;
    std::size_t at_;
    bool bad_ = false;
};

} // namespace

std::size_t read_landing_pads(Bytes section, std::uint64_t addr, const Frame& frame,
                              std::vector<std::uint64_t>& pads)
{
    if (frame.table - addr >= section.size())
        return 0;
    const std::size_t begin = frame.table - addr;
    Reader in(section, begin);
    std::uint64_t start = frame.range.addr;
    if (std::uint64_t encoding = in.byte(); encoding != DW_EH_PE_omit) {
        std::uint64_t here = addr + in.at();
        start = in.encoded(encoding & 0x0f);
        if ((encoding & 0x70) == 0x10)
            start += here;
    }
    if (in.byte() != DW_EH_PE_omit)
        in.uleb128();
    std::uint64_t encoding = in.byte();
    std::uint64_t length = in.uleb128();
    if (in.bad() || length > section.size() - std::min(in.at(), section.size()))
        return in.at() - begin;
    for (std::size_t end = in.at() + length; in.at() < end;) {
        in.encoded(encoding);
        in.encoded(encoding);
        std::uint64_t pad = in.encoded(encoding);
        in.uleb128();
        if (in.bad())
            break;
        if (pad != 0)
            pads.push_back(start + pad);
    }
    return in.at() - begin;
}

} // namespace dt
