// SPDX-License-Identifier: MIT
// Heads, tails and jumps of x86-64 trampolines.
//
// All heads are identical except for two words, and all tails are identical. xbyak
// encodes one head and one tail. These are copied, and the two words are set in each
// copy of the head.
#include "fasttrap/arch/x86_64/trampoline.hpp"

#include "fasttrap/arch/x86_64/assembler.hpp"

#include <cstring>

namespace dt::x86 {

namespace {

constexpr int red_zone = 128;

struct Template {
    CodeBuffer code;
    std::array<std::size_t, 4> ends{}; // offset of the end of each instruction
};

const Template& head_template()
{
    static const Template made = [] {
        Template t;
        assemble(t.code, [&](Assembler& a) {
            a.lea(a.rsp, a.ptr[a.rsp - red_zone]);
            t.ends[0] = a.getSize();
            a.push(a.rbx);
            t.ends[1] = a.getSize();
            a.mov(a.ebx, 0x7fffffff);
            t.ends[2] = a.getSize();
            a.jmp(a.qword[a.rip + 0]);
            t.ends[3] = a.getSize();
        });
        assert(t.ends[3] == head_bytes);
        return t;
    }();
    return made;
}

const Template& tail_template()
{
    static const Template made = [] {
        Template t;
        assemble(t.code, [&](Assembler& a) {
            a.pop(a.rbx);
            t.ends[0] = a.getSize();
            a.lea(a.rsp, a.ptr[a.rsp + red_zone]);
            t.ends[1] = a.getSize();
        });
        assert(t.ends[1] == tail_bytes);
        return t;
    }();
    return made;
}

void put_word(CodeBuffer& out, std::size_t end, std::uint32_t word)
{
    std::memcpy(&out.bytes[end - sizeof word], &word, sizeof word);
}

} // namespace

void put_head(std::uint32_t site, TargetAddr enter, CodeBuffer& out)
{
    const Template& head = head_template();
    std::size_t start = out.bytes.size();
    out.append(head.code.bytes);
    put_word(out, start + head.ends[2], site);
    auto distance = static_cast<std::int64_t>(enter - out.here());
    assert(fits_32(distance));
    put_word(out, start + head.ends[3], static_cast<std::uint32_t>(distance));
}

void put_tail(CodeBuffer& out)
{
    out.append(tail_template().code.bytes);
}

void put_jump(TargetAddr to, CodeBuffer& out)
{
    auto distance = static_cast<std::int64_t>(to - out.here());
    assemble(out, [&](Assembler& a) { a.jmp(a.away(distance), a.T_NEAR); });
}

std::optional<Leaving> leave_head(TargetAddr insn, std::size_t offset)
{
    const Template& head = head_template();
    if (offset == 0)
        return Leaving{insn};
    if (offset == head.ends[0])
        return Leaving{insn, red_zone};
    if (offset == head.ends[1] || offset == head.ends[2])
        return Leaving{insn, red_zone + 8, true};
    return std::nullopt;
}

std::optional<Leaving> leave_tail(TargetAddr insn, std::size_t offset)
{
    if (offset == 0)
        return Leaving{insn, red_zone + 8, true};
    if (offset == tail_template().ends[0])
        return Leaving{insn, red_zone};
    return std::nullopt;
}

// Returns whether the byte is a trap byte. Trap bytes are int3, hlt, and opcodes that
// are unused in 64-bit mode (Intel SDM volume 2, appendix A; AMD APM volume 3, appendix
// A). These opcodes are not included:
//
//   - 62, c4, c5, d5, which are prefixes on newer processors: EVEX, VEX, REX2
//   - f1, which raises a debug exception
//   - cli, sti, in, out, ins and outs, which a process with iopl or ioperm may run
bool traps(std::byte first)
{
    switch (static_cast<unsigned>(first)) {
    case 0x06: // push %es
    case 0x07: // pop %es
    case 0x0e: // push %cs
    case 0x16: // push %ss
    case 0x17: // pop %ss
    case 0x1e: // push %ds
    case 0x1f: // pop %ds
    case 0x27: // daa
    case 0x2f: // das
    case 0x37: // aaa
    case 0x3f: // aas
    case 0x60: // pusha
    case 0x61: // popa
    case 0x82: // an alias of 80
    case 0x9a: // lcall
    case 0xcc: // int3
    case 0xce: // into
    case 0xd4: // aam
    case 0xd6: // salc; now documented as udb, permanently undefined
    case 0xea: // ljmp
    case 0xf4: // hlt
        return true;
    default:
        return false;
    }
}

} // namespace dt::x86
