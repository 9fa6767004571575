// SPDX-License-Identifier: MIT
// Determines how a function uses an address in its own text. The function loads this
// address with lea. If the function jumps to the address, the bytes there are code. If
// it reads from the address, the bytes are data.
//
// The known instructions of the function are read in ascending order. The address is
// tracked in registers, and in stack slots that the function jumps through, but not in
// other memory.
#pragma once

#include "fasttrap/reached_code.hpp"

#include <cstdint>

namespace dt {

enum class AddressUse : std::uint8_t {
    unknown,
    jumped_to,
    read, // the function reads or writes the bytes, and may also jump to them
};

// Returns how the known instructions of `function` use addresses in `block`.
AddressUse use_of_addresses(const Arch& arch, CodeRange block, CodeRange function,
                            const ReachedCode& code, const AddressSet& instructions,
                            const TextAt& text);

} // namespace dt
