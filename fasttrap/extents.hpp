// SPDX-License-Identifier: MIT
// Finds which bytes around an instruction may be moved.
//
//   text ──sweep()──▶ targets of jumps, branches, calls   ─┐
//                     addresses in code (lea, $imm)        ├─▶ ExtentMap ──▶ [first, end)
//   symbols, unwind tables, landing pads, words of data   ─┘    of any site
//
// A jump at a site replaces several instructions, so no branch may lead to any of them
// except the first. sweep() reads the text of the module once and marks each byte that
// is a target:
//
//   - the target of a direct jump, branch or call in any function
//   - a symbol of any type, the start of a range of .eh_frame, an exception landing pad
//   - an endbr64
//   - an address in the text that occurs in an instruction or in an aligned word of
//   data
//   - an entry of a switch table of 32-bit offsets
//   - the first instruction after an instruction that never falls through, or after
//     the padding that follows such an instruction
//
// A word of data or an entry of a table is a target only if an instruction starts
// there. A target that is found by mistake only makes extents shorter.
//
// A function is doubtful if an indirect jump in it uses an unknown table. In such a
// function, each instruction after the first 16 bytes may be a target. So only the
// entry of the function has an extent of several instructions.
//
// Only bytes that are known to be code may be moved or patched (reached_code.hpp).
// These are known code:
//
//   - Instructions that the flow of control reaches from a function's start, a landing
//     pad, a branch of other code or an entry of a table.
//   - Padding between an instruction that never falls through and the next known code.
//   - The remaining instructions of a function that jumps through registers or memory,
//     and the instructions after a hlt. The function must have a size or an FDE. All of
//     its bytes must decode, its branches must lead to instructions, and no known code
//     may load from it.
//
// A probe is refused if is_code() returns false for its site. Static probes are exempt.
#pragma once

#include "fasttrap/function.hpp"
#include "fasttrap/further_blocks.hpp"
#include "fasttrap/reached_code.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace dt {

// An address where the sweep starts decoding: a symbol, the start of a range of
// .eh_frame, or a landing pad.
struct CodeStart {
    TargetAddr at;
    bool function = false; // start of a function, not a label inside one
    bool code = true;      // an instruction is there; false for a label of unknown type
};

// A function that jumps through registers or memory, and the possible addresses of its
// tables.
struct Dispatch {
    TargetAddr function, end;
    std::vector<TargetAddr> tables; // addresses that its code contains
    // Constants in its code that may also be addresses.
    std::vector<TargetAddr> constants;
    bool by_table = false; // at least one of `jumps` appears to go through a jump table
    std::vector<TargetAddr> jumps; // the function's indirect jumps
};

// A direct jump or branch within a function to its own first instruction.
struct BackToStart {
    TargetAddr function, end; // `end` is the end of the branch
    auto operator<=>(const BackToStart&) const = default;
};

// The result of a sweep over a part of a module's text.
struct Sweep {
    Sweep(TargetAddr begin, std::uint64_t n_bytes)
        : targets(begin, n_bytes), instructions(begin, n_bytes), code(begin, n_bytes)
    {
    }
    AddressSet targets;
    AddressSet instructions;
    ReachedCode code;
    std::vector<TargetAddr> named; // constants that may be addresses in the text
    std::vector<Dispatch> dispatches;
    std::vector<BackToStart> back_to_start;
    void join(Sweep&& other);
};

// Sweeps `text`, which is at address `at`, and adds the results to `into`. `starts`
// contains the code starts in `text`, in ascending order. The first one is the start of
// a function, at the beginning of `text`. Several threads may sweep parts of one
// module, each with its own `into`.
void sweep(const Arch& arch, std::span<const std::byte> text, TargetAddr at,
           std::span<const CodeStart> starts, Sweep& into);

struct Extent {
    TargetAddr first, end; // both equal the site's address if nothing may be moved
    auto operator<=>(const Extent&) const = default;
};

// Facts about a module that its text does not contain. `starts` are branch targets.
// `words` are the words of data that point into the text, in any order. `functions`
// have a size or an FDE. If `absolute` is set, constants in instructions may be
// addresses.
struct KnownCode {
    std::vector<CodeStart> starts;
    std::vector<TargetAddr> words;
    std::vector<CodeRange> functions; // in ascending order
    std::vector<CodeRange> sections;  // restartable sequences (rseq); never probed
    bool absolute = false;
};

class ExtentMap {
public:
    // `read` reads text and tables. Its addresses are relative to the same base as
    // those in `swept`. It is not called after the constructor has returned.
    ExtentMap(Sweep swept, const KnownCode& known, const ReadModule& read);
    // Returns the extent of a site at an instruction. Takes constant time.
    Extent extent(TargetAddr at) const;
    // Returns the lengths of consecutive blocks of known code. The first block begins
    // at `at`.
    FurtherBlocks blocks_from(TargetAddr at) const;
    // Returns the end of the last branch in the function to the function's first
    // instruction. Returns 0 if there is no such branch.
    TargetAddr loop_end(TargetAddr function) const;
    // Returns whether a known instruction starts at `at`. A breakpoint may be written
    // only at such an address.
    bool is_code(TargetAddr at) const { return instructions_.has(at); }
    // Returns whether `at` is in a restartable sequence, or is the last instruction
    // before one. A stop in a sequence restarts the sequence, so a probe would restart
    // it forever.
    bool is_restartable(TargetAddr at) const;
    // Returns the functions with an indirect jump whose table was not found.
    std::span<const CodeRange> doubtful() const { return doubtful_; }

private:
    // The targets of the tables of a function.
    struct Tables {
        std::vector<TargetAddr> targets;
        bool explained = false; // a table has an entry inside the function
        bool too_many = false; // too many possible base addresses; tables were not read
    };
    Tables read_tables(const Dispatch& dispatch, const ReadModule& read);
    void read_table(const Dispatch& dispatch, TargetAddr table, TargetAddr base,
                    const ReadModule& read, Tables& into);
    void explain(std::span<const Dispatch> dispatches, const AddressSet& named,
                 const KnownCode& known, const ReadModule& read);
    bool is_reached(const Dispatch& dispatch) const;
    bool has_rest_behind_hlt(CodeRange function, const TextAt& text) const;
    void take_rest(CodeRange function, bool jumps, const TextAt& text);
    void forget_chance_targets(const KnownCode& known);

    AddressSet targets_;
    AddressSet instructions_; // after the constructor, only known instructions
    ReachedCode code_;
    std::vector<TargetAddr> tables_;  // possible tables; each ends at the next table
    std::vector<CodeRange> doubtful_; // in ascending order
    std::vector<CodeRange> sections_; // in ascending order
    std::vector<BackToStart> back_to_start_; // in ascending order
};

} // namespace dt
