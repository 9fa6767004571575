// SPDX-License-Identifier: MIT
// Decodes bytes to an Instruction, in three steps.
//
//   lay_out()     applies the rules of the format to find the parts and the length
//   capstone      reports whether the bytes are an instruction, how long it is, and
//                 which registers it uses
//   opcodes.hpp   has a row for each modelled instruction, with its operands and its
//                 flow
//
// The lengths from lay_out() and capstone must agree, because a copy of the wrong
// length would execute unrelated bytes. Vector instructions that capstone 4 does not
// support are accepted as unmodelled instructions that read and write all general
// registers. The format of VEX and EVEX determines their length.
#include "fasttrap/arch/x86_64/decode.hpp"

#include "fasttrap/arch/x86_64/layout.hpp"
#include "fasttrap/arch/x86_64/memo.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace dt::x86 {

namespace {

struct Row {
    Op op = Op::unmodelled;
    Form form = Form::none;
    Size size = Size::b;
};

struct RefusedRow {
    std::int16_t whole_modrm = -1;
    ControlFlow flow = ControlFlow::next;
    std::string_view reason;
};

// A table indexed by map (0 or 1), opcode and ModRM.reg.
template <class T> using ByOpcode = std::array<std::array<std::array<T, 8>, 256>, 2>;

template <class T>
void fill(ByOpcode<T>& table, unsigned map, unsigned first, unsigned count, int ext,
          T row)
{
    for (unsigned op = first; op < first + count; ++op) {
        for (int reg = 0; reg < 8; ++reg) {
            if (ext < 0 || ext == reg)
                table[map][op][static_cast<std::size_t>(reg)] = row;
        }
    }
}

const ByOpcode<Row>& rows()
{
    static const ByOpcode<Row> table = [] {
        ByOpcode<Row> t{};
#define X(map, first, count, ext, op, form, size)                                      \
    fill(t, map, first, count, ext, Row{Op::op, Form::form, Size::size});
        X86_OPCODES(X)
#undef X
        return t;
    }();
    return table;
}

const ByOpcode<RefusedRow>& refused_rows()
{
    static const ByOpcode<RefusedRow> table = [] {
        ByOpcode<RefusedRow> t{};
#define X(map, first, count, ext, modrm, flow, reason)                                 \
    fill(t, map, first, count, ext, RefusedRow{modrm, ControlFlow::flow, reason});
        X86_REFUSED(X)
#undef X
        return t;
    }();
    return table;
}

std::int64_t signed_at(std::span<const std::byte> text, unsigned at, unsigned size)
{
    std::uint64_t raw = 0;
    std::memcpy(&raw, text.data() + at, size);
    if (size == 0 || size == 8)
        return static_cast<std::int64_t>(raw);
    unsigned shift = 64 - size * 8;
    return static_cast<std::int64_t>(raw << shift) >> shift;
}

Reg reg_number(unsigned low, bool high)
{
    return static_cast<Reg>(low | (high ? 8U : 0U));
}

void fill_memory(const Layout& layout, Instruction& insn)
{
    unsigned modrm = byte_at(insn, layout.modrm_at);
    unsigned mod = modrm >> 6;
    unsigned rm = modrm & 7;
    MemoryOperand& memory = insn.memory;
    insn.has_memory = true;
    memory.address_32 = insn.has(prefix_address_size);
    memory.segment = layout.segment_byte == 0x64   ? Segment::fs
                     : layout.segment_byte == 0x65 ? Segment::gs
                                                   : Segment::flat;
    memory.disp = signed_at(insn.bytes, layout.disp_at, layout.disp_size);
    if (mod == 0 && rm == 5) {
        insn.rip_relative = true;
        return;
    }
    if (rm != 4) {
        memory.base = reg_number(rm, layout.b);
        return;
    }
    unsigned sib = byte_at(insn, layout.modrm_at + 1U);
    if ((sib & 7) != 5 || mod != 0)
        memory.base = reg_number(sib & 7, layout.b);
    Reg index = reg_number(sib >> 3 & 7, layout.x);
    if (index != Reg::rsp) {
        memory.index = index;
        memory.scale = static_cast<std::uint8_t>(1U << (sib >> 6));
    }
}

// Sets the operands of a modelled instruction, in the order that its Form specifies.
class Operands {
public:
    Operands(const Layout& layout, Instruction& insn, unsigned size)
        : layout_(layout), insn_(insn), size_(size)
    {
    }

    void fill(Form form)
    {
        switch (form) {
        case Form::none:
        case Form::rel:
            break;
        case Form::rm:
            rm(size_);
            break;
        case Form::rm_reg:
            rm(size_);
            reg();
            break;
        case Form::reg_rm:
        case Form::reg_mem:
            reg();
            rm(size_);
            break;
        case Form::rm_imm:
            rm(size_);
            imm();
            break;
        case Form::rm_one:
            rm(size_);
            add({Operand::imm, 1, Reg::none});
            insn_.immediate = 1;
            break;
        case Form::reg_rm1:
            reg();
            rm(1);
            break;
        case Form::reg_rm2:
            reg();
            rm(2);
            break;
        case Form::reg_rm4:
            reg();
            rm(4);
            break;
        case Form::acc_imm:
            general(0, false, size_);
            imm();
            break;
        case Form::low:
            general(layout_.opcode & 7, layout_.b, size_);
            break;
        case Form::low_imm:
            general(layout_.opcode & 7, layout_.b, size_);
            imm();
            break;
        case Form::acc_low:
            general(0, false, size_);
            general(layout_.opcode & 7, layout_.b, size_);
            break;
        case Form::imm:
            imm();
            break;
        }
    }

private:
    void add(Operand operand) { insn_.operands[insn_.n_operands++] = operand; }

    void general(unsigned low, bool high, unsigned size)
    {
        // Without a REX prefix, byte registers 4..7 are the high bytes of registers
        // 0..3.
        bool high_byte = size == 1 && !layout_.has_rex && low >= 4;
        add({high_byte ? Operand::high_byte : Operand::reg,
             static_cast<std::uint8_t>(size),
             reg_number(high_byte ? low - 4 : low, high)});
    }
    unsigned modrm() const { return byte_at(insn_, layout_.modrm_at); }
    void reg() { general(modrm() >> 3 & 7, layout_.r, size_); }
    void rm(unsigned size)
    {
        if (insn_.has_memory)
            add({Operand::mem, static_cast<std::uint8_t>(size), Reg::none});
        else
            general(modrm() & 7, layout_.b, size);
    }
    void imm()
    {
        add({Operand::imm, layout_.imm_size, Reg::none});
        insn_.immediate = signed_at(insn_.bytes, layout_.imm_at, layout_.imm_size);
    }

    const Layout& layout_;
    Instruction& insn_;
    unsigned size_;
};

ControlFlow flow_of(Op op)
{
    switch (op) {
    case Op::call:
        return ControlFlow::call;
    case Op::call_rm:
        return ControlFlow::call_indirect;
    case Op::jmp:
        return ControlFlow::jump;
    case Op::jmp_rm:
        return ControlFlow::jump_indirect;
    case Op::jcc:
    case Op::loop_:
    case Op::jrcxz:
        return ControlFlow::branch;
    case Op::ret:
        return ControlFlow::ret;
    default:
        return ControlFlow::next;
    }
}

constexpr std::uint16_t bits_of(std::initializer_list<Reg> regs)
{
    unsigned bits = 0;
    for (Reg reg : regs)
        bits |= 1U << static_cast<unsigned>(reg);
    return static_cast<std::uint16_t>(bits);
}
constexpr std::uint16_t syscall_reads =
    bits_of({Reg::rax, Reg::rdi, Reg::rsi, Reg::rdx, Reg::r10, Reg::r8, Reg::r9});
constexpr std::uint16_t syscall_writes = bits_of({Reg::rax, Reg::rcx, Reg::r11});

// Returns whether an instruction that matches the row is modelled. Checks prefixes that
// change the meaning, and encodings that share an opcode with another instruction.
bool is_modelled(const Row& row, const Layout& layout, const Instruction& insn)
{
    bool has_repeat = (layout.prefixes & (prefix_rep | prefix_repne)) != 0;
    bool short_operand = insn.has(prefix_operand_size) && !layout.w;
    if (insn.has(prefix_lock) || layout.misplaced_rex)
        return false;
    if (row.op == Op::nop &&
        layout.opcode == 0x1e) // f3 0f 1e is endbr, rdssp or reserved
        return !has_repeat || byte_at(insn, layout.modrm_at) == 0xfa;
    if (row.op == Op::nop || row.size == Size::near)
        return true;
    if (has_repeat || (row.size == Size::q && short_operand))
        return false;
    if (row.form == Form::reg_mem)
        return insn.has_memory;
    if (row.form == Form::reg_rm4)
        return layout.w;
    if (row.op == Op::bswap)
        return !short_operand;
    if (row.op == Op::pop || row.op == Op::xchg)
        return !insn.has_memory;
    return true;
}

void fill_meaning(const Layout& layout, Instruction& insn)
{
    if (layout.encoding != Encoding::legacy || layout.map > 1)
        return;
    unsigned ext = layout.modrm_at != 0 ? byte_at(insn, layout.modrm_at) >> 3 & 7U : 0;
    const RefusedRow& refused = refused_rows()[layout.map][layout.opcode][ext];
    if (!refusal_of(insn).empty() && !refused.reason.empty()) {
        insn.flow = refused.flow;
        return;
    }
    if (layout.map == 1 && layout.opcode == 0x05) {
        insn.flow = ControlFlow::syscall;
        insn.reads = syscall_reads; // capstone does not report these registers
        insn.writes = syscall_writes;
        return;
    }
    const bool is_ud2 = layout.map == 1 && layout.opcode == 0x0b;
    const bool is_hlt = layout.map == 0 && layout.opcode == 0xf4;
    if (is_ud2 || is_hlt) {
        insn.flow = ControlFlow::stop;
        return;
    }
    Row row = rows()[layout.map][layout.opcode][ext];
    if (layout.map == 0 && layout.opcode == 0x90 && !layout.b)
        row = Row{Op::nop, Form::none, Size::b};
    if (row.op == Op::unmodelled)
        return;
    insn.flow = flow_of(row.op);
    if (!is_modelled(row, layout, insn))
        return;
    insn.operation = static_cast<std::uint16_t>(row.op);
    insn.condition = layout.opcode & 0x0f;
    unsigned size = row.size == Size::b             ? 1
                    : row.size != Size::v           ? 8
                    : layout.w                      ? 8
                    : insn.has(prefix_operand_size) ? 2
                                                    : 4;
    if (row.form == Form::rel)
        insn.target = insn.next() + static_cast<std::uint64_t>(signed_at(
                                        insn.bytes, layout.imm_at, layout.imm_size));
    Operands(layout, insn, size).fill(row.form);
    if (row.form == Form::none) // implied operands also have a size
        insn.operands[0].size = static_cast<std::uint8_t>(size);
}

// Returns whether the instruction may be too new for capstone. For these instructions,
// lay_out() is known to compute the correct length.
bool is_newer(const Layout& layout, const Instruction& insn)
{
    constexpr unsigned mandatory =
        prefix_operand_size | prefix_rep | prefix_repne | prefix_lock;
    unsigned prefix = insn.prefixes & mandatory;
    if (layout.encoding != Encoding::legacy)
        return prefix == 0 && !layout.has_rex;
    unsigned modrm = layout.modrm_at != 0 ? byte_at(insn, layout.modrm_at) : 0;
#define X(map_, opcode_, first, last, prefix_)                                         \
    if (layout.map == (map_) && layout.opcode == (opcode_) && prefix == (prefix_) &&   \
        modrm - (first) <= (last) - (first))                                           \
        return true;
    X86_NEWER(X)
#undef X
    return false;
}

Result<Instruction> refuse(Code code, const char* why)
{
    return Error{code, why};
}

} // namespace

std::string_view refusal_of(const Instruction& insn)
{
    if (insn.has(prefix_two_segments))
        return "the instruction has two segment prefixes";
    if (insn.encoding != Encoding::legacy || insn.opcode_map > 1)
        return {};
    unsigned modrm = insn.modrm_at != 0 ? byte_at(insn, insn.modrm_at) : 0;
    const RefusedRow& row =
        refused_rows()[insn.opcode_map][insn.opcode][modrm >> 3 & 7];
    if (row.reason.empty() ||
        (row.whole_modrm >= 0 && unsigned(row.whole_modrm) != modrm))
        return {};
    return row.reason;
}

Result<Instruction> decode(std::span<const std::byte> text, TargetAddr at)
{
    Layout layout = lay_out(text);
    if (layout.problem == Layout::too_short)
        return refuse(Code::corrupt, "the code ends within the instruction");
    if (layout.problem == Layout::too_long)
        return refuse(Code::corrupt, "the instruction is longer than 15 bytes");
    if (layout.problem == Layout::unknown_map)
        return refuse(Code::unsupported, "the instruction has an unknown opcode map");

    Instruction insn;
    insn.at = at;
    insn.length = layout.length;
    std::copy_n(text.begin(), layout.length, insn.bytes.begin());
    insn.prefixes = layout.prefixes;
    insn.encoding = layout.encoding;
    insn.opcode_map = layout.map;
    insn.opcode = layout.opcode;
    insn.opcode_at = layout.opcode_at;
    insn.modrm_at = layout.modrm_at;
    bool fixed_register = layout.encoding == Encoding::legacy && layout.map == 1 &&
                          layout.opcode >= 0x20 && layout.opcode <= 0x27;
    if (layout.modrm_at != 0 && byte_at(insn, layout.modrm_at) >> 6 != 3 &&
        !fixed_register)
        fill_memory(layout, insn);

    thread_local Memo memo;
    std::optional<Disassembler::Found> found = memo.decode(layout, insn);
    if (!found) {
        if (!is_newer(layout, insn))
            return refuse(Code::corrupt, "the bytes are not a known instruction");
        insn.reads = insn.writes = 0xffff;
        return insn;
    }
    // A refused instruction never runs as a copy, so a wrong length does not matter.
    if (found->length != layout.length && refusal_of(insn).empty())
        return refuse(Code::unsupported,
                      "two decoders disagree on the length of the instruction");
    insn.reads = found->reads;
    insn.writes = found->writes;
    fill_meaning(layout, insn);
    if (insn.flow != ControlFlow::next && insn.has(prefix_operand_size) && !layout.w &&
        insn.flow != ControlFlow::stop && insn.flow != ControlFlow::other &&
        insn.flow != ControlFlow::syscall)
        return refuse(Code::unsupported,
                      "the operand size of this near branch depends on the processor");
    // AMD processors execute "repne loope" as loopne, Intel processors as loope.
    bool is_loop_by_flag = operation_of(insn) == Op::loop_ && insn.opcode != 0xe2;
    if (is_loop_by_flag && (insn.has(prefix_rep) || insn.has(prefix_repne)))
        return refuse(
            Code::unsupported,
            "the meaning of this loop's repeat prefix depends on the processor");
    return insn;
}

} // namespace dt::x86
