// SPDX-License-Identifier: MIT
// The probe sites of a function: the starts of its instructions, and its returns.
//
// analyze_function() decodes the text from the first byte to the last. Then it
// classifies each indirect jump:
//
//   jump table   The code checks a bound and jumps through an entry of a table. This is
//                not a return. A table in the text is excluded from the instructions.
//   tail call    The destination is not loaded from an indexed table: jmp *%rax,
//                jmp *8(%rax), jmp *got(%rip).
//   unresolved   The destination is loaded from an indexed table that could not be read
//                (computed goto).
//
// The kinds tail call and unresolved are guesses, so a return probe has a site at each
// such jump. The probe fires if the destination is outside the function, or is the
// function's entry.
//
// A breakpoint may replace an endbr64, because Linux does not enable indirect branch
// tracking in programs.
#pragma once

#include "base/result.hpp"
#include "base/target_addr.hpp"
#include "fasttrap/arch/arch.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace dt {

// Reads bytes of the module that contains the function. Addresses are relative to the
// same base as the function's address. Returns false if a byte is not mapped.
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
// longer than 4 MiB. Bytes that do not decode are not an error. The time is bounded by
// the size of the text. At most 4096 entries of a table are read.
Result<FunctionSites> analyze_function(const Arch& arch,
                                       std::span<const std::byte> text, TargetAddr at,
                                       const ReadModule& read = {});

} // namespace dt
