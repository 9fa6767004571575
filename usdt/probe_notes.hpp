// SPDX-License-Identifier: MIT
// The notes of a file's static probes, in the format of SystemTap's <sys/sdt.h>:
//
//   section .note.stapsdt, one note per site; owner "stapsdt", type 3
//     8 bytes  address of the nop          8 bytes  link-time address of .stapsdt.base
//     8 bytes  address of the semaphore (a 16-bit counter of tracers), or 0
//     provider NUL  name NUL  arguments NUL
//
// Addresses are link-time addresses. prelink may later move the text together with
// .stapsdt.base. To correct an address, add the actual address of .stapsdt.base and
// subtract the address of .stapsdt.base in the note.
//
// In a linked file, a note with address 0 belongs to code that the linker removed. In
// an object file, all addresses are 0.
//
// Files are untrusted: an invalid note is omitted and reported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dt::usdt {

struct ProbeNote {
    std::uint64_t at = 0;
    std::uint64_t base = 0;
    std::uint64_t semaphore = 0; // 0 if the probe has no semaphore
    std::string provider;
    std::string name;      // as in the note: query__start
    std::string arguments; // operands.hpp
};

// The maximum number of notes in one file. Large programs have a few thousand.
constexpr std::size_t max_probe_notes = std::size_t{1} << 16;

struct ProbeNotes {
    std::vector<ProbeNote> notes;
    // Messages about the first ten invalid notes, and a message about all notes beyond
    // max_probe_notes.
    std::vector<std::string> troubles;
};

// Parses the content of .note.stapsdt from a little-endian 64-bit file.
ProbeNotes parse_probe_notes(std::span<const std::byte> section);

// Returns the probe's name in D: query-start for query__start.
std::string probe_name(std::string_view in_note);

} // namespace dt::usdt
