// SPDX-License-Identifier: MIT
// Finds which bytes of a module's text are known to be code. Other bytes may be tables
// and constants, because assembly can contain these between instructions.
//
//   starts of functions, landing pads ──▶ entered ──follow()──▶ bytes
//        branches of known code ────────────▲
//
// Known code is what the flow of control reaches, instruction by instruction. Calls are
// assumed to return. The padding after an instruction such as ret or jmp becomes known
// code if it fills the entire gap up to other known code. `gaps` contains the padding
// for which this is not decided yet. A gap is not padding if known code computes an
// address in the gap (lea) but never leads to that address.
//
// If an instruction of known code contains the address of bytes that it reads or
// writes, these bytes are data, even if the flow of control reaches them. There are two
// exceptions:
//
//   - The start of a function is code.
//   - V8 stores equal constants only once. So an instruction or a word of data may
//     refer to an 8-byte constant that is part of another instruction. Then only the
//     constant is data. The instructions around it are code.
#pragma once

#include "fasttrap/address_set.hpp"
#include "fasttrap/arch/arch.hpp"

#include <functional>
#include <span>
#include <vector>

namespace dt {

// Returns the text that starts at an address, with enough bytes for one instruction.
// The result is empty at the end of the text.
using TextAt = std::function<std::span<const std::byte>(TargetAddr at)>;

struct ReachedCode {
    ReachedCode(TargetAddr begin, std::uint64_t n_bytes)
        : bytes(begin, n_bytes), entered(begin, n_bytes)
    {
    }
    AddressSet bytes;            // all bytes of known instructions and of known padding
    AddressSet entered;          // addresses to which known code leads
    std::vector<CodeRange> gaps; // padding that is not known to be followed by code
    std::vector<CodeRange> padding; // padding before known code; also part of `bytes`
    std::vector<TargetAddr> loaded; // accessed addresses, except those of 8-byte reads
    std::vector<TargetAddr> words;  // addresses where known code reads exactly 8 bytes
    std::vector<TargetAddr> named;  // addresses that known code computes (lea)

    // Adds the instruction at `here` to the known code.
    void take(const Glance& seen, TargetAddr here);
    // Adds the address that the instruction at `here` branches to, accesses or computes
    // (lea). Does not add the instruction itself.
    void take_places(const Glance& seen, TargetAddr here);
    // If at_code is true, known code follows the gap, and the padding in the gap is
    // added to the known code. Otherwise, keeps the gap for settle_gaps().
    void end_gap(CodeRange gap, bool at_code);
    void join(ReachedCode&& other);

    // Adds each gap that is now followed by known code to the known code.
    void settle_gaps();
    // Removes two kinds of data from the known code:
    //
    //   - The bytes that known code reads or writes, with the two exceptions at the top
    //     of this file. At each accessed address, removes at most 64 bytes, and stops
    //     at the next start of a function.
    //   - Padding that contains an address that known code computes (lea) but does not
    //     lead to, because the padding may be a table. `named` must be sorted.
    //
    // If the constant of an instruction is data, adds the start and the end of this
    // instruction to `targets`, so that no window moves or overwrites it. `pointers`
    // are words of data that point into the text.
    void remove_data(const Arch& arch, const TextAt& text,
                     std::span<const TargetAddr> pointers, AddressSet& instructions,
                     const AddressSet& functions, AddressSet& targets);
    // Returns whether known code reads or writes bytes in `range`. loaded and words
    // must be sorted.
    bool is_loaded(CodeRange range) const
    {
        return any_in(loaded, range) || any_in(words, range);
    }
    // Returns whether `range` contains one of `places`, which must be in ascending
    // order.
    static bool any_in(const std::vector<TargetAddr>& places, CodeRange range);

private:
    void remove_named_padding(const AddressSet& functions);
};

// Called for each reached instruction that was not in `instructions`. An instruction
// may be missing there because, for example, the sweep started to decode inside another
// one.
using FoundInstruction = std::function<void(const Glance& seen, TargetAddr here)>;

// Follows the flow of control from the members of code.entered in `range`, and adds
// everything that it reaches inside the range to the known code. If other members of
// `instructions` overlap the reached instructions, removes them from `instructions`.
void follow(const Arch& arch, CodeRange range, const TextAt& text, ReachedCode& code,
            AddressSet& instructions, const FoundInstruction& found);

} // namespace dt
