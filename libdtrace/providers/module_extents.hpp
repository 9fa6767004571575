// SPDX-License-Identifier: MIT
// Computes the extents of a module's text (fasttrap/extents.hpp) from its ELF file. Up
// to four threads decode the text. Then they search the data for words that could be
// addresses of text.
#pragma once

#include "fasttrap/extents.hpp"
#include "libdtrace/symbols/elf/elf_image.hpp"

#include <atomic>
#include <memory>

namespace dt {

// Returns the extents in link-time addresses. Returns null if the text is unreadable,
// is for another machine, or is larger than 512 MiB.
std::unique_ptr<ExtentMap> map_extents(ElfImage& image);
// Like map_extents(image), but also returns null if another thread sets given_up.
std::unique_ptr<ExtentMap> map_extents(ElfImage& image,
                                       const std::atomic<bool>& given_up);

} // namespace dt
