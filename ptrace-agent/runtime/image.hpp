// SPDX-License-Identifier: MIT
// The image of the runtime that is mapped into targets. It is
// position-independent. runtime.h describes its layout.
#pragma once

#include "ptrace-agent/runtime/runtime.h"

#include <cstddef>
#include <span>

namespace dt
{

// Returns the image, which consists of complete pages. It is empty on machines
// for which there is no runtime.
std::span<const std::byte> runtime_image();
// Returns the header at the beginning of the image. The image must not be
// empty.
const dt_rt_header &runtime_header();

} // namespace dt
