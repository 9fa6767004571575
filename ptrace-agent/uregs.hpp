// SPDX-License-Identifier: MIT
#pragma once

#include "fasttrap/registers.hpp"

#include <cstdint>
#include <optional>

namespace dt::agent {

// Returns the value of uregs[index]. Returns nullopt if there is no such register.
std::optional<std::uint64_t> ureg_of(const Registers& regs, std::uint32_t index);

} // namespace dt::agent
