// SPDX-License-Identifier: MIT
// The instruction model: what fasttrap knows about one machine instruction.
//
//   bytes ──▶ Arch::decode(), which uses capstone ──▶ Instruction ──▶ everything else
//
// `flow`, `target` and `memory` mean the same for all machines. The number `operation`
// has a meaning only for the Arch that decoded the instruction. The number is 0 for an
// instruction that is not modelled, which can only run as a copy.
//
// Invariants
//   - length is 1..15, and bytes[0..length) is the instruction as it is in the
//     program's text.
//   - target is set for direct jumps, branches and calls, and only for them.
//   - rip_relative means that the address of the memory operand is next() +
//     memory.disp.
//   - reads and writes have one bit for each general register (1 << number), including
//     registers that the instruction uses implicitly.
#pragma once

#include "base/target_addr.hpp"
#include "fasttrap/registers.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace dt {

inline constexpr std::size_t max_insn_bytes = 15;

// How the program continues after the instruction.
enum class ControlFlow : std::uint8_t {
    next,          // continues at the following instruction
    jump,          // jumps to `target`
    branch,        // jumps to `target` or continues at the following instruction
    call,          // pushes a return address and jumps to `target`
    jump_indirect, // jumps to an address in a register or in memory
    call_indirect,
    ret,     // jumps to the address on the stack
    syscall, // enters the kernel, which usually returns to the following instruction
    stop,    // raises an exception (ud2, hlt, int3, ...)
    other,   // continues at an unknown address (far jump, iret, transaction)
};

// The prefix bytes of an instruction, whether or not they have a meaning for it.
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
    // The address is truncated to 32 bits before the segment base is added.
    bool address_32 = false;
};

struct Operand {
    enum Kind : std::uint8_t { none, reg, high_byte, imm, mem } kind = none;
    std::uint8_t size = 0;  // in bytes
    Reg number = Reg::none; // for high_byte, the full register (rax for ah)
};

// Several hundred thousand Instructions exist at a time, so the order of the fields
// avoids padding.
struct Instruction {
    TargetAddr at;
    TargetAddr target;
    std::int64_t immediate = 0; // the immediate operand, sign-extended
    MemoryOperand memory;
    std::array<std::byte, max_insn_bytes> bytes{};
    std::uint8_t length = 0;
    std::uint16_t operation = 0;
    std::uint16_t reads = 0;  // set of general registers that the instruction reads
    std::uint16_t writes = 0; // set of general registers that the instruction writes
    ControlFlow flow = ControlFlow::next;
    std::uint8_t condition = 0; // low four bits of the opcode of jcc, setcc, cmovcc
    std::uint8_t prefixes = 0;  // set of Prefix
    Encoding encoding = Encoding::legacy;
    // The opcode map. In the legacy encoding, map 0 contains the opcodes of one byte.
    // Maps 1, 2 and 3 contain the opcodes after 0f, 0f 38 and 0f 3a. In the other
    // encodings, it is the map number in the VEX, EVEX or XOP prefix.
    std::uint8_t opcode_map = 0;
    std::uint8_t opcode = 0;
    std::uint8_t opcode_at = 0; // offset of the opcode byte in `bytes`
    std::uint8_t modrm_at = 0;  // offset of the ModRM byte; 0 if there is none
    bool has_memory = false;    // a ModRM operand is in memory; `memory` describes it
    bool rip_relative = false;
    std::uint8_t n_operands = 0;
    // The operands of a modelled operation, destination first.
    std::array<Operand, 3> operands{};

    TargetAddr next() const { return at + length; }
    bool has(Prefix prefix) const { return (prefixes & prefix) != 0; }
    std::span<const std::byte> text() const { return {bytes.data(), length}; }
};

} // namespace dt
