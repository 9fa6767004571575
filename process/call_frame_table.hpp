// SPDX-License-Identifier: MIT
// The entries of an .eh_frame section, and what they say of %rsp's base, %rbp and %rip.
//
//   section ── once ──> entries by address ── lookup ──> rows of one entry
//
// The section comes from a file of the target's choice. libdw keeps all registers that an
// entry mentions and a copy of them for each DW_CFA_remember_state, so that a small file
// takes gigabytes. Here only two registers are kept, states are remembered to a limited
// depth, and each entry is evaluated in one pass. An entry beyond the limits counts as
// unreadable: it says nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace dt {

// Rules for registers: System V AMD64 ABI, figure 3.36.
enum DwarfRegister { dwarf_rbp = 6, dwarf_rsp = 7, dwarf_rip = 16 };

using FrameBytes = std::span<const std::uint8_t>;

// How the caller's value of a register is found.
struct RegisterRule {
    enum How : std::uint8_t {
        unspecified, // the ABI's: it is not changed
        undefined,
        same,
        offset,     // in memory at CFA + offset
        expression, // in memory where the expression says, which begins with the CFA
        other       // one that is not needed here
    } how = unspecified;
    std::int64_t offset_from_cfa = 0;
    FrameBytes by;
};

// What an entry says from one address to another.
struct FrameRow {
    std::uint64_t begin = 0, end = 0;
    // The CFA is cfa_register + cfa_offset, or what the expression gives.
    std::uint64_t cfa_register = 0;
    std::int64_t cfa_offset = 0;
    bool has_cfa = false;
    FrameBytes cfa_by; // empty: there is no expression
    RegisterRule rbp, rip;
    bool is_of_signal = false;
};

// Reads an address that is written in one of the DW_EH_PE_* ways, or returns nothing if it
// cannot be read or is relative to something that is unknown here. `at` is the address of
// its first byte.
std::optional<std::uint64_t> read_frame_address(class FrameReader& in, std::uint8_t encoding,
                                                std::uint64_t at);

class CallFrameTable {
public:
    static constexpr std::uint64_t max_bytes = std::uint64_t{256} << 20;
    static constexpr std::size_t max_entries = std::size_t{4} << 20; // Chrome has 1.5
    static constexpr std::size_t max_remembered = 64;                // states at once
    static constexpr std::size_t max_instruction_bytes = 256 << 10;  // of one entry
    static constexpr std::size_t max_common_bytes = 64; // that entries have in common

    // The bytes of the section, which is loaded at `addr`, must outlive the table.
    CallFrameTable(FrameBytes section, std::uint64_t addr);

    std::size_t n_entries() const { return entries_.size(); }
    // Returns the row at an address, or nothing if no entry says anything there. It is
    // valid until the next call.
    const FrameRow* row_at(std::uint64_t address);

private:
    struct Entry {
        std::uint64_t begin = 0, end = 0;
        std::uint64_t instructions = 0; // where they are in the section
        std::uint32_t n_bytes = 0;      // of instructions
        std::uint32_t common = 0;       // in commons_
    };
    // What several entries have in common (CIE).
    struct Common {
        std::uint64_t code_factor = 0;
        std::int64_t data_factor = 0;
        FrameBytes instructions;
        std::uint8_t encoding = 0; // of addresses in the entries
        bool has_augmentation = false, is_of_signal = false, readable = false;
    };

    void read_entries();
    void add_entry(std::uint64_t at, FrameBytes body, std::uint64_t common_at);
    const Common* common_at(std::uint64_t at, std::uint32_t& index);
    Common read_common(std::uint64_t at) const;
    void evaluate(const Entry& entry);

    FrameBytes section_;
    std::uint64_t addr_;
    std::vector<Common> commons_;
    std::unordered_map<std::uint64_t, std::uint32_t> common_places_; // index by place
    std::vector<Entry> entries_; // by address
    const Entry* evaluated_ = nullptr;
    std::vector<FrameRow> rows_; // of evaluated_, by address
};

} // namespace dt
