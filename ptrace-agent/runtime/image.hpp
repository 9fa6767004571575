// SPDX-License-Identifier: MIT
// The runtime as it is put into targets: position-independent bytes, see
// runtime.h.
#pragma once

#include "ptrace-agent/runtime/runtime.h"

#include <cstddef>
#include <span>

namespace dt
{

// A multiple of a page. Empty on machines for which there is no runtime.
std::span<const std::byte> runtime_image();
// What the image begins with. Only when the image is not empty.
const dt_rt_header &runtime_header();

} // namespace dt
