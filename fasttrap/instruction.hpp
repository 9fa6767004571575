// SPDX-License-Identifier: MIT
// The instruction model: what fasttrap knows about one machine instruction.
//
//   bytes ──Arch::decode (behind it capstone)──> Instruction ──> everything else
//
// Emulation, displacement, function analysis and, later, relocation read this and never
// ask the disassembler again. What is machine independent has a name of its own (flow,
// target, memory); `operation` is a number whose meaning belongs to the Arch that
// decoded it, 0 for an instruction that is not modelled and can only run as a copy of
// itself.
//
// Invariants
//   - length is 1..15, and bytes[0..length) are the instruction as it stands in the
//   text.
//   - target is set exactly for direct jumps, branches and calls.
//   - rip_relative means that the memory operand's address is next() + memory.disp.
//   - reads and writes name general registers by bit (1 << number), implicit ones too.
#pragma once

#include "base/target_addr.hpp"
#include "fasttrap/registers.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace dt {

inline constexpr std::size_t max_insn_bytes = 15;

// Where control goes after the instruction.
enum class ControlFlow : std::uint8_t {
    next,          // to the following instruction
    jump,          // to target
    branch,        // to target or to the following instruction
    call,          // to target, with a return address pushed
    jump_indirect, // to what a register or memory operand says
    call_indirect,
    ret,     // to what the stack says
    syscall, // to the kernel and, usually, back
    stop,    // nowhere: it raises an exception (ud2, hlt, int3, ...)
    other,   // far jumps, interrupt returns, transactions: not followed
};

// Prefix bytes that were there, whether or not they mean something to the instruction.
enum Prefix : std::uint8_t {
    prefix_operand_size = 1 << 0, // 66
    prefix_address_size = 1 << 1, // 67
    prefix_lock = 1 << 2,         // f0
    prefix_repne = 1 << 3,        // f2, also bnd
    prefix_rep = 1 << 4,          // f3
    prefix_segment = 1 << 5,      // 26 2e 36 3e 64 65; 3e is also notrack
    prefix_two_segments = 1 << 6,
    prefix_rex_w = 1 << 7,
};

enum class Encoding : std::uint8_t { legacy, vex, evex, xop };

enum class Segment : std::uint8_t { flat, fs, gs };

struct MemoryOperand {
    std::int64_t disp = 0;
    Reg base = Reg::none;
    Reg index = Reg::none;
    std::uint8_t scale = 1;
    Segment segment = Segment::flat;
    bool address_32 = false; // the sum is cut to 32 bits before the segment's base
};

struct Operand {
    enum Kind : std::uint8_t { none, reg, high_byte, imm, mem } kind = none;
    std::uint8_t size = 0;  // bytes
    Reg number = Reg::none; // reg; high_byte: ah ch dh bh as rax rcx rdx rbx
};

// There are some hundred thousand at a time: the fields stand so that they take little room.
struct Instruction {
    TargetAddr at;
    TargetAddr target;
    std::int64_t immediate = 0; // of the operand that is one, sign-extended
    MemoryOperand memory;
    std::array<std::byte, max_insn_bytes> bytes{};
    std::uint8_t length = 0;
    std::uint16_t operation = 0;
    std::uint16_t reads = 0; // of general registers
    std::uint16_t writes = 0;
    ControlFlow flow = ControlFlow::next;
    std::uint8_t condition = 0; // the low four bits of jcc, setcc, cmovcc
    std::uint8_t prefixes = 0;  // of Prefix
    Encoding encoding = Encoding::legacy;
    std::uint8_t opcode_map =
        0; // 0: one byte, 1: 0f, 2: 0f 38, 3: 0f 3a, or the VEX map
    std::uint8_t opcode = 0;
    std::uint8_t opcode_at = 0; // offset of the opcode byte within bytes
    std::uint8_t modrm_at = 0;  // offset of the ModRM byte, 0: it has none
    bool has_memory = false;    // memory is valid (a ModRM operand)
    bool rip_relative = false;
    std::uint8_t n_operands = 0;
    std::array<Operand, 3> operands{}; // of modelled operations, destination first

    TargetAddr next() const { return at + length; }
    bool has(Prefix prefix) const { return (prefixes & prefix) != 0; }
    std::span<const std::byte> text() const { return {bytes.data(), length}; }
};

} // namespace dt
