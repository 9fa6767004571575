// SPDX-License-Identifier: MIT
// A cache of capstone's results. Each thread has one.
//
// Apart from displacements and immediates, a program has only a few hundred different
// instructions. Displacements and immediates do not change capstone's results for
// one-byte and two-byte opcodes. Exceptions are 0f c2 and 0f 0f (3DNow), where the
// immediate is part of the opcode. A call to capstone takes ten times as long as a
// look-up in this cache.
#pragma once

#include "fasttrap/arch/x86_64/disassembler.hpp"
#include "fasttrap/arch/x86_64/layout.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>

namespace dt::x86 {

class Memo {
public:
    std::optional<Disassembler::Found> decode(const Layout& layout,
                                              const Instruction& insn)
    {
        Entry entry{shape_of(layout, insn), {}};
        Entry& at = entries_[hash(entry.shape) % entries_.size()];
        if (at.shape == entry.shape)
            return at.found;
        std::optional<Disassembler::Found> found = disassembler_.decode(insn.text());
        if (found)
            at = {entry.shape, *found};
        return found;
    }

private:
    // The bytes of the instruction, with 0 for a displacement or immediate that does
    // not change capstone's results. The last byte is the instruction's length.
    using Shape = std::array<std::uint64_t, 2>;
    struct Entry {
        Shape shape{};
        Disassembler::Found found;
    };

    static Shape shape_of(const Layout& layout, const Instruction& insn)
    {
        std::array<std::byte, 16> bytes{};
        std::copy_n(insn.bytes.begin(), insn.length, bytes.begin());
        bytes[15] = static_cast<std::byte>(insn.length);
        if (layout.encoding == Encoding::legacy &&
            (layout.map == 0 ||
             (layout.map == 1 && layout.opcode != 0x0f && layout.opcode != 0xc2))) {
            std::fill_n(bytes.begin() + layout.disp_at, layout.disp_size, std::byte{});
            std::fill_n(bytes.begin() + layout.imm_at, layout.imm_size, std::byte{});
        }
        return std::bit_cast<Shape>(bytes);
    }
    static std::uint64_t hash(const Shape& shape)
    {
        constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
        std::uint64_t mixed = (shape[0] ^ shape[1] * odd) * odd;
        return mixed >> 40;
    }

    Disassembler disassembler_;
    std::array<Entry, 4096> entries_{};
};

} // namespace dt::x86
