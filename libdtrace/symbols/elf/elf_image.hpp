// SPDX-License-Identifier: MIT
// One ELF file: its kind, its functions, and the bytes that it loads.
//
//   file ──libelf──> header, segments, build id        (read when opened)
//     ├── .symtab .dynsym .gnu_debugdata ─┐
//     └── debug file (build id, link) ────┴─> FunctionTable   (at the first request)
//
// Addresses are link-time addresses. All files are untrusted. Files are never mapped,
// because access to a truncated mapping causes a SIGBUS. Sizes are checked against the
// file and elf_limits before memory is allocated.
//
// Only one thread may use an image at a time. But any thread may call files(), bytes()
// and read() after functions() has been called.
#pragma once

#include "base/fd.hpp"
#include "base/result.hpp"
#include "libdtrace/symbols/elf/function_table.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dt {

struct ElfSegment {
    std::uint64_t addr = 0; // p_vaddr
    std::uint64_t mem_bytes = 0;
    std::uint64_t offset = 0;
    std::uint64_t file_bytes = 0;
    bool readable = false;
    bool writable = false;
    bool executable = false;
    bool contains(std::uint64_t at) const { return at - addr < mem_bytes; }
};

enum class ElfKind {
    executable, // ET_EXEC: runs at the addresses for which it was linked
    pie, // ET_DYN that is marked as a program (DF_1_PIE, or it has an interpreter)
    shared_object, // all other ET_DYN: libraries, the dynamic linker, the vDSO
};

// A file that exceeds these limits is refused or truncated.
namespace elf_limits {
// Chrome has about 2 million functions, whose names take 300 MB.
constexpr std::uint64_t section_bytes = std::uint64_t{384} << 20;
constexpr std::uint64_t unpacked_debugdata_bytes = std::uint64_t{64} << 20;
constexpr std::size_t segments = 256;
constexpr std::size_t sections = 1 << 18;
constexpr std::size_t functions = std::size_t{4} << 20;    // in one symbol table
constexpr std::size_t name_bytes = std::size_t{512} << 20; // in one symbol table
constexpr std::size_t symbols = std::size_t{8} << 20;      // all kinds, in one table
} // namespace elf_limits

class DebugTypes;
class ElfSections;

class ElfImage {
public:
    // Opens a file. `path` is for messages and for finding debug files below `root`. If
    // the file is in another mount namespace, `root` is "/proc/PID/root". Errors:
    // unsupported if the file is 32-bit, big-endian, or neither a program nor a
    // library; corrupt if it is not ELF or has invalid headers; invalid if it is not a
    // regular file; not_found, permission and io from open().
    static Result<std::shared_ptr<ElfImage>> open(const std::string& path);
    static Result<std::shared_ptr<ElfImage>> open(Fd fd, std::string path,
                                                  std::string root = "");
    // Opens an image that is not a file (the vDSO). Ignores the .gnu_debuglink if
    // `name` contains no slash.
    static Result<std::shared_ptr<ElfImage>> from_bytes(std::vector<std::byte> bytes,
                                                        std::string name);
    ~ElfImage();
    ElfImage(const ElfImage&) = delete;
    ElfImage& operator=(const ElfImage&) = delete;

    const std::string& path() const;
    std::uint16_t machine() const; // EM_X86_64, EM_AARCH64, ...
    ElfKind kind() const;
    std::uint64_t entry() const;
    const std::string& interpreter() const;       // PT_INTERP; empty if there is none
    std::span<const ElfSegment> segments() const; // PT_LOAD, sorted by address
    bool has_symtab() const;                      // false if the file is stripped

    // Returns the functions from all sources, loaded at the first call. Omits sources
    // that are invalid or unreadable.
    const FunctionTable& functions();
    // Returns new messages about truncated tables.
    std::vector<std::string> take_cuts();

    // Returns the link-time address of a variable from the symbol tables.
    std::optional<std::uint64_t> find_variable(std::string_view name);

    // Returns the DWARF of the file or of its debug file. Errors: not_found if neither
    // has DWARF; otherwise as in DwarfTypes::open(). The result is valid while the
    // image exists.
    Result<DebugTypes*> debug_types();

    // Returns the function ranges of .eh_frame, sorted by address, also those without
    // symbols.
    std::span<const AddressRange> frame_functions();

    // Returns the bytes at [at, at + n_bytes). Bytes that are not in the file are zero.
    // The span is valid while the image exists. The error is invalid if the range is
    // not inside one segment.
    Result<std::span<const std::byte>> bytes(std::uint64_t at, std::uint64_t n_bytes);
    // Copies bytes from the file, for data that is read only once. Returns false if the
    // file does not contain all of the bytes. Any thread may call read().
    bool read(std::uint64_t at, std::span<std::byte> into) const;
    // Returns the executable segment that contains `at`, or null.
    const ElfSegment* text_segment(std::uint64_t at) const;
    // Returns the range of a named section, such as .plt, or nullopt.
    std::optional<AddressRange> section(std::string_view name);

    // Internal to symbols/: returns the file, and its debug file and .gnu_debugdata if
    // they were used.
    std::vector<const ElfSections*> files();

private:
    struct State;
    explicit ElfImage(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

} // namespace dt
