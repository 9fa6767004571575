// SPDX-License-Identifier: MIT
// How far the bytes around an instruction may be moved.
//
//   text ──sweep()──▶ targets of jumps, branches, calls   ─┐
//                     places that code names (lea, $imm)   ├─▶ ExtentMap ──▶ [first, end)
//   symbols, unwind tables, landing pads, words of data   ─┘    of any site
//
// A jump over a site replaces several instructions, and nobody may arrive behind the
// first of them. Which places somebody may arrive at is a question about the module,
// not the function: foo.cold jumps back into foo, hand-written code jumps into its
// neighbour. So the text of the module is swept once, by format alone (Arch::glance),
// and the answer is a bit per byte. These count as targets:
//
//   - where a direct jump, branch or call of any function goes
//   - where a symbol of any type is, a range of .eh_frame starts, an exception lands
//   - endbr64, and every address of text that an instruction or an aligned word of data
//     names: pointers to functions, labels of computed gotos, switches by addresses
//   - entries of switch tables of 32-bit offsets: relative to the table, or to a label
//     that the function names
//   - what follows an instruction that does not go on, and its padding. So a run between
//     two targets is one straight line, padding at most at its end.
//
// Too many targets are harmless, they make an extent shorter. Numbers that merely look
// like addresses are kept from doing much harm: a word of data or a table's entry
// counts only when it is the start of an instruction.
//
// An indirect jump through a table that none of this explains makes its function
// doubtful: labels may be anywhere, but none in the first 16 bytes, which run before
// the code that computes them. Only an entry may be moved with what follows; elsewhere
// one instruction alone.
//
// Only bytes that are known to be code may be moved or patched (reached_code.hpp). Code
// is what the flow of control reaches from a function's start, a landing pad, a branch of
// other code or a table's entry. Padding after an instruction that does not go on counts
// when all bytes up to the next known code are padding. The remaining instructions of a
// function count as well if it jumps through registers or memory, or if they stand behind
// a hlt. For that the function must have a size or an FDE, all of its bytes must decode,
// its branches must lead to instructions, and no known code may load from it.
//
// An extent ends where the known code ends. A site where is_code() is false gets no probe,
// unless it is a static probe's.
#pragma once

#include "fasttrap/function.hpp"
#include "fasttrap/further_blocks.hpp"
#include "fasttrap/reached_code.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace dt {

// Where a sweep begins anew: a symbol, a range of .eh_frame, a landing pad.
struct CodeStart {
    TargetAddr at;
    bool function = false; // not a label inside one
    bool code = true;      // an instruction is there: not a label of unknown type
};

// A function that jumps through registers or memory, and what could be its tables.
struct Dispatch {
    TargetAddr function, end;
    std::vector<TargetAddr> tables;    // addresses that it names
    std::vector<TargetAddr> constants; // numbers, which may be addresses too
    bool by_table = false;             // a jump that is no tail call
    std::vector<TargetAddr> jumps;     // through registers or memory
};

// A direct jump or branch within a function to its own first instruction.
struct BackToStart {
    TargetAddr function, end; // of the branch
    auto operator<=>(const BackToStart&) const = default;
};

// What a sweep of some of a module's text found.
struct Sweep {
    Sweep(TargetAddr begin, std::uint64_t n_bytes)
        : targets(begin, n_bytes), instructions(begin, n_bytes), code(begin, n_bytes)
    {
    }
    AddressSet targets;
    AddressSet instructions;
    ReachedCode code;
    std::vector<TargetAddr> named; // by constants: perhaps addresses
    std::vector<Dispatch> dispatches;
    std::vector<BackToStart> back_to_start;
    void join(Sweep&& other);
};

// starts: those inside text, ascending, the first at its beginning. Several threads may
// sweep parts of one module, each into its own; a part begins at a function.
void sweep(const Arch& arch, std::span<const std::byte> text, TargetAddr at,
           std::span<const CodeStart> starts, Sweep& into);

struct Extent {
    TargetAddr first, end; // both the site's address: nothing may be moved
    auto operator<=>(const Extent&) const = default;
};

// starts count as targets. functions: those with a size or an FDE. words: of data, those that lie in the text; any order.
// absolute: constants of instructions may be addresses (a program that is not position
// independent).
struct KnownCode {
    std::vector<CodeStart> starts;
    std::vector<TargetAddr> words;
    std::vector<CodeRange> functions; // ascending
    std::vector<CodeRange> sections;  // restartable sequences: not to be probed at all
    bool absolute = false;
};

class ExtentMap {
public:
    // read: for tables, at the addresses of the sweep. It is not kept.
    ExtentMap(Sweep swept, const KnownCode& known, const ReadModule& read);
    // O(1): at any instruction of the text.
    Extent extent(TargetAddr at) const;
    // The code that begins at `at`, block by block.
    FurtherBlocks blocks_from(TargetAddr at) const;
    // Returns the end of the last branch that leads back to the function's first
    // instruction, or 0 if there is none.
    TargetAddr loop_end(TargetAddr function) const;
    // A known instruction starts there, so that a breakpoint may be written.
    bool is_code(TargetAddr at) const { return instructions_.has(at); }
    // In a restartable sequence, which each stop in it would begin anew, for ever; or right
    // before one: the stop behind that instruction is in it.
    bool is_restartable(TargetAddr at) const;
    // Functions whose indirect jumps remain unexplained.
    std::span<const CodeRange> doubtful() const { return doubtful_; }

private:
    // The places that the tables of a function lead to.
    struct Tables {
        std::vector<TargetAddr> targets;
        bool explained = false; // one has an entry inside the function
        bool too_many = false;  // not all combinations were tried
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
    AddressSet instructions_; // known ones, once the constructor has ended
    ReachedCode code_;
    std::vector<TargetAddr> tables_;  // all candidates: where one starts another ends
    std::vector<CodeRange> doubtful_; // ascending
    std::vector<CodeRange> sections_; // ascending
    std::vector<BackToStart> back_to_start_; // ascending
};

} // namespace dt
