// SPDX-License-Identifier: MIT
// What fasttrap must know about an instruction set.
//
// Chosen by value, so that a test can decode one machine's bytes on another. Every arch
// compiles on every machine; only reading the registers of a live thread
// (arch/<machine>/user_regs.hpp) belongs to the machine that we run on.
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

// What an indirect jump was found to be by the instructions before it.
struct IndirectJump {
    enum Kind : std::uint8_t { tail_call, table, unresolved } kind = tail_call;
    TargetAddr table_at;
    std::uint8_t entry_size = 0; // 4: signed, relative to table_at; 8: addresses
    std::uint32_t n_entries = 0; // by the bound check, 0 when none was found
};

// An instruction as a sweep over millions of them sees it.
struct Glance {
    enum Trait : std::uint16_t {
        branch = 1 << 0,         // may go to the next instruction + displacement
        ends = 1 << 1,           // does not go on to the next instruction
        padding = 1 << 2,        // does nothing, or traps: what fills gaps
        landing = 1 << 3,        // marks a place that indirect branches may go to
        address = 1 << 4,        // names the address next instruction + displacement
        constant = 1 << 5,       // names value
        indexed_load = 1 << 6,   // of what could be a table of addresses or offsets
        jump_table = 1 << 7,     // jumps through such a table
        jump_register = 1 << 8,  // jumps through a register or a pointer
        takes_address = 1 << 9,  // address is loaded itself, not what is there
        loads_8_bytes = 1 << 10, // from address, and nothing more
    };
    std::uint8_t length = 0; // 0: no instruction
    std::uint16_t traits = 0;
    std::int32_t displacement = 0;
    std::uint32_t value = 0;

    bool is(Trait trait) const { return (traits & trait) != 0; }
};

// What a window may do with an instruction.
struct Moving {
    enum How : std::uint8_t {
        anywhere, // in a window
        last,     // as its last instruction: a call, whose return address is the end
        ends,  // as its last instruction, and nothing behind it is reached: a jump, ret
        stays, // only outside of windows: endbr64
        refused,
    } how = refused;
    std::string_view reason;    // of stays and refused, a literal
    std::uint8_t max_bytes = 0; // of the relocated sequence
};

// How to leave a relocated sequence or a head or tail: see PatchPlace.
struct Leaving {
    TargetAddr on;
    std::uint8_t rsp_add = 0;
    bool rbx_on_stack = false;
};

struct Arch {
    std::string_view name;              // as `uname -m` prints it
    std::span<const std::uint8_t> trap; // the shortest breakpoint instruction

    // The instruction at the start of text, which may be longer than it (15 bytes
    // always suffice). Code::corrupt when the bytes are no instruction,
    // Code::unsupported when they are one whose length or meaning cannot be trusted;
    // the text says which. Any thread.
    Result<Instruction> (*decode)(std::span<const std::byte> text, TargetAddr at);

    // The same instruction at a glance: its length and where it may go, by its format
    // alone. Bytes that are no instruction may get a length.
    Glance (*glance)(std::span<const std::byte> text);

    // How to run it displaced. Total: what cannot be run is refused by name.
    Displaced (*plan_displaced)(const Instruction& insn);

    // After Emulation::fault; never refused.
    Displaced (*plan_after_fault)(const Instruction& insn, const MemoryFault& fault);

    // The instruction's effect, rip included. Nothing is changed unless the outcome is
    // done. cannot: plan_displaced() did not say emulate.
    Emulation (*emulate)(const Instruction& insn, Registers& regs,
                         TargetMemory& memory);

    // code: a function from its start up to and including a jump_indirect.
    IndirectJump (*classify_jump)(std::span<const Instruction> code);

    // Returns the length of a Go function's code up to the end of its stack check.
    // Returns 0 if it has no check (NOSPLIT); such a function may have no byte left
    // below its stack pointer. text: the function, or its beginning.
    std::size_t (*stack_check_bytes)(std::span<const std::byte> text, TargetAddr at);

    // Patching with jumps: patch.hpp. Total functions, any thread.
    std::size_t jump_bytes; // of the jump over a window
    std::byte jump_prefix;  // any number of which may stand before it, for nothing
    std::size_t head_bytes;
    std::size_t tail_bytes;
    // Whether a byte, executed as an instruction's first, raises an exception in user
    // mode on every processor, whatever follows it.
    bool (*traps)(std::byte first);
    Moving (*moving)(const Instruction& insn);
    bool (*is_padding)(const Instruction& insn);
    // Appends what does there, at out.here(), what insn does at its place.
    // Code::unsupported when its data is out of reach of there.
    Result<Ok> (*relocate)(const Instruction& insn, CodeBuffer& out);
    // enter: the word that holds the runtime's address.
    void (*put_head)(std::uint32_t site, TargetAddr enter, CodeBuffer& out);
    void (*put_tail)(CodeBuffer& out);
    // A jump between places at most 2 GiB apart.
    void (*put_jump)(TargetAddr to, CodeBuffer& out);
    // offset: in the relocated sequence of insn, or in a head or tail that stands before
    // it. Nothing when no instruction starts there.
    std::optional<Leaving> (*leave_moved)(const Instruction& insn, std::size_t offset);
    std::optional<Leaving> (*leave_head)(TargetAddr insn, std::size_t offset);
    std::optional<Leaving> (*leave_tail)(TargetAddr insn, std::size_t offset);
};

extern const Arch x86_64;

} // namespace dt
