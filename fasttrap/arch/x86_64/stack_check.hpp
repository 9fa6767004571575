// SPDX-License-Identifier: MIT
#pragma once

#include "base/target_addr.hpp"

#include <cstddef>
#include <span>

namespace dt::x86 {

std::size_t stack_check_bytes(std::span<const std::byte> text, TargetAddr at);

} // namespace dt::x86
