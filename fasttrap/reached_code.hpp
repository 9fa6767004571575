// SPDX-License-Identifier: MIT
// Finds which bytes of a module's text are known to be code. Other bytes may be tables
// and constants between instructions.
//
//   starts of functions, landing pads ──▶ entered ──follow()──▶ bytes
//        branches of known code ────────────▲
//
// Known code is the code that the flow of control reaches. Calls are assumed to return.
// Padding becomes known code if it fills the entire gap between known code.
//
// Bytes that an instruction of known code reads or writes at a constant address are
// data, even if the flow of control reaches them. There are two exceptions:
//
//   - The start of a function is code.
//   - An 8-byte constant inside an instruction may be read as data, because V8 shares
//     equal constants. The other bytes of that instruction are code.
#pragma once

#include "fasttrap/address_set.hpp"
#include "fasttrap/arch/arch.hpp"

#include <functional>
#include <span>
#include <vector>

namespace dt {

// Returns the text at an address, with enough bytes for one instruction. The result is
// empty at the end of the text.
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
    // Adds the padding in the gap to the known code if known code follows (at_code).
    // Otherwise keeps the gap for settle_gaps().
    void end_gap(CodeRange gap, bool at_code);
    void join(ReachedCode&& other);

    // Adds each gap to the known code if known code now follows the gap.
    void settle_gaps();
    // Removes data from the known code. Data are bytes that known code reads or writes
    // (at most 64 bytes at each address), and padding that contains an address in
    // `named`. `named` must be sorted.
    //
    // An instruction may contain an 8-byte constant that is data. In that case, removes
    // only the constant, and adds the start and the end of the instruction to
    // `targets`. This prevents windows from moving or overwriting the instruction.
    // `pointers` are the addresses in the text to which words of data point.
    void remove_data(const Arch& arch, const TextAt& text,
                     std::span<const TargetAddr> pointers, AddressSet& instructions,
                     const AddressSet& functions, AddressSet& targets);
    // Returns whether known code reads or writes bytes in `range`. `loaded` and
    // `words` must be sorted.
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

// Called for each reached instruction that was not in `instructions`.
using FoundInstruction = std::function<void(const Glance& seen, TargetAddr here)>;

// Follows the flow of control from the members of code.entered in `range`. Adds the
// reached code in `range` to the known code. Removes members of `instructions` that
// overlap a reached instruction.
void follow(const Arch& arch, CodeRange range, const TextAt& text, ReachedCode& code,
            AddressSet& instructions, const FoundInstruction& found);

} // namespace dt
