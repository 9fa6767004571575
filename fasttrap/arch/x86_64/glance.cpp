// SPDX-License-Identifier: MIT
// Finds an instruction's length and traits with tables, about ten times as fast as
// decode().
//
//   prefixes ── opcode ──> GlanceRow { tail, traits } ── ModRM ──> length, displacement
//
// A Tail (tails.hpp) says which parts follow the opcode. For bytes that are not an
// instruction, the length is arbitrary or 0.
#include "fasttrap/arch/x86_64/glance.hpp"

#include "fasttrap/arch/x86_64/layout.hpp"
#include "fasttrap/arch/x86_64/tails.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace dt::x86 {

namespace {

struct GlanceRow {
    Tail tail = bare;
    std::uint16_t traits = 0; // set of Glance::Trait
    bool special = false;     // needs take_special()
    // Set if quick_look() can handle this opcode. It handles only instructions without
    // prefixes other than REX.
    bool simple = false;
    bool has_modrm = false;
    std::uint8_t imm_bytes = 0;
};

constexpr bool is_prefix(unsigned byte)
{
    return (byte & 0xf0) == 0x40 || byte == 0x66 || byte == 0x67 || byte == 0xf0 ||
           byte == 0xf2 || byte == 0xf3 || byte == 0x26 || byte == 0x2e ||
           byte == 0x36 || byte == 0x3e || byte == 0x64 || byte == 0x65;
}

constexpr void simplify(GlanceRow& row)
{
    switch (row.tail) {
    case imm8:
    case rel8:
    case modrm_imm8:
        row.imm_bytes = 1;
        break;
    case imm_z:
    case modrm_imm_z:
        row.traits |= Glance::constant;
        [[fallthrough]];
    case rel32:
        row.imm_bytes = 4;
        break;
    case bare:
    case modrm:
        break;
    default:
        return;
    }
    row.has_modrm =
        row.tail == modrm || row.tail == modrm_imm8 || row.tail == modrm_imm_z;
    row.simple = !row.special;
}

constexpr std::array<GlanceRow, 256> rows_of_map0 = [] {
    std::array<GlanceRow, 256> rows{};
    for (unsigned op = 0; op < 256; ++op)
        rows[op].tail = tail_of_map0(op);
    auto set = [&](unsigned op, std::uint16_t traits) { rows[op].traits = traits; };
    for (unsigned op = 0x70; op < 0x80; ++op)
        set(op, Glance::branch);
    for (unsigned op = 0xe0; op < 0xe4; ++op)
        set(op, Glance::branch);
    set(0xe8, Glance::branch);
    set(0xe9, Glance::branch | Glance::ends);
    set(0xeb, Glance::branch | Glance::ends);
    for (unsigned op : {0xc2U, 0xc3U, 0xcaU, 0xcbU, 0xcfU, 0xf4U})
        set(op, Glance::ends);
    set(0xcc, Glance::padding);
    // Opcodes that need take_special(). 62, 8f, c4 and c5 may begin EVEX, XOP or VEX.
    // 63 and 8b may load from a jump table, and 8d may compute a table's address. c7
    // may be xbegin. ff may be an indirect jump. 90 is a nop, but with REX.B an xchg.
    for (unsigned op :
         {0x62U, 0x63U, 0x8bU, 0x8dU, 0x8fU, 0x90U, 0xc4U, 0xc5U, 0xc7U, 0xffU})
        rows[op].special = true;
    for (unsigned op = 0; op < 256; ++op)
        if (!is_prefix(op) && op != 0x0f)
            simplify(rows[op]);
    return rows;
}();

constexpr std::array<GlanceRow, 256> rows_of_map1 = [] {
    std::array<GlanceRow, 256> rows{};
    for (unsigned op = 0; op < 256; ++op)
        rows[op].tail = tail_of_map1(op);
    for (unsigned op = 0x80; op < 0x90; ++op)
        rows[op].traits = Glance::branch;
    for (unsigned op :
         {0x0bU, 0xb9U, 0xffU, 0x07U, 0x35U}) // ud2, ud1, ud0, sysret, sysexit
        rows[op].traits = Glance::ends;
    rows[0x1f].traits = Glance::padding;
    rows[0x1e].special = true; // endbr64
    rows[0x78].special = true; // vmread, extrq, insertq
    for (unsigned op = 0; op < 256; ++op)
        if (op != 0x38 && op != 0x3a)
            simplify(rows[op]);
    return rows;
}();

constexpr std::array<std::uint8_t, 256> prefix_bits = [] {
    std::array<std::uint8_t, 256> bits{};
    bits[0x66] = prefix_operand_size;
    bits[0x67] = prefix_address_size;
    bits[0xf0] = prefix_lock;
    bits[0xf2] = prefix_repne;
    bits[0xf3] = prefix_rep;
    for (unsigned byte : {0x26U, 0x2eU, 0x36U, 0x3eU, 0x64U, 0x65U})
        bits[byte] = prefix_segment;
    return bits;
}();

// The number of displacement bytes for each ModRM byte, or-ed with has_sib if a SIB
// byte follows.
constexpr std::uint8_t has_sib = 0x80;
constexpr std::array<std::uint8_t, 256> modrm_tails = [] {
    std::array<std::uint8_t, 256> tails{};
    for (unsigned byte = 0; byte < 256; ++byte) {
        unsigned mod = byte >> 6;
        unsigned rm = byte & 7;
        if (mod == 3)
            continue;
        unsigned size = mod == 1 ? 1 : mod == 2 ? 4 : rm == 5 ? 4 : 0;
        tails[byte] = static_cast<std::uint8_t>(size | (rm == 4 ? has_sib : 0));
    }
    return tails;
}();

std::int32_t signed_at(const std::uint8_t* text, unsigned size)
{
    if (size == 1)
        return static_cast<std::int8_t>(*text);
    std::int32_t value = 0;
    std::memcpy(&value, text, sizeof value);
    return value;
}

// Stores the displacement in `found` if it is relative to rip. Returns the length of
// ModRM, SIB and displacement in bytes.
unsigned pass_modrm(const std::uint8_t* text, Glance& found)
{
    std::uint8_t byte = text[0];
    std::uint8_t more = modrm_tails[byte];
    unsigned size = more & 7;
    if ((byte & 0xc7) == 5) {
        found.traits |= Glance::address;
        found.displacement = signed_at(text + 1, 4);
    }
    if ((more & has_sib) == 0)
        return 1 + size;
    return 2 + (byte < 0x40 && (text[1] & 7) == 5 ? 4 : size);
}

// Handles instructions that consist of an opcode and optionally a REX prefix, ModRM and
// an immediate. About four of five instructions are of this kind. Returns length 0 for
// all other instructions.
Glance quick_look(const std::uint8_t* text)
{
    unsigned at = (text[0] & 0xf0) == 0x40 ? 1 : 0;
    const GlanceRow* row = &rows_of_map0[text[at]];
    if (text[at] == 0x0f)
        row = &rows_of_map1[text[++at]];
    ++at;
    Glance found;
    if (!row->simple)
        return found;
    found.traits = row->traits;
    if (row->has_modrm)
        at += pass_modrm(text + at, found);
    if (row->imm_bytes != 0) {
        std::int32_t value = signed_at(text + at, row->imm_bytes);
        if ((row->traits & Glance::branch) != 0)
            found.displacement = value;
        else
            found.value = static_cast<std::uint32_t>(value);
        at += row->imm_bytes;
    }
    found.length = static_cast<std::uint8_t>(at);
    return found;
}

class Glancer {
public:
    explicit Glancer(const std::uint8_t* text) : text_(text) {}

    // text_ must have at least 2 * max_insn_bytes + 2 bytes.
    Glance look()
    {
        take_prefixes();
        if (at_ >= max_insn_bytes)
            return {};
        unsigned op = text_[at_++];
        GlanceRow row = rows_of_map0[op];
        if (op == 0x0f) {
            op = text_[at_++];
            row = rows_of_map1[op];
            map_ = 1;
            if (op == 0x38 || op == 0x3a) {
                ++at_;
                row = GlanceRow{op == 0x38 ? modrm : modrm_imm8, 0, false};
                map_ = 2;
            }
        }
        found_.traits = row.traits & ~Glance::constant;
        tail_ = row.tail;
        if (row.special)
            take_special(op);
        if (tail_ == modrm || tail_ >= modrm_imm8)
            take_modrm();
        take_immediate();
        if (at_ > max_insn_bytes)
            return {};
        found_.length = static_cast<std::uint8_t>(at_);
        return found_;
    }

private:
    bool has(Prefix prefix) const { return (prefixes_ & prefix) != 0; }
    bool is_wide() const { return (rex_ & 8) != 0; }

    void take_prefixes()
    {
        for (; at_ < max_insn_bytes; ++at_) {
            std::uint8_t byte = text_[at_];
            if (prefix_bits[byte] != 0) {
                prefixes_ |= prefix_bits[byte];
                rex_ = 0;
            } else if ((byte & 0xf0) == 0x40) {
                rex_ = byte;
            } else {
                return;
            }
        }
    }

    // Handles opcodes that need more than a table row. at_ is the position after the
    // opcode byte.
    void take_special(unsigned op)
    {
        if (map_ == 1 && op == 0x78) {
            if (is_extrq_or_insertq(op, prefixes_))
                tail_ = modrm_imm16;
            return;
        }
        // 0f 1e is a nop. f3 0f 1e is endbr64 or a shadow stack instruction.
        if (map_ == 1) {
            if (!has(prefix_rep))
                found_.traits |= Glance::padding;
            else if (text_[at_] == 0xfa)
                found_.traits |= Glance::landing;
            return;
        }
        switch (op) {
        case 0x63:
        case 0x8b:
            if (is_indexed())
                found_.traits |= Glance::indexed_load;
            if (op == 0x8b && is_wide() && (text_[at_] & 0xc7) == 5)
                found_.traits |= Glance::loads_8_bytes;
            break;
        case 0x8d:
            if ((text_[at_] & 0xc7) == 5)
                found_.traits |= Glance::takes_address;
            break;
        case 0x90:
            if ((rex_ & 1) == 0)
                found_.traits |= Glance::padding;
            break;
        case 0xc7: // c7 f8 is xbegin, which branches if the transaction aborts
            if (text_[at_] == 0xf8 && !has(prefix_operand_size)) {
                tail_ = rel32;
                ++at_;
                found_.traits |= Glance::branch;
            }
            break;
        case 0xff:
            take_group5();
            break;
        default:
            take_vex(op);
            break;
        }
    }

    // Returns whether there is a SIB byte with an index that is scaled by 4 or 8.
    bool is_indexed() const
    {
        return text_[at_] < 0xc0 && (text_[at_] & 7) == 4 && text_[at_ + 1] >= 0x80 &&
               (text_[at_ + 1] >> 3 & 7) != 4;
    }

    void take_group5()
    {
        unsigned reg = text_[at_] >> 3 & 7;
        if (reg != 4 && reg != 5)
            return;
        found_.traits |= Glance::ends;
        if (reg == 4 && (text_[at_] & 0xc7) != 5)
            found_.traits |= is_indexed() ? Glance::jump_table : Glance::jump_register;
    }

    // Handles EVEX (62), XOP (8f) and VEX (c4, c5) prefixes with lay_out(). These
    // instructions are neither branches nor padding.
    void take_vex(unsigned op)
    {
        if (op == 0x8f && (text_[at_] & 0x1f) < 8)
            return; // pop
        Layout layout = lay_out(std::as_bytes(std::span(text_, max_insn_bytes)));
        found_.traits = 0;
        tail_ = bare;
        if (layout.problem != Layout::fine) {
            at_ = max_insn_bytes + 1;
            return;
        }
        if (layout.modrm_at != 0 && (text_[layout.modrm_at] & 0xc7) == 5) {
            found_.traits |= Glance::address;
            found_.displacement = signed_at(text_ + layout.disp_at, 4);
        }
        at_ = layout.length;
    }

    void take_modrm()
    {
        std::uint8_t byte = text_[at_];
        at_ += tail_ == modrm_register ? 1 : pass_modrm(text_ + at_, found_);
        if (tail_ == modrm_test8 && (byte & 0x30) != 0)
            tail_ = modrm;
        if (tail_ == modrm_test_z)
            tail_ = (byte & 0x30) != 0 ? modrm : modrm_imm_z;
    }

    void take_immediate()
    {
        bool short_operand = has(prefix_operand_size) && !is_wide();
        unsigned z = short_operand ? 2 : 4;
        switch (tail_) {
        case rel8:
            found_.displacement = signed_at(text_ + at_, 1);
            at_ += 1;
            break;
        case rel32:
            found_.displacement = signed_at(text_ + at_, 4);
            at_ += 4;
            break;
        case imm8:
        case modrm_imm8:
        case modrm_test8:
            at_ += 1;
            break;
        case imm16:
        case modrm_imm16:
            at_ += 2;
            break;
        case imm24:
            at_ += 3;
            break;
        case imm_v:
            take_constant(z, is_wide() ? 8 : z);
            break;
        case imm_z:
        case modrm_imm_z:
            take_constant(z, z);
            break;
        case moffs:
            at_ += has(prefix_address_size) ? 4 : 8;
            break;
        default:
            break;
        }
    }

    void take_constant(unsigned z, unsigned size)
    {
        if (z == 4) {
            found_.traits |= Glance::constant;
            std::memcpy(&found_.value, text_ + at_, sizeof found_.value);
        }
        at_ += size;
    }

    const std::uint8_t* text_;
    unsigned at_ = 0;
    unsigned map_ = 0;
    unsigned prefixes_ = 0;
    std::uint8_t rex_ = 0;
    Tail tail_ = bare;
    Glance found_;
};

} // namespace

Glance glance(std::span<const std::byte> text)
{
    constexpr std::size_t room = 2 * max_insn_bytes + 2; // look() may read all of it
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
    if (text.size() >= room) {
        Glance found = quick_look(bytes);
        return found.length != 0 ? found : Glancer(bytes).look();
    }
    std::array<std::uint8_t, room> padded{};
    if (!text.empty())
        std::memcpy(padded.data(), bytes, text.size());
    Glance found = Glancer(padded.data()).look();
    return found.length <= text.size() ? found : Glance{};
}

} // namespace dt::x86
