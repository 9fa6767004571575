// SPDX-License-Identifier: MIT
#include "fasttrap/arch/x86_64/layout.hpp"

#include "fasttrap/arch/x86_64/tails.hpp"

#include <algorithm>

namespace dt::x86 {

namespace {

// A position in the text. Reading beyond the end sets ran_out.
struct Cursor {
    std::span<const std::byte> text;
    std::size_t at = 0;
    bool ran_out = false;

    std::uint8_t peek(std::size_t ahead = 0)
    {
        if (at + ahead >= text.size()) {
            ran_out = true;
            return 0;
        }
        return static_cast<std::uint8_t>(text[at + ahead]);
    }
    std::uint8_t take()
    {
        std::uint8_t byte = peek();
        ++at;
        return byte;
    }
};

bool take_legacy_prefix(Cursor& in, Layout& out)
{
    unsigned prefix = 0;
    switch (in.peek()) {
    case 0x66:
        prefix = prefix_operand_size;
        break;
    case 0x67:
        prefix = prefix_address_size;
        break;
    case 0xf0:
        prefix = prefix_lock;
        break;
    case 0xf2:
        prefix = prefix_repne;
        break;
    case 0xf3:
        prefix = prefix_rep;
        break;
    case 0x26:
    case 0x2e:
    case 0x36:
    case 0x3e:
    case 0x64:
    case 0x65:
        prefix =
            (out.prefixes & prefix_segment) != 0 ? prefix_two_segments : prefix_segment;
        out.segment_byte = in.peek();
        break;
    default:
        return false;
    }
    if (in.ran_out)
        return false;
    out.prefixes |= prefix;
    ++in.at;
    return true;
}

void take_prefixes(Cursor& in, Layout& out)
{
    while (in.at < max_insn_bytes) {
        if (take_legacy_prefix(in, out)) {
            out.misplaced_rex |= out.has_rex;
            out.has_rex = false;
            continue;
        }
        std::uint8_t byte = in.peek();
        if (in.ran_out || (byte & 0xf0) != 0x40)
            break;
        out.misplaced_rex |= out.has_rex;
        out.has_rex = true;
        out.rex_at = static_cast<std::uint8_t>(in.at);
        ++in.at;
    }
    if (!out.has_rex)
        return;
    auto rex = static_cast<std::uint8_t>(in.text[out.rex_at]);
    out.w = (rex & 8) != 0;
    out.r = (rex & 4) != 0;
    out.x = (rex & 2) != 0;
    out.b = (rex & 1) != 0;
}

void take_rxb(Layout& out, std::uint8_t byte)
{
    out.r = (byte & 0x80) == 0;
    out.x = (byte & 0x40) == 0;
    out.b = (byte & 0x20) == 0;
}

// Reads a VEX, EVEX or XOP prefix, which replaces REX, the escape bytes and the
// mandatory prefix.
void take_vex(Cursor& in, Layout& out)
{
    out.vex_at = static_cast<std::uint8_t>(in.at);
    std::uint8_t first = in.take();
    std::uint8_t p0 = in.take();
    std::uint8_t p1 = p0;
    if (first == 0xc5) { // the two-byte VEX: R vvvv L pp
        out.encoding = Encoding::vex;
        out.map = 1;
        out.r = (p0 & 0x80) == 0;
    } else {
        take_rxb(out, p0);
        p1 = in.take();
        out.w = (p1 & 0x80) != 0;
        out.encoding = first == 0xc4   ? Encoding::vex
                       : first == 0x8f ? Encoding::xop
                                       : Encoding::evex;
        out.map = p0 & (first == 0x62 ? 0x07 : 0x1f);
        // In EVEX, bit 3 of the first byte after 62 must be 0, and bit 2 of the second
        // byte must be 1. Other values denote later extensions.
        if (first == 0x62 && ((p0 & 0x08) != 0 || (p1 & 0x04) == 0))
            out.problem = Layout::unknown_map;
    }
    if (first == 0x62)
        in.take();
    out.vvvv = static_cast<std::uint8_t>(~p1 >> 3 & 0x0f);

    bool known = out.encoding == Encoding::xop ? out.map >= 8 && out.map <= 10
                 : out.encoding == Encoding::evex
                     ? out.map >= 1 && out.map <= 6 && out.map != 4
                     : out.map >= 1 && out.map <= 3;
    if (!known)
        out.problem = Layout::unknown_map;
}

bool is_vex(Cursor& in)
{
    switch (in.peek()) {
    case 0xc4:
    case 0xc5:
    case 0x62:
        return true;
    case 0x8f: // XOP if these bits, its map, are at least 8; otherwise pop
        return (in.peek(1) & 0x1f) >= 8;
    default:
        return false;
    }
}

void take_opcode(Cursor& in, Layout& out)
{
    if (is_vex(in)) {
        take_vex(in, out);
    } else if (in.peek() == 0x0f) {
        ++in.at;
        out.map = in.peek() == 0x38 ? 2 : in.peek() == 0x3a ? 3 : 1;
        if (out.map != 1)
            ++in.at;
    }
    out.opcode_at = static_cast<std::uint8_t>(in.at);
    out.opcode = in.take();
}

Tail tail_of(const Layout& out)
{
    if (out.encoding != Encoding::legacy)
        return tail_of_vex(out.map, out.opcode);
    switch (out.map) {
    case 0:
        return tail_of_map0(out.opcode);
    case 1:
        return is_extrq_or_insertq(out.opcode, out.prefixes) ? modrm_imm16
                                                             : tail_of_map1(out.opcode);
    case 2:
        return modrm;
    default:
        return modrm_imm8;
    }
}

// Reads ModRM, SIB and displacement. Returns the reg field of ModRM.
unsigned take_modrm(Cursor& in, Layout& out, Tail tail)
{
    out.modrm_at = static_cast<std::uint8_t>(in.at);
    std::uint8_t byte = in.take();
    unsigned mod = byte >> 6;
    unsigned rm = byte & 7;
    if (mod == 3 || tail == modrm_register)
        return byte >> 3 & 7;
    unsigned base = rm;
    if (rm == 4)
        base = in.take() & 7;
    unsigned size = mod == 1 ? 1 : mod == 2 || base == 5 ? 4 : 0;
    out.disp_at = static_cast<std::uint8_t>(in.at);
    out.disp_size = static_cast<std::uint8_t>(size);
    in.at += size;
    return byte >> 3 & 7;
}

unsigned imm_size_of(const Layout& out, Tail tail, unsigned reg)
{
    bool short_operand = (out.prefixes & prefix_operand_size) != 0 && !out.w;
    unsigned z = short_operand ? 2 : 4;
    switch (tail) {
    case imm8:
    case rel8:
    case modrm_imm8:
        return 1;
    case imm16:
    case modrm_imm16:
        return 2;
    case imm24:
        return 3;
    case rel32:
        return 4;
    case imm_z:
    case modrm_imm_z:
        return z;
    case imm_v:
        return out.w ? 8 : z;
    case moffs:
        return (out.prefixes & prefix_address_size) != 0 ? 4 : 8;
    case modrm_test8:
        return reg < 2 ? 1 : 0;
    case modrm_test_z:
        return reg < 2 ? z : 0;
    default:
        return 0;
    }
}

} // namespace

Layout lay_out(std::span<const std::byte> text)
{
    Layout out;
    Cursor in{text.first(std::min(text.size(), max_insn_bytes))};
    take_prefixes(in, out);
    take_opcode(in, out);
    Tail tail = tail_of(out);
    unsigned reg = 0;
    if (tail == modrm || tail >= modrm_imm8)
        reg = take_modrm(in, out, tail);
    unsigned imm_size = out.encoding == Encoding::xop && out.map == 10
                            ? 4
                            : imm_size_of(out, tail, reg);
    out.imm_at = static_cast<std::uint8_t>(in.at);
    out.imm_size = static_cast<std::uint8_t>(imm_size);
    in.at += imm_size;

    if (in.ran_out || in.at > in.text.size())
        out.problem =
            text.size() < max_insn_bytes ? Layout::too_short : Layout::too_long;
    out.length = static_cast<std::uint8_t>(std::min(in.at, max_insn_bytes));
    if (out.w)
        out.prefixes |= prefix_rex_w;
    return out;
}

} // namespace dt::x86
