// SPDX-License-Identifier: MIT
// Internal to symbols/: the headers, segments and sections of one ELF file. libelf does
// not map the file (ELF_C_READ). Spans from data() are valid while this object exists.
#pragma once

#include "base/fd.hpp"
#include "base/result.hpp"
#include "libdtrace/symbols/elf/elf_tables.hpp"

#include <array>
#include <cstring>
#include <gelf.h>
#include <libelf.h>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

using Bytes = std::span<const std::byte>;

struct ElfSection {
    std::size_t index = 0;
    std::string_view name;
    GElf_Shdr header{};
};

// Reads a T from untrusted bytes. Returns nullopt if the T is not entirely inside the
// bytes.
template <class T> std::optional<T> read_at(Bytes bytes, std::uint64_t offset)
{
    if (offset > bytes.size() || bytes.size() - offset < sizeof(T))
        return std::nullopt;
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
}

// The limit is needed because many entries of a table can share one long string.
constexpr std::size_t max_string_bytes = std::size_t{1} << 20;
// Returns the NUL-terminated string at an offset. Returns nullopt if there is no NUL,
// or if the string is longer than max_bytes.
std::optional<std::string_view> string_at(Bytes bytes, std::uint64_t offset,
                                          std::size_t max_bytes = max_string_bytes);

class ElfSections {
public:
    static Result<std::unique_ptr<ElfSections>> open(Fd fd);
    static Result<std::unique_ptr<ElfSections>> open(std::vector<std::byte> bytes);

    const GElf_Ehdr& header() const { return header_; }
    std::span<const GElf_Phdr> program_headers() const { return program_headers_; }
    std::span<const ElfSegment> segments() const { return segments_; }
    std::span<const ElfSection> sections() const { return sections_; }
    const ElfSection* find(std::string_view name) const;
    const ElfSection* find(std::uint32_t type) const;

    // Returns a section's bytes. Errors: Code::limit if the section is larger than
    // elf_limits::section_bytes, Code::corrupt if it is not inside the file, is
    // compressed, or has no bytes (NOBITS). Any thread may call data().
    Result<Bytes> data(const ElfSection& section) const;
    Result<Bytes> data(std::size_t index) const;
    // Reads bytes of the file. Returns fewer if the file ends earlier.
    Result<std::vector<std::byte>> read(std::uint64_t offset,
                                        std::uint64_t n_bytes) const;
    // Reads bytes into the caller's memory, and returns their number. Any thread may
    // call this function.
    Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> into) const;
    // Returns the segment's file data from the link-time address addr, but at most
    // max_bytes.
    Result<std::vector<std::byte>> loaded(std::uint64_t addr,
                                          std::uint64_t max_bytes) const;
    std::vector<std::byte> build_id() const;
    int fd() const { return fd_.get(); }

    // Records that a table of the file was truncated. Any thread may call add_cut().
    void add_cut(std::string cut) const;
    // Returns the messages of add_cut() since the last call.
    std::vector<std::string> take_cuts() const;

private:
    struct End {
        void operator()(Elf* elf) const { elf_end(elf); }
    };
    ElfSections() = default;
    Result<Ok> read_headers();
    Result<Ok> check_counts();
    Result<Ok> read_program_headers();
    void read_section_headers();

    Fd fd_;                        // empty if bytes_ contains the image
    std::vector<std::byte> bytes_; // an image that is not a file
    // Protects elf_, which libelf changes while a section is read.
    mutable std::mutex reading_;
    mutable std::mutex cutting_;
    mutable std::vector<std::string> cuts_; // all messages of add_cut()
    mutable std::size_t n_cuts_taken_ = 0;
    std::unique_ptr<Elf, End> elf_;
    GElf_Ehdr header_{};
    std::vector<GElf_Phdr> program_headers_;
    std::vector<ElfSegment> segments_;
    std::vector<ElfSection> sections_;
};

} // namespace dt
