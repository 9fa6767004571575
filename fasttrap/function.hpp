// SPDX-License-Identifier: MIT
// The probe sites of a function: where its instructions start and where it returns.
//
// The text is decoded from the first byte to the last. Indirect jumps are then told
// apart:
//
//   jump table   a bound check, a table whose address the code forms, a jump through an
//                entry: the targets are inside the function, so it is no return.
//                Entries that lie between instructions are data in text and are taken
//                out again.
//   tail call    every other indirect jump whose address does not come out of an
//                indexed table: jmp *%rax, jmp *8(%rax), jmp *got(%rip)
//   unresolved   it comes out of an indexed table (computed goto) that could not be read
//
// The last two are guesses: a computed goto without an index looks like a tail call. A
// return probe therefore has a site at both and decides when the jump is about to run.
// The destination is known then, and the jump is a return if it leads out of the
// function.
//
// An entry probe needs none of this: it decodes one instruction. `endbr64` needs no
// special place either, a breakpoint on it is taken after the landing was checked.
#pragma once

#include "base/result.hpp"
#include "base/target_addr.hpp"
#include "fasttrap/arch/arch.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace dt {

// Reads the module that the function belongs to (jump tables live in its .rodata), in
// the addresses that the function was given in. False when they are not all mapped.
using ReadModule = std::function<bool(TargetAddr from, std::span<std::byte> into)>;

struct ReturnSite {
    enum Kind : std::uint8_t {
        ret,           // ret, ret n, rep ret
        tail_jump,     // jmp out of the function
        tail_branch,   // jcc or loop out of the function: returns when it is taken
        tail_indirect, // jmp through a register or memory; perhaps a tail call
        unresolved,    // jmp through an entry of a table that could not be read
    } kind = ret;
    std::uint32_t offset = 0;
    TargetAddr
        target; // of tail_jump and tail_branch; a cold part of the function is one
};

struct JumpTable {
    std::uint32_t jump = 0; // offset of the indirect jump
    TargetAddr table;
    std::uint32_t n_entries = 0;
    std::vector<std::uint32_t> targets; // offsets, ascending, each once
};

struct FunctionSites {
    std::vector<std::uint32_t> instructions; // offsets, ascending
    std::vector<ReturnSite> returns;         // ascending
    std::vector<JumpTable> tables;
    std::vector<std::uint32_t> unresolved_jumps; // offsets of indirect jumps
    std::vector<std::uint32_t> undecodable;      // offsets of bytes that are no code

    // Nothing in it is doubtful: every offset in instructions is an instruction for
    // sure.
    bool exact() const { return undecodable.empty() && unresolved_jumps.empty(); }
    bool is_boundary(std::uint32_t offset) const;
};

// Code::invalid for an empty function or one of more than 4 MiB. Undecodable bytes are
// no error: they are reported in the sites. Bounded by
// the text's size; tables are read up to 4096 entries.
Result<FunctionSites> analyze_function(const Arch& arch,
                                       std::span<const std::byte> text, TargetAddr at,
                                       const ReadModule& read = {});

} // namespace dt
