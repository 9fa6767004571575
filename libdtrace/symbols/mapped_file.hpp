// SPDX-License-Identifier: MIT
// Inside of symbols/: the ELF image behind a mapping of another process.
#pragma once

#include "libdtrace/symbols/elf/elf_image.hpp"
#include "process/maps.hpp"

#include <memory>
#include <sys/types.h>

namespace dt {

class ImageCache;

// The file that is really mapped there, see process_symbols.hpp; the content of memory
// when no file can be proven to be it. Errors as ElfImage::open().
Result<std::shared_ptr<ElfImage>> image_of_mapping(pid_t pid, const ProcessMaps& maps,
                                                   const Mapping& mapping,
                                                   ImageCache& cache);

// The last resort of the above: the segments as the target's memory holds them, laid out
// as a file, with section headers only where a segment holds them.
Result<std::shared_ptr<ElfImage>> image_from_memory(pid_t pid, const ProcessMaps& maps,
                                                    const Mapping& mapping);

// The file whose text has been replaced by anonymous memory (huge pages for text, as node
// and some databases do): `mapping` shows its beginning, and executable anonymous memory
// follows where an executable segment belongs.
bool has_anonymous_text(const ProcessMaps& maps, const Mapping& mapping);

// What is to be added to link-time addresses, by the executable segment that the mapping
// shows. Nothing when no segment of the image covers that offset of the file.
std::optional<std::uint64_t> bias_of_mapping(const ElfImage& image,
                                             const Mapping& mapping);

// The same for a mapping that shows the beginning of the file.
std::optional<std::uint64_t> bias_of_beginning(const ElfImage& image,
                                               const Mapping& mapping);

// What the kernel told the process about its main program, out of /proc/PID/auxv.
struct MainProgram {
    std::optional<TargetAddr> program_headers; // AT_PHDR; nothing: not readable
    std::string executed_path;                 // AT_EXECFN; empty: not readable
};
MainProgram main_program(pid_t pid);

} // namespace dt
