// SPDX-License-Identifier: MIT
// Which bytes of a module's text are known to be code, as opposed to tables and constants
// that hand-written assembly keeps between instructions.
//
//   starts of functions, landing pads ──▶ entered ──follow()──▶ bytes
//        branches of known code ────────────▲
//
// Known code is what the flow of control reaches, instruction by instruction. A call is
// expected to return. Padding after an instruction that does not go on is known when it
// fills the complete gap up to other known code, and is a doubtful gap until then. If
// known code names an address inside it and nothing enters there, it is no padding.
//
// Bytes that known code reads or writes at an address in the instruction are data, even if
// the flow of control reaches them. There are two exceptions:
//
//   - A place where a function starts is code.
//   - An instruction may load the 8-byte constant of another instruction, or a word of
//     data may point to it: V8 keeps equal constants once. Then only the constant is data,
//     and the code around it is code.
#pragma once

#include "fasttrap/address_set.hpp"
#include "fasttrap/arch/arch.hpp"

#include <functional>
#include <span>
#include <vector>

namespace dt {

// Returns the text from an address on, enough for one instruction. It is empty where the
// text ends.
using TextAt = std::function<std::span<const std::byte>(TargetAddr at)>;

struct ReachedCode {
    ReachedCode(TargetAddr begin, std::uint64_t n_bytes)
        : bytes(begin, n_bytes), entered(begin, n_bytes)
    {
    }
    AddressSet bytes;            // all bytes of known instructions and of known padding
    AddressSet entered;          // where known code leads
    std::vector<CodeRange> gaps; // padding that is not known to be followed by code
    std::vector<CodeRange> padding; // other padding; its bytes are known
    std::vector<TargetAddr> loaded; // known code reads or writes there
    std::vector<TargetAddr> words;  // known code reads 8 bytes there, and nothing more
    std::vector<TargetAddr> named;  // known code takes this address

    // The instruction at `here` is known.
    void take(const Glance& seen, TargetAddr here);
    // The same without its bytes: where it leads, and what it reads.
    void take_places(const Glance& seen, TargetAddr here);
    // Adds the padding in gap to the known code if at_code. Otherwise keeps it for
    // settle_gaps().
    void end_gap(CodeRange gap, bool at_code);
    void join(ReachedCode&& other);

    // Adds each gap that is now followed by known code.
    void settle_gaps();
    // Removes the bytes that known code reads or writes, up to the next start of a function,
    // with the two exceptions above. Removes padding in which known code names a place that
    // nothing enters: a table can consist of bytes that look like padding. named must be
    // sorted. Adds the start and the end of an instruction whose constant is data to
    // targets, so that no window moves or overwrites it. pointers: words of data.
    void remove_data(const Arch& arch, const TextAt& text,
                     std::span<const TargetAddr> pointers, AddressSet& instructions,
                     const AddressSet& functions, AddressSet& targets);
    // Returns whether known code reads or writes in range. loaded and words must be sorted.
    bool is_loaded(CodeRange range) const
    {
        return any_in(loaded, range) || any_in(words, range);
    }
    // places: in ascending order.
    static bool any_in(const std::vector<TargetAddr>& places, CodeRange range);

private:
    void remove_named_padding(const AddressSet& functions);
};

// Called for each instruction that was not yet in `instructions`, for example because a
// wrong decoding hid it.
using FoundInstruction = std::function<void(const Glance& seen, TargetAddr here)>;

// Follows the flow of control from the members of code.entered in range, and adds all that
// it reaches inside the range to the known code. Removes overlapping instructions.
void follow(const Arch& arch, CodeRange range, const TextAt& text, ReachedCode& code,
            AddressSet& instructions, const FoundInstruction& found);

} // namespace dt
