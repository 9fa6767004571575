// SPDX-License-Identifier: MIT
// The entries of an .eh_frame section. An entry gives the rules for finding the
// caller's %rbp and %rip. It also gives the canonical frame address (CFA), which is the
// caller's stack pointer after the return.
//
//   section ── once ──> entries by address ── lookup ──> rows of one entry
//
// The section is untrusted, because the target chooses the file. libdw is not used: a
// small file could make it use gigabytes of memory. An entry that exceeds a limit is
// ignored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace dt {

// DWARF's register numbers (System V AMD64 ABI, figure 3.36).
enum DwarfRegister { dwarf_rbp = 6, dwarf_rsp = 7, dwarf_rip = 16 };

using FrameBytes = std::span<const std::uint8_t>;

// Describes how to find the caller's value of a register.
struct RegisterRule {
    enum How : std::uint8_t {
        unspecified, // there is no rule; by the ABI, the register is unchanged
        undefined,
        same,
        offset,     // in memory at CFA + offset
        expression, // in memory at the address that an expression computes
        other       // any other rule; rule_of() (call_frames.hpp) cannot convert it
    } how = unspecified;
    std::int64_t offset_from_cfa = 0;
    FrameBytes by; // the expression
};

// The rules that an entry gives for a range of addresses.
struct FrameRow {
    std::uint64_t begin = 0, end = 0;
    // The CFA is cfa_register + cfa_offset, or the result of the expression cfa_by.
    std::uint64_t cfa_register = 0;
    std::int64_t cfa_offset = 0;
    bool has_cfa = false;
    FrameBytes cfa_by; // empty if there is no expression
    RegisterRule rbp, rip;
    bool is_of_signal = false;
};

// Reads an encoded address (DW_EH_PE_*). `at` is the location of the encoded bytes.
// Returns nothing if the address is unreadable, indirect, or relative to anything but
// `at`.
std::optional<std::uint64_t>
read_frame_address(class FrameReader& in, std::uint8_t encoding, std::uint64_t at);

class CallFrameTable {
public:
    static constexpr std::uint64_t max_bytes = std::uint64_t{256} << 20;
    static constexpr std::size_t max_entries = std::size_t{4} << 20; // Chrome: 1.5 M
    static constexpr std::size_t max_remembered = 64;                // saved states
    static constexpr std::size_t max_instruction_bytes = 256 << 10;  // in one entry
    static constexpr std::size_t max_common_bytes = 64; // instruction bytes per CIE

    // `section` is loaded at `addr`. Its bytes must outlive the table.
    CallFrameTable(FrameBytes section, std::uint64_t addr);

    // Returns the row for an address. The row is valid until the next call. Returns
    // null if no valid entry covers the address.
    const FrameRow* row_at(std::uint64_t address);

private:
    struct Entry {
        std::uint64_t begin = 0, end = 0;
        std::uint64_t instructions = 0; // offset in the section
        std::uint32_t n_bytes = 0;      // length of the instructions
        std::uint32_t common = 0;       // index in commons_
    };
    // A common information entry (CIE), which contains data that several entries share.
    struct Common {
        std::uint64_t code_factor = 0;
        std::int64_t data_factor = 0;
        FrameBytes instructions;
        std::uint8_t encoding = 0; // encoding of addresses in the entries
        bool has_augmentation = false, is_of_signal = false, readable = false;
    };

    void read_entries();
    void add_entry(std::uint64_t at, FrameBytes body, std::uint64_t common_place);
    const Common* common_at(std::uint64_t at, std::uint32_t& index);
    Common read_common(std::uint64_t at) const;
    void evaluate(const Entry& entry);

    FrameBytes section_;
    std::uint64_t addr_;
    std::vector<Common> commons_;
    // Maps the offset of a CIE in the section to its index in commons_.
    std::unordered_map<std::uint64_t, std::uint32_t> common_places_;
    std::vector<Entry> entries_; // sorted by address
    const Entry* evaluated_ = nullptr;
    std::vector<FrameRow> rows_; // rows of evaluated_, sorted by address
};

} // namespace dt
