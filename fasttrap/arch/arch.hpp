// SPDX-License-Identifier: MIT
// Describes an instruction set to the other parts of fasttrap.
//
// An Arch is a value, and every Arch compiles on every machine. So a test can decode
// one machine's bytes on another machine. Only arch/<machine>/user_regs.hpp depends on
// the machine that dtrace runs on. It reads the registers of a live thread.
#pragma once

#include "base/result.hpp"
#include "base/target_addr.hpp"
#include "fasttrap/code_buffer.hpp"
#include "fasttrap/displaced.hpp"
#include "fasttrap/instruction.hpp"
#include "fasttrap/memory.hpp"
#include "fasttrap/registers.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace dt {

// The kind of an indirect jump, as determined from the instructions before it.
struct IndirectJump {
    enum Kind : std::uint8_t { tail_call, table, unresolved } kind = tail_call;
    TargetAddr table_at;
    // Size of an entry in bytes. Entries of 4 bytes are signed offsets from table_at.
    // Entries of 8 bytes are addresses.
    std::uint8_t entry_size = 0;
    std::uint32_t n_entries = 0; // from the bound check; 0 if no check was found
};

// A summary of an instruction, for a sweep over millions of instructions.
struct Glance {
    enum Trait : std::uint16_t {
        branch = 1 << 0,         // may continue at (next instruction + displacement)
        ends = 1 << 1,           // never continues at the next instruction
        padding = 1 << 2,        // has no effect, or traps; used to fill gaps
        landing = 1 << 3,        // marks a target of indirect branches
        address = 1 << 4,        // refers to (next instruction + displacement)
        constant = 1 << 5,       // contains the constant `value`
        indexed_load = 1 << 6,   // loads from a possible table of addresses or offsets
        jump_table = 1 << 7,     // jumps through a possible table of addresses
        jump_register = 1 << 8,  // jumps through a register, or memory without an index
        takes_address = 1 << 9,  // loads `address` itself into a register (lea)
        loads_8_bytes = 1 << 10, // loads 8 bytes from `address` into a register (mov)
    };
    std::uint8_t length = 0; // 0 if this is not an instruction
    std::uint16_t traits = 0;
    std::int32_t displacement = 0;
    std::uint32_t value = 0;

    bool is(Trait trait) const { return (traits & trait) != 0; }
};

// The positions in a window at which an instruction is allowed.
struct Moving {
    enum How : std::uint8_t {
        anywhere, // anywhere in a window
        last,     // only at the end: a call, which returns to the end of the window
        ends,     // only at the end: a jump or ret, which never falls through
        stays,    // only outside windows: endbr64
        refused,
    } how = refused;
    std::string_view reason;    // for stays and refused; a string literal
    std::uint8_t max_bytes = 0; // upper bound of the size of the relocated code
};

// Describes how to move a thread out of relocated code, a head or a tail (see
// PatchPlace).
struct Leaving {
    TargetAddr on;
    std::uint8_t rsp_add = 0;
    bool rbx_on_stack = false;
};

struct Arch {
    std::string_view name;              // as `uname -m` prints it
    std::span<const std::uint8_t> trap; // the shortest breakpoint instruction

    // Decodes the instruction at the start of text. 15 bytes of text are always enough.
    // Returns Code::corrupt if the bytes are not an instruction. Returns
    // Code::unsupported if the length or meaning is not certain. Thread-safe.
    Result<Instruction> (*decode)(std::span<const std::byte> text, TargetAddr at);

    // Determines an instruction's length and traits from its format alone. May return a
    // length for bytes that are not a valid instruction.
    Glance (*glance)(std::span<const std::byte> text);

    // Plans how to run insn after a breakpoint or a jump has replaced it. If that is
    // impossible, `how` is `refused`, and `reason` says why.
    Displaced (*plan_displaced)(const Instruction& insn);

    // Plans how to run insn after emulate() has returned the outcome `fault`. Never
    // refuses.
    Displaced (*plan_after_fault)(const Instruction& insn, const MemoryFault& fault);

    // Applies the effect of insn to regs, including rip, and to memory. Changes regs
    // and memory only if the outcome is `done`. The outcome is `cannot` if
    // plan_displaced() did not choose `emulate`.
    Emulation (*emulate)(const Instruction& insn, Registers& regs,
                         TargetMemory& memory);

    // Classifies the indirect jump that ends `code`. `code` begins at the function's
    // start.
    IndirectJump (*classify_jump)(std::span<const Instruction> code);

    // Returns the length of a Go function's code up to the end of its stack check.
    // Returns 0 if the function has no check (NOSPLIT). A function without a check may
    // have no free byte below the stack pointer. text is the function, or its
    // beginning.
    std::size_t (*stack_check_bytes)(std::span<const std::byte> text, TargetAddr at);

    // The remaining members are for patches (patch.hpp). The functions among them are
    // thread-safe.
    std::size_t jump_bytes; // length of the jump that replaces a window
    std::byte jump_prefix;  // redundant prefix; any number of them may precede a jump
    std::size_t head_bytes;
    std::size_t tail_bytes;
    // Returns whether every instruction with this first byte raises an exception in
    // user mode, on every processor.
    bool (*traps)(std::byte first);
    Moving (*moving)(const Instruction& insn);
    bool (*is_padding)(const Instruction& insn);
    // Appends code that has the same effect at out.here() as insn at its own address.
    // Returns Code::unsupported if insn's data is too far from out.here().
    Result<Ok> (*relocate)(const Instruction& insn, CodeBuffer& out);
    // Appends a head. The word at the address `enter` holds the address of dt_rt_enter.
    void (*put_head)(std::uint32_t site, TargetAddr enter, CodeBuffer& out);
    void (*put_tail)(CodeBuffer& out);
    // Appends a jump to an address that is at most 2 GiB away.
    void (*put_jump)(TargetAddr to, CodeBuffer& out);
    // These functions return how to move a thread out of a trampoline. The thread is at
    // `offset` in the relocated code of insn, or in the head or tail before it. They
    // return nullopt if no instruction starts at this offset.
    std::optional<Leaving> (*leave_moved)(const Instruction& insn, std::size_t offset);
    std::optional<Leaving> (*leave_head)(TargetAddr insn, std::size_t offset);
    std::optional<Leaving> (*leave_tail)(TargetAddr insn, std::size_t offset);
};

extern const Arch x86_64;

} // namespace dt
