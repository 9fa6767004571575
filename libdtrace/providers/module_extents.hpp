// SPDX-License-Identifier: MIT
// The extents of a module's text (fasttrap/extents.hpp), from its ELF file.
//
// The text is read and swept in pieces by two threads, then the data is searched for
// words that could be addresses of text.
#pragma once

#include "fasttrap/extents.hpp"
#include "libdtrace/symbols/elf/elf_image.hpp"

#include <atomic>
#include <memory>

namespace dt {

// In link-time addresses. Null: not text of this machine, or none that can be read.
std::unique_ptr<ExtentMap> map_extents(ElfImage& image);
// Null, too, soon after somebody gives it up.
std::unique_ptr<ExtentMap> map_extents(ElfImage& image,
                                       const std::atomic<bool>& given_up);

} // namespace dt
