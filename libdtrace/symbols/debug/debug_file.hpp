// SPDX-License-Identifier: MIT
// Internal to symbols/: finds the separate file with the symbols of a stripped image.
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

// Returns FOLDER/.build-id/NN/NNNN.debug. The id must have two bytes or more.
std::string build_id_path(const std::string& folder, Bytes id);

// Searches by build id in the subdirectory .build-id of each of debug_folders(), first
// in our own file system and then below `root`. Then searches below `root` for the name
// in .gnu_debuglink: next to the image, in the directory .debug next to the image, and
// in debug_folders(). A candidate is accepted only if its build id matches, or if the
// link's CRC matches its content. The elf of the result is null if no file was found.
DebugFile find_debug_file(const ElfSections& image, const std::string& image_path,
                          const std::string& root);

} // namespace dt
