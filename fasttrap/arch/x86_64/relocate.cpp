// SPDX-License-Identifier: MIT
#include "fasttrap/arch/x86_64/relocate.hpp"

#include "fasttrap/arch/x86_64/assembler.hpp"
#include "fasttrap/arch/x86_64/decode.hpp"
#include "fasttrap/arch/x86_64/displace.hpp"
#include "fasttrap/arch/x86_64/layout.hpp"

#include <cstring>

namespace dt::x86 {

namespace {

constexpr std::size_t near_jump_bytes = 5;
constexpr std::size_t literal_bytes = 7 + 8;              // at most 7 bytes of padding
constexpr std::size_t far_jump_bytes = 6 + literal_bytes; // jmp *N(%rip)
constexpr std::size_t near_branch_bytes = 6;
constexpr std::size_t far_branch_bytes = near_branch_bytes + far_jump_bytes;
constexpr std::size_t short_jump_bytes = 2;
constexpr unsigned max_relocated_lea = 10;

std::int64_t distance(TargetAddr from, TargetAddr to)
{
    return static_cast<std::int64_t>(to - from);
}

bool near_jump_reaches(TargetAddr from, TargetAddr to)
{
    return fits_32(distance(from + near_jump_bytes, to));
}

// Returns the number of padding bytes before a literal. A literal is an 8-byte constant
// that an instruction reads from the code. It must be aligned, because unaligned reads
// fault if the program has set the flag AC.
std::uint64_t padding_at(TargetAddr at)
{
    return -at.value & 7;
}

void put_literal(CodeBuffer& out, std::uint64_t value)
{
    out.bytes.resize(out.bytes.size() + padding_at(out.here()), std::byte{0xcc});
    out.append(std::as_bytes(std::span(&value, 1)));
}

void put_any_jump(TargetAddr to, CodeBuffer& out)
{
    std::int64_t d = distance(out.here(), to);
    if (near_jump_reaches(out.here(), to)) {
        assemble(out, [&](Assembler& a) { a.jmp(a.away(d), a.T_NEAR); });
        return;
    }
    auto padding = static_cast<int>(padding_at(out.here() + 6));
    assemble(out, [&](Assembler& a) { a.jmp(a.qword[a.rip + padding]); });
    put_literal(out, to.value);
}

bool is_loop(const Instruction& insn)
{
    return operation_of(insn) == Op::loop_ || operation_of(insn) == Op::jrcxz;
}

// Writes a jcc. condition is the low four bits of its opcode.
void put_jcc(Assembler& a, unsigned condition, const void* to)
{
    using Generator = Xbyak::CodeGenerator;
    using Jcc = void (Generator::*)(const void*);
    static constexpr Jcc jccs[] = {
        &Generator::jo, &Generator::jno, &Generator::jb,  &Generator::jnb,
        &Generator::jz, &Generator::jnz, &Generator::jbe, &Generator::ja,
        &Generator::js, &Generator::jns, &Generator::jp,  &Generator::jnp,
        &Generator::jl, &Generator::jge, &Generator::jle, &Generator::jg};
    (a.*jccs[condition & 15])(to);
}

void put_branch(const Instruction& insn, CodeBuffer& out)
{
    std::int64_t d = distance(out.here(), insn.target);
    if (fits_32(d - static_cast<std::int64_t>(near_branch_bytes))) {
        assemble(out, [&](Assembler& a) { put_jcc(a, insn.condition, a.away(d)); });
        return;
    }
    CodeBuffer jump{out.here() + near_branch_bytes, {}};
    put_any_jump(insn.target, jump);
    auto over = static_cast<std::int64_t>(near_branch_bytes + jump.bytes.size());
    assemble(out, [&](Assembler& a) { put_jcc(a, insn.condition ^ 1U, a.away(over)); });
    out.append(jump.bytes);
}

// Writes a loop or jrcxz instruction. Its last byte is the displacement.
void put_loop(const Instruction& insn, CodeBuffer& out)
{
    out.append(insn.text());
    out.bytes.back() = static_cast<std::byte>(short_jump_bytes);
    CodeBuffer jump{out.here() + short_jump_bytes, {}};
    put_any_jump(insn.target, jump);
    auto over = static_cast<std::int64_t>(short_jump_bytes + jump.bytes.size());
    assemble(out, [&](Assembler& a) { a.jmp(a.away(over), a.T_SHORT); });
    out.append(jump.bytes);
}

// Returns whether value fits the sign-extended immediate of a push. Any other value is
// pushed from a literal.
bool push_takes(TargetAddr value)
{
    return value.value <= 0x7fffffff;
}

std::size_t push_bytes(TargetAddr value)
{
    return push_takes(value) ? (value.value <= 0x7f ? 2 : 5) : 6;
}

// Writes a push of value, then `jump`, then the literal if the push needs one.
void put_push_and(TargetAddr value, const CodeBuffer& jump, CodeBuffer& out)
{
    auto behind =
        static_cast<int>(jump.bytes.size() + padding_at(jump.at + jump.bytes.size()));
    assemble(out, [&](Assembler& a) {
        if (push_takes(value))
            a.push(static_cast<std::size_t>(value.value));
        else
            a.push(a.qword[a.rip + behind]);
    });
    assert(out.here() == jump.at);
    out.append(jump.bytes);
    if (!push_takes(value))
        put_literal(out, value.value);
}

Result<Ok> put_data_reference(const Instruction& insn, CodeBuffer& out)
{
    Layout layout = lay_out(insn.text());
    TargetAddr data = insn.next() + static_cast<std::uint64_t>(insn.memory.disp);
    std::int64_t d = distance(out.here() + insn.length, data);
    // With a 32-bit address size, the address wraps at 4 GiB, so a displacement can
    // reach any address.
    if (!fits_32(d) && !insn.memory.address_32)
        return Error{Code::unsupported,
                     "the moved instruction is more than 2 GiB from its data"};
    std::size_t start = out.bytes.size();
    out.append(insn.text());
    auto disp = static_cast<std::uint32_t>(d);
    std::memcpy(&out.bytes[start + layout.disp_at], &disp, sizeof disp);
    return Ok{};
}

bool is_lea(const Instruction& insn)
{
    return operation_of(insn) == Op::lea;
}

void put_address(const Instruction& insn, CodeBuffer& out)
{
    std::uint64_t value =
        insn.next().value + static_cast<std::uint64_t>(insn.memory.disp);
    if (insn.memory.address_32)
        value &= 0xffffffff;
    auto number = static_cast<int>(insn.operands[0].number);
    assemble(out, [&](Assembler& a) {
        if (insn.operands[0].size == 2)
            a.mov(Xbyak::Reg16(number), value & 0xffff);
        else if (insn.operands[0].size == 4)
            a.mov(Xbyak::Reg32(number), value & 0xffffffff);
        else
            a.mov(Xbyak::Reg64(number), value);
    });
}

// Writes a jmp with the operand of an indirect call. The push of the return address
// precedes the jmp. So if the operand is relative to rsp, adds 8 to its displacement.
Result<Ok> put_indirect_jump(const Instruction& call, CodeBuffer& out)
{
    if (call.has_memory && call.memory.base == Reg::rsp) {
        const MemoryOperand& m = call.memory;
        assemble(out, [&](Assembler& a) {
            if (m.segment != Segment::flat)
                a.db(m.segment == Segment::fs ? 0x64 : 0x65);
            Xbyak::RegExp sum = a.rsp + static_cast<std::size_t>(m.disp + 8);
            if (m.index != Reg::none)
                sum = sum + Xbyak::Reg64(static_cast<int>(m.index)) * m.scale;
            a.jmp(a.qword[sum]);
        });
        return Ok{};
    }
    Instruction jump = call;
    // Change ff /2 (call) to ff /4 (jmp).
    jump.bytes[call.modrm_at] ^= std::byte{(0x2 ^ 0x4) << 3};
    if (!call.rip_relative) {
        out.append(jump.text());
        return Ok{};
    }
    return put_data_reference(jump, out);
}

Result<Ok> put_call(const Instruction& insn, CodeBuffer& out)
{
    CodeBuffer jump{out.here() + push_bytes(insn.next()), {}};
    if (insn.flow == ControlFlow::call) {
        put_any_jump(insn.target, jump);
    } else if (Result<Ok> put = put_indirect_jump(insn, jump); !put) {
        return put.error();
    }
    put_push_and(insn.next(), jump, out);
    return Ok{};
}

Moving refuse(std::string_view reason)
{
    return {Moving::refused, reason, 0};
}

Moving moving_call(const Instruction& insn)
{
    constexpr std::uint8_t push_and_literal = 6 + literal_bytes;
    if (insn.flow == ControlFlow::call)
        return {Moving::last, {}, push_and_literal + far_jump_bytes};
    if (insn.operands[0].kind == Operand::reg && insn.operands[0].number == Reg::rsp)
        return refuse("a call to the address in %rsp cannot be moved");
    if (insn.has_memory && insn.memory.base == Reg::rsp) {
        const MemoryOperand& m = insn.memory;
        if (m.address_32 || m.disp > 0x7fffff00)
            return refuse("an indirect call through a pointer at a 32-bit address or "
                          "far above %rsp cannot be "
                          "moved");
        // The pushed return address may overwrite this word before jmp reads it.
        if (m.disp < 0 && (m.index != Reg::none || m.disp > -16))
            return refuse(
                "an indirect call through a pointer below %rsp cannot be moved");
    }
    auto with_disp32 = static_cast<std::uint8_t>(insn.length + 4);
    return {
        Moving::last, {}, static_cast<std::uint8_t>(push_and_literal + with_disp32)};
}

bool is_endbr(const Instruction& insn)
{
    return insn.opcode_map == 1 && insn.opcode == 0x1e && insn.has(prefix_rep) &&
           insn.encoding == Encoding::legacy &&
           (byte_at(insn, insn.modrm_at) & 0xfe) == 0xfa; // fa: endbr64, fb: endbr32
}

} // namespace

Moving moving(const Instruction& insn)
{
    if (std::string_view reason = refusal_of(insn); !reason.empty())
        return refuse(reason);
    if (insn.flow != ControlFlow::next && insn.flow != ControlFlow::stop &&
        operation_of(insn) == Op::unmodelled)
        return refuse(insn.flow == ControlFlow::syscall
                          ? "a system call cannot be moved"
                          : "a branch has an unsupported encoding");
    switch (insn.flow) {
    case ControlFlow::next:
        if (is_endbr(insn))
            return {Moving::stays, "endbr64 must remain where indirect branches land",
                    0};
        if (is_lea(insn) && insn.rip_relative)
            return {Moving::anywhere, {}, max_relocated_lea};
        return {Moving::anywhere, {}, insn.length};
    case ControlFlow::branch:
        if (is_loop(insn))
            return {Moving::anywhere,
                    {},
                    static_cast<std::uint8_t>(insn.length + short_jump_bytes +
                                              far_jump_bytes)};
        return {Moving::anywhere, {}, far_branch_bytes};
    case ControlFlow::jump:
        return {Moving::ends, {}, far_jump_bytes};
    case ControlFlow::jump_indirect:
    case ControlFlow::ret:
    case ControlFlow::stop: // ud2, hlt; the agent corrects the signal's address
        return {Moving::ends, {}, insn.length};
    case ControlFlow::call:
    case ControlFlow::call_indirect:
        return moving_call(insn);
    default:
        return refuse("it transfers control in a way that cannot be followed");
    }
}

// Returns whether insn is nop, xchg %ax,%ax, 0f 1f, int3, or a lea of a 64-bit register
// to itself with the displacement 0.
bool is_padding(const Instruction& insn)
{
    if (insn.encoding != Encoding::legacy)
        return false;
    if (insn.opcode_map == 1)
        return insn.opcode == 0x1f;
    if (insn.opcode == 0xcc)
        return true;
    if (insn.opcode == 0x90)
        return operation_of(insn) == Op::nop;
    return is_lea(insn) && insn.operands[0].size == 8 && insn.memory.disp == 0 &&
           insn.memory.base == insn.operands[0].number &&
           insn.memory.index == Reg::none;
}

Result<Ok> relocate(const Instruction& insn, CodeBuffer& out)
{
    switch (insn.flow) {
    case ControlFlow::call:
    case ControlFlow::call_indirect:
        return put_call(insn, out);
    case ControlFlow::jump:
        put_any_jump(insn.target, out);
        return Ok{};
    case ControlFlow::branch:
        if (is_loop(insn))
            put_loop(insn, out);
        else
            put_branch(insn, out);
        return Ok{};
    default:
        break;
    }
    if (!insn.rip_relative) {
        out.append(insn.text());
        return Ok{};
    }
    Result<Ok> put = put_data_reference(insn, out);
    if (!put && is_lea(insn)) {
        put_address(insn, out);
        return Ok{};
    }
    return put;
}

std::optional<Leaving> leave_moved(const Instruction& insn, std::size_t offset)
{
    if (offset == 0)
        return Leaving{insn.at};
    switch (insn.flow) {
    case ControlFlow::call:
    case ControlFlow::call_indirect:
        if (offset == push_bytes(insn.next()))
            return Leaving{insn.at, 8};
        return std::nullopt;
    case ControlFlow::branch:
        // For a far target, put_branch() wrote an inverted branch and then a jump to
        // the target. The thread is at this jump.
        if (!is_loop(insn))
            return offset == near_branch_bytes ? std::optional(Leaving{insn.target})
                                               : std::nullopt;
        if (offset == insn.length)
            return Leaving{insn.next()};
        if (offset == insn.length + short_jump_bytes)
            return Leaving{insn.target};
        return std::nullopt;
    default:
        return std::nullopt;
    }
}

} // namespace dt::x86
