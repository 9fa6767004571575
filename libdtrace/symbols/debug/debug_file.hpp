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

// Returns FOLDER/.build-id/NN/NNNN.debug. The id has at least two bytes.
std::string build_id_path(const std::string& folder, Bytes id);

// Searches debug_folders() by build id, on this machine and then below `root`. Then
// searches below `root` for the name in .gnu_debuglink: next to the image, in .debug,
// and in debug_folders(). The build id or the link's CRC must match. The elf of the
// result is null if no file was found.
DebugFile find_debug_file(const ElfSections& image, const std::string& image_path,
                          const std::string& root);

} // namespace dt
