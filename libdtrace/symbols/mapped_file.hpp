// SPDX-License-Identifier: MIT
// Inside of symbols/: the ELF image behind a mapping of another process.
#pragma once

#include "libdtrace/symbols/elf_image.hpp"
#include "libdtrace/symbols/process_maps.hpp"

#include <memory>
#include <sys/types.h>

namespace dt {

class ImageCache;

// The file that is really mapped there, see process_symbols.hpp; the content of memory
// when no file can be proven to be it. Errors as ElfImage::open().
Result<std::shared_ptr<ElfImage>> image_of_mapping(pid_t pid, const ProcessMaps& maps,
                                                   const Mapping& mapping,
                                                   ImageCache& cache);

// What is to be added to link-time addresses, by the executable segment that the mapping
// shows. Nothing when no segment of the image covers that offset of the file.
std::optional<std::uint64_t> bias_of_mapping(const ElfImage& image,
                                             const Mapping& mapping);

// Where the program headers of the main program are (AT_PHDR). Nothing: not readable.
std::optional<TargetAddr> main_program_headers(pid_t pid);

} // namespace dt
