// SPDX-License-Identifier: MIT
// Inside of symbols/: finding the file that symbols were stripped into.
#pragma once

#include "base/fd.hpp"
#include "libdtrace/symbols/elf/elf_sections.hpp"

#include <memory>
#include <string>

namespace dt {

struct DebugFile {
    std::unique_ptr<ElfSections> elf;
    std::string path;
};

// FOLDER/.build-id/NN/NNNN.debug. The id has two bytes or more.
std::string build_id_path(const std::string& folder, Bytes id);

// By build id in the .build-id of debug_folders(), then by .gnu_debuglink next to the image,
// in .debug next to it and in debug_folders(), each below `root` too. A candidate is taken only
// when its build id, or the link's CRC of its content, is right. Null elf: none.
DebugFile find_debug_file(const ElfSections& image, const std::string& image_path,
                          const std::string& root);

} // namespace dt
