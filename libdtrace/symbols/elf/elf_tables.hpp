// SPDX-License-Identifier: MIT
// The interface to the contents of one ELF file: its header, and the tables that must be
// parsed.
//
//   ElfImage ──> ElfTables ──┬── ParsedElf   parses the file in this process
//                            └── JailedElf   requests the results from the reader process
//
// Addresses are link-time addresses, as in the file. Only one thread at a time may use
// an object.
#pragma once

#include "base/result.hpp"
#include "libdtrace/symbols/elf/code_places.hpp"
#include "libdtrace/symbols/elf/function_table.hpp"
#include "libdtrace/symbols/elf/static_probes.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dt {

class DebugTypes;

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

enum class ElfKind : std::uint8_t {
    executable, // ET_EXEC: runs at the addresses for which it was linked
    pie, // ET_DYN that is marked as a program (DF_1_PIE, or it has an interpreter)
    shared_object, // all other ET_DYN: libraries, the dynamic linker, the vDSO
};

// The contents of a file's headers.
struct ElfFacts {
    std::uint16_t machine = 0; // EM_X86_64, EM_AARCH64, ...
    ElfKind kind = ElfKind::shared_object;
    bool has_symtab = false; // false if the file is stripped
    std::uint64_t entry = 0;
    std::string interpreter;          // PT_INTERP; empty if there is none
    std::vector<ElfSegment> segments; // PT_LOAD, sorted by address
    // The sections that are loaded, with their names, such as .plt. At most
    // elf_limits::loaded_sections.
    std::vector<std::pair<std::string, AddressRange>> sections;
};

// Limits for the memory that is allocated for one file. A file that needs more is
// refused or truncated.
namespace elf_limits {
// Chrome with its symbols has about 2 million functions, whose names take 300 MB.
constexpr std::uint64_t section_bytes = std::uint64_t{384} << 20;
constexpr std::uint64_t unpacked_debugdata_bytes = std::uint64_t{64} << 20;
constexpr std::size_t segments = 256;
constexpr std::size_t sections = 1 << 18;
constexpr std::size_t loaded_sections = 4096;
constexpr std::size_t functions = std::size_t{4} << 20;    // in one symbol table
constexpr std::size_t name_bytes = std::size_t{512} << 20; // in one symbol table
constexpr std::size_t symbols = std::size_t{8} << 20;      // all kinds, in one table
} // namespace elf_limits

// A variable that is not thread-local, or a gap between variables. Addresses are
// link-time addresses.
struct DataSymbol {
    std::uint64_t addr = 0; // the variable's address
    std::string name;       // "" for a gap
    // The addresses from `from` to `end`, without `end`, have this symbol. This is a part
    // of the variable if other variables overlap it.
    std::uint64_t from = 0, end = 0;
    bool contains(std::uint64_t at) const { return from <= at && at < end; }
};

class ElfTables {
public:
    ElfTables() = default;
    virtual ~ElfTables() = default;
    ElfTables(const ElfTables&) = delete;
    ElfTables& operator=(const ElfTables&) = delete;

    virtual const ElfFacts& facts() const = 0;
    // Returns the functions from all sources. Sources that are invalid or unreadable
    // are omitted. An image without any source has an empty table.
    virtual const FunctionTable& functions() = 0;
    // Does the same as FunctionTable::match() and FunctionTable::suggest().
    virtual std::vector<const Function*> match(std::string_view glob) = 0;
    virtual std::vector<std::string> suggest(std::string_view name) = 0;
    // Returns the messages about tables of the file that were truncated because they
    // were too large. Each message is returned only once.
    virtual std::vector<std::string> take_cuts() = 0;
    // Returns the address of a variable from the symbol tables.
    virtual std::optional<std::uint64_t> find_variable(std::string_view name) = 0;
    // Returns the variable that contains a link-time address, or null. The result is
    // valid while this object exists.
    virtual const DataSymbol* variable_at(std::uint64_t addr) = 0;
    // Returns the DWARF of the file or of its debug file. Errors: Code::not_found if
    // neither has DWARF, and the errors of DwarfTypes::open(). The result is valid
    // while this object exists.
    virtual Result<DebugTypes*> debug_types() = 0;
    // Returns function ranges from .eh_frame, including functions without symbols. The
    // ranges are sorted by address. Empty if the file has no usable .eh_frame.
    virtual std::span<const AddressRange> frame_functions() = 0;
    virtual CodePlaces code_places() = 0;
    virtual StaticProbes static_probes() = 0;
};

} // namespace dt
