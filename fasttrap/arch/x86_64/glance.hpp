// SPDX-License-Identifier: MIT
#pragma once

#include "fasttrap/arch/arch.hpp"

namespace dt::x86 {

Glance glance(std::span<const std::byte> text);

} // namespace dt::x86
