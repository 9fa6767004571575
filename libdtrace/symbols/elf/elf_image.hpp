// SPDX-License-Identifier: MIT
// One ELF file: what it is, which functions it has, which bytes it loads.
//
//   file ──libelf──> header, segments, build id        (read when opened)
//     ├── .symtab .dynsym .gnu_debugdata ─┐
//     └── debug file (build id, link) ────┴─> FunctionTable   (when first requested)
//
// Addresses here are link-time addresses, as in the file; a Module of a process adds
// its load bias. All files are untrusted. Everything is read with pread() into memory
// of our own, never mapped: a file that is truncated or rewritten while we hold it
// gives an error or old bytes, not a SIGBUS. Sizes are checked against the file and
// against limits (see elf_limits) before memory is taken.
//
// Tables are filled when first requested: not for use by several threads at once, but for
// files(), bytes() and read() after functions() was called.
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
    executable, // ET_EXEC: runs where it was linked
    pie,        // ET_DYN that says it is a program (DF_1_PIE, or it has an interpreter)
    shared_object, // ET_DYN otherwise: libraries, the dynamic linker, the vDSO
};

// What one file may make us allocate; a file that asks for more is refused or cut
// short.
namespace elf_limits {
// Chrome with its symbols has some 2 million functions, and 300 MB of their names.
constexpr std::uint64_t section_bytes = std::uint64_t{384} << 20;
constexpr std::uint64_t unpacked_debugdata_bytes = std::uint64_t{64} << 20;
constexpr std::size_t segments = 256;
constexpr std::size_t sections = 1 << 18;
constexpr std::size_t functions = std::size_t{4} << 20;    // of one symbol table
constexpr std::size_t name_bytes = std::size_t{512} << 20; // of one symbol table
constexpr std::size_t symbols = std::size_t{8} << 20;      // of any kind, of one table
} // namespace elf_limits

class DebugTypes;
class ElfSections;

class ElfImage {
public:
    // `path` is for messages and for finding debug files by .gnu_debuglink, below `root`
    // ("/proc/PID/root" for a file that a process of another mount namespace has mapped).
    // unsupported: "32-bit", "big-endian", not a program (relocatable, core file).
    // corrupt: not ELF, or headers that lie. not_found, permission, io: from open().
    static Result<std::shared_ptr<ElfImage>> open(const std::string& path);
    static Result<std::shared_ptr<ElfImage>> open(Fd fd, std::string path,
                                                  std::string root = "");
    // An image that is no file (the vDSO). Has no debug file by link.
    static Result<std::shared_ptr<ElfImage>> from_bytes(std::vector<std::byte> bytes,
                                                        std::string name);
    ~ElfImage();
    ElfImage(const ElfImage&) = delete;
    ElfImage& operator=(const ElfImage&) = delete;

    const std::string& path() const;
    std::uint16_t machine() const; // EM_X86_64, EM_AARCH64, ...
    ElfKind kind() const;
    std::uint64_t entry() const;
    const std::string& interpreter() const;       // PT_INTERP, empty when there is none
    std::span<const ElfSegment> segments() const; // PT_LOAD, in the order of addresses
    bool has_symtab() const;                      // false: stripped

    // The functions by all sources, loaded on the first call. Sources that lie or
    // cannot be read are left out and told in notes(); an image without any has an
    // empty table.
    const FunctionTable& functions();
    const std::vector<std::string>& notes() const;
    // Returns sentences about tables that are larger than what is read of a file, each
    // sentence once.
    std::vector<std::string> take_cuts();

    // The link-time address of a variable, by the symbol tables.
    std::optional<std::uint64_t> find_variable(std::string_view name);

    // The DWARF of the file or of its debug file, opened on the first call. not_found,
    // corrupt: as DwarfTypes::open(). Lives as long as the image.
    Result<DebugTypes*> debug_types();

    // Function ranges from .eh_frame, also where symbols are missing: sorted by
    // address, without names. Empty when the file has no usable .eh_frame.
    std::span<const AddressRange> frame_functions();

    // The bytes that the file loads at [at, at + n_bytes): text, or read-only data such
    // as jump tables. Bytes past file_bytes are zero. The span lives as long as the
    // image. invalid: the range is not inside one segment.
    Result<std::span<const std::byte>> bytes(std::uint64_t at, std::uint64_t n_bytes);
    // The same bytes into memory of the caller's, for what is read once; false when the
    // file has not all of them there. Any thread.
    bool read(std::uint64_t at, std::span<std::byte> into) const;
    // Executable segment that holds `at`, null when there is none.
    const ElfSegment* text_segment(std::uint64_t at) const;
    // Named section's range; for example where .plt is. Empty when there is none.
    std::optional<AddressRange> section(std::string_view name);

    // For symbols/ itself: the file, then those that were found to hold symbols of it.
    std::vector<const ElfSections*> files();

private:
    struct State;
    explicit ElfImage(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

} // namespace dt
