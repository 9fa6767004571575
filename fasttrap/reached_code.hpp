// SPDX-License-Identifier: MIT
// Which bytes of a module's text are known to be code, as opposed to tables and constants
// that hand-written assembly keeps between instructions.
//
//   starts of functions, landing pads ──▶ entered ──follow()──▶ bytes
//        branches of known code ────────────▲
//
// Known code is what the flow of control reaches, instruction by instruction. A call is
// expected to return. Padding after an instruction that does not go on is known when it
// fills the complete gap up to other known code, and is a doubtful gap until then.
//
// Bytes that known code loads from by an address of its own are data, whatever leads there.
#pragma once

#include "fasttrap/address_set.hpp"
#include "fasttrap/arch/arch.hpp"

#include <functional>
#include <span>
#include <vector>

namespace dt {

struct ReachedCode {
    ReachedCode(TargetAddr begin, std::uint64_t n_bytes)
        : bytes(begin, n_bytes), entered(begin, n_bytes)
    {
    }
    AddressSet bytes;   // all bytes of known instructions and of known padding
    AddressSet entered; // where known code leads
    std::vector<CodeRange> gaps;     // padding that is not known to be followed by code
    std::vector<TargetAddr> loaded;  // known code reads or writes there
    std::vector<TargetAddr> named;   // known code takes this address

    // The instruction at `here` is known.
    void take(const Glance& seen, TargetAddr here);
    // The same without its bytes: where it leads, and what it reads.
    void take_places(const Glance& seen, TargetAddr here);
    // Padding from begin on, and what is at the end is known code or not.
    void end_gap(CodeRange gap, bool at_code);
    void join(ReachedCode&& other);

    // Gaps become known whose end has become so.
    void settle_gaps();
    // What is loaded is no code, up to the next start of a function at most.
    void remove_data(AddressSet& instructions, const AddressSet& functions);
    // places: ascending.
    static bool any_in(const std::vector<TargetAddr>& places, CodeRange range);
};

// Text from an address on: at most one instruction is looked at. Empty where it ends.
using TextAt = std::function<std::span<const std::byte>(TargetAddr at)>;
// Called for each instruction that was not in `instructions`, in which others had hidden it.
using FoundInstruction = std::function<void(const Glance& seen, TargetAddr here)>;

// Takes everything that the flow of control reaches from members of code.entered in range,
// as far as it stays in the set. Instructions that overlap it are removed.
void follow(const Arch& arch, CodeRange range, const TextAt& text, ReachedCode& code,
            AddressSet& instructions, const FoundInstruction& found);

} // namespace dt
