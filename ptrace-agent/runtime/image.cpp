// SPDX-License-Identifier: MIT
#include "ptrace-agent/runtime/image.hpp"

#if defined(__x86_64__)
extern "C" const std::byte dt_runtime_image[], dt_runtime_image_end[];
#endif

namespace dt
{

std::span<const std::byte> runtime_image()
{
#if defined(__x86_64__)
	return {dt_runtime_image, dt_runtime_image_end};
#else
	return {};
#endif
}

const dt_rt_header &runtime_header()
{
	return *reinterpret_cast<const dt_rt_header *>(runtime_image().data());
}

} // namespace dt
