// SPDX-License-Identifier: MIT
// Internal to symbols/: the ELF image of a file that another process has mapped.
#pragma once

#include "libdtrace/symbols/elf/elf_image.hpp"
#include "process/maps.hpp"

#include <memory>
#include <span>
#include <sys/types.h>
#include <vector>

namespace dt {

class ImageCache;

// Returns the images of the mapped files, even if their paths now lead to other files.
// If no file can be verified, returns an image of the memory. The results have the
// order of `mappings`. Errors are as in ElfImage::open().
std::vector<Result<std::shared_ptr<ElfImage>>>
images_of_mappings(pid_t pid, const ProcessMaps& maps,
                   std::span<const Mapping* const> mappings, ImageCache& cache);

// Copies the segments from the target's memory into the layout of a file. The image has
// section headers only if a segment contains them.
Result<ElfSource> source_from_memory(pid_t pid, const ProcessMaps& maps,
                                     const Mapping& mapping);

// Returns whether anonymous memory has replaced the file's text. Node.js and some
// databases do this to use huge pages. `mapping` must be the start of the file.
bool has_anonymous_text(const ProcessMaps& maps, const Mapping& mapping);

// Computes the load bias from the executable segment in the mapping. Returns nullopt if
// no executable segment covers the mapping's offset in the file.
std::optional<std::uint64_t> bias_of_mapping(const ElfImage& image,
                                             const Mapping& mapping);

// Computes the load bias from a mapping of the file's start. Returns nullopt if
// `mapping` is not such a mapping.
std::optional<std::uint64_t> bias_of_beginning(const ElfImage& image,
                                               const Mapping& mapping);

// Information about the main program from the process's auxiliary vector
// (/proc/PID/auxv).
struct MainProgram {
    std::optional<TargetAddr> program_headers; // AT_PHDR; nullopt if not readable
    std::string executed_path;                 // AT_EXECFN; empty if not readable
};
MainProgram main_program(pid_t pid);

} // namespace dt
