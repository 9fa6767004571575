// SPDX-License-Identifier: MIT
// The probe sites of a function: the starts of its instructions, and its returns.
//
// analyze_function() decodes the text from the first byte to the last. Then it
// classifies each indirect jump:
//
//   jump table   The code checks a bound, forms the address of a table and jumps
//                through an entry. The targets are inside the function, so this is not
//                a return. A table between instructions is data in the text, and is
//                excluded from the instructions.
//   tail call    Any other indirect jump whose destination is not loaded from an
//                indexed table: jmp *%rax, jmp *8(%rax), jmp *got(%rip).
//   unresolved   The destination is loaded from an indexed table that could not be
//                read (computed goto).
//
// The kinds tail call and unresolved are guesses. For example, a computed goto without
// an index looks like a tail call. So a return probe has a site at each jump of these
// two kinds. The destination is known immediately before the jump runs. The probe fires
// if the destination is outside the function, or is the function's entry.
//
// An entry probe needs only the function's first instruction. An endbr64 needs no
// special case there. Linux does not enable indirect branch tracking in programs, so a
// breakpoint may replace the endbr64.
#pragma once

#include "base/result.hpp"
#include "base/target_addr.hpp"
#include "fasttrap/arch/arch.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace dt {

// Reads bytes of the module that contains the function, for example jump tables in
// .rodata. Addresses are relative to the same base as the function's address. Returns
// false if a byte is not mapped.
using ReadModule = std::function<bool(TargetAddr from, std::span<std::byte> into)>;

struct ReturnSite {
    enum Kind : std::uint8_t {
        ret,           // ret, ret n, rep ret
        tail_jump,     // a jmp out of the function
        tail_branch,   // a jcc or loop out of the function; a return if taken
        tail_indirect, // a jmp through a register or memory; perhaps a tail call
        unresolved,    // a jmp through a table that could not be read
    } kind = ret;
    std::uint32_t offset = 0;
    // Set for tail_jump and tail_branch. The target may be in a cold part of the
    // function.
    TargetAddr target;
};

struct JumpTable {
    std::uint32_t jump = 0; // offset of the indirect jump
    TargetAddr table;
    std::uint32_t n_entries = 0;
    // Offsets, in ascending order, without duplicates.
    std::vector<std::uint32_t> targets;
};

struct FunctionSites {
    std::vector<std::uint32_t> instructions; // offsets, in ascending order
    std::vector<ReturnSite> returns;         // in ascending order
    std::vector<JumpTable> tables;
    std::vector<std::uint32_t> unresolved_jumps; // offsets of indirect jumps
    std::vector<std::uint32_t> undecodable;      // offsets of bytes that do not decode

    // Returns whether it is certain that an instruction starts at each offset in
    // `instructions`.
    bool exact() const { return undecodable.empty() && unresolved_jumps.empty(); }
    bool is_boundary(std::uint32_t offset) const;
};

// Finds the sites of a function. Returns Code::invalid if the function is empty or
// longer than 4 MiB. Bytes that do not decode are not an error. Their offsets are in
// `undecodable`. The time is bounded by the size of the text. At most 4096 entries of a
// table are read.
Result<FunctionSites> analyze_function(const Arch& arch,
                                       std::span<const std::byte> text, TargetAddr at,
                                       const ReadModule& read = {});

} // namespace dt
