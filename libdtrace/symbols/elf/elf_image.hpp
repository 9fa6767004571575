// SPDX-License-Identifier: MIT
// One ELF file: its header, its tables, and the bytes that it loads.
//
//   file ──┬── ElfTables (a parser)  header, functions, debug data, ...
//          └── pread()               the bytes of its segments
//
// Addresses here are link-time addresses, as in the file. A Module of a process adds
// its load bias. All files are untrusted. Everything is read with pread() into our own
// memory and never mapped. Therefore a file that is truncated or rewritten while it is
// read causes an error or yields old bytes, but no SIGBUS.
//
// Only one thread may use an image at a time, except for bytes(), read() and facts().
#pragma once

#include "base/fd.hpp"
#include "base/result.hpp"
#include "libdtrace/symbols/elf/elf_tables.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dt {

// The bytes of an image: a file, or a copy of memory that is laid out like a file.
struct ElfSource {
    Fd fd;                        // empty if `bytes` contains the image
    std::vector<std::byte> bytes; // an image that is not a file, such as the vDSO
    // The path is used in messages, and to find debug files by .gnu_debuglink. Debug
    // files are searched for below `root`, which is "/proc/PID/root" if the file was
    // mapped in another mount namespace. The .gnu_debuglink of bytes is ignored if the
    // path contains no slash.
    std::string path, root;
};

class ElfImage {
public:
    // These functions parse the file in this process. SymbolReader::open() parses it in
    // the jailed reader instead. Errors:
    //
    //   Code::unsupported  the file is 32-bit, big-endian, or neither a program nor a
    //                      library
    //   Code::corrupt      the file is not ELF or has invalid headers
    //   Code::invalid      the file is not a regular file
    //   Code::not_found, Code::permission, Code::io
    //                      open(2) failed
    static Result<std::shared_ptr<ElfImage>> open(const std::string& path);
    static Result<std::shared_ptr<ElfImage>> open(ElfSource source);

    ElfImage(std::shared_ptr<const ElfSource> source,
             std::unique_ptr<ElfTables> tables);
    ElfImage(const ElfImage&) = delete;
    ElfImage& operator=(const ElfImage&) = delete;

    const std::string& path() const { return source_->path; }
    const ElfFacts& facts() const { return tables_->facts(); }
    ElfKind kind() const { return facts().kind; }
    std::uint64_t entry() const { return facts().entry; }
    std::span<const ElfSegment> segments() const { return facts().segments; }

    // These functions request the file's tables. ElfTables documents them.
    const FunctionTable& functions() { return tables_->functions(); }
    std::vector<const Function*> match(std::string_view glob)
    {
        return tables_->match(glob);
    }
    std::vector<std::string> suggest(std::string_view name)
    {
        return tables_->suggest(name);
    }
    std::vector<std::string> take_cuts() { return tables_->take_cuts(); }
    std::optional<std::uint64_t> find_variable(std::string_view name)
    {
        return tables_->find_variable(name);
    }
    const DataSymbol* variable_at(std::uint64_t addr)
    {
        return tables_->variable_at(addr);
    }
    Result<DebugTypes*> debug_types() { return tables_->debug_types(); }
    std::span<const AddressRange> frame_functions()
    {
        return tables_->frame_functions();
    }
    CodePlaces code_places() { return tables_->code_places(); }
    StaticProbes static_probes() { return tables_->static_probes(); }

    // Returns the bytes at the link-time addresses [at, at + n_bytes): text, or
    // read-only data such as jump tables. Bytes of a segment that the file does not
    // contain are zero. The span is valid while the image exists. Returns the
    // error invalid if the range is not inside one segment.
    Result<std::span<const std::byte>> bytes(std::uint64_t at, std::uint64_t n_bytes);
    // Copies the bytes at the link-time address `at` from the file into the caller's
    // memory. Used instead of bytes() for data that is read only once. Returns false if
    // the file does not contain all of the bytes.
    bool read(std::uint64_t at, std::span<std::byte> into) const;
    // Returns the executable segment that contains `at`. Returns null if there is none.
    const ElfSegment* text_segment(std::uint64_t at) const;
    // Returns the range of a named section, such as .plt. Returns nullopt if there is
    // no such section.
    std::optional<AddressRange> section(std::string_view name) const;

private:
    std::size_t read_source(std::uint64_t offset, std::span<std::byte> into) const;
    Result<std::vector<std::byte>> load(const ElfSegment& segment, std::uint64_t at,
                                        std::uint64_t n_bytes) const;

    std::shared_ptr<const ElfSource> source_;
    std::unique_ptr<ElfTables> tables_;
    std::mutex reading_; // protects windows_ and large_
    // The text that was read. The key of a window is its link-time address. The key of
    // a larger range is its link-time address and its size.
    std::map<std::uint64_t, std::vector<std::byte>> windows_;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<std::byte>> large_;
};

} // namespace dt
