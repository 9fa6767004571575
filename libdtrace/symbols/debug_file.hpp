// SPDX-License-Identifier: MIT
// Inside of symbols/: finding the file that symbols were stripped into.
#pragma once

#include "base/fd.hpp"
#include "libdtrace/symbols/elf_sections.hpp"

#include <memory>
#include <string>

namespace dt {

struct DebugFile {
    std::unique_ptr<ElfSections> elf;
    std::string path;
};

// By build id in /usr/lib/debug/.build-id, then by .gnu_debuglink beside the image, in
// .debug beside it and in /usr/lib/debug, each below `root` too. A candidate is taken only
// when its build id, or the link's CRC of its content, is right. Null elf: none.
DebugFile find_debug_file(const ElfSections& image, const std::string& image_path,
                          const std::string& root);

} // namespace dt
