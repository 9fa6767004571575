// SPDX-License-Identifier: MIT
// The notes that say where a file has static probes, in the form of SystemTap's <sys/sdt.h>:
//
//   section .note.stapsdt, one note per site; owner "stapsdt", type 3
//     8 bytes  address of the nop          8 bytes  address of .stapsdt.base, when linked
//     8 bytes  address of the semaphore, a 16-bit counter of who traces; 0: none
//     provider NUL  name NUL  arguments NUL
//
// Addresses are link-time addresses. A tool that moved the file's text later (prelink)
// moved .stapsdt.base as well: who reads the notes adds the difference.
//
// In what is linked a note of address 0 is of code that the linker dropped (lld
// --gc-sections), and no probe; in an object file all are 0.
//
// Files lie: a note that cannot be is left out and told.
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
    std::uint64_t semaphore = 0; // 0: there is none
    std::string provider;
    std::string name;      // as it stands there: query__start
    std::string arguments; // operands.hpp
};

// The most notes of one file that are read. Large programs have some thousands.
constexpr std::size_t max_probe_notes = std::size_t{1} << 16;

struct ProbeNotes {
    std::vector<ProbeNote> notes;
    std::vector<std::string>
        troubles; // sentences about what was left out, at most eleven
};

// section: of a little-endian 64-bit file.
ProbeNotes parse_probe_notes(std::span<const std::byte> section);

// As D names it: query__start is query-start.
std::string probe_name(std::string_view in_note);

} // namespace dt::usdt
