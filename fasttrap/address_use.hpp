// SPDX-License-Identifier: MIT
// Finds out how a function uses an address of its own text that it takes (lea): it jumps there, so
// code is there, or it reads from there, so data is there.
//
// The known instructions of the function are read in the order of their addresses. An address
// is followed from register to register and into a slot of the stack that the function jumps
// through, not through other memory.
#pragma once

#include "fasttrap/reached_code.hpp"

#include <cstdint>

namespace dt {

enum class AddressUse : std::uint8_t {
    unknown,
    jumped_to,
    read, // or written; also if it is jumped to as well
};

// The use of addresses in block by the known instructions in function.
AddressUse use_of_addresses(const Arch& arch, CodeRange block, CodeRange function,
                            const ReachedCode& code, const AddressSet& instructions,
                            const TextAt& text);

} // namespace dt
