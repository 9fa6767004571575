// SPDX-License-Identifier: MIT
// The call frame information of a file. Finds the rules for an address in the text, and
// converts them to a struct dt_rt_rule if possible.
#pragma once

#include "abi/frame_rule.h"
#include "base/fd.hpp"
#include "base/target_addr.hpp"
#include "process/call_frame_table.hpp"

#include <libelf.h>
#include <optional>
#include <vector>

namespace dt {

class CallFrames {
public:
    // A larger file is treated like a file without call frame information.
    static constexpr std::uint64_t max_file_bytes = std::uint64_t{1} << 30;

    explicit CallFrames(Fd file); // finds nothing if it is not a regular file
    ~CallFrames();
    CallFrames(const CallFrames&) = delete;
    CallFrames& operator=(const CallFrames&) = delete;

    bool are_there() const { return table_.has_value(); }
    // Returns the link-time address of the byte at an offset of the file. Returns
    // nullopt if the byte is not in text(), or if there is no call frame information.
    std::optional<std::uint64_t> address_of(std::uint64_t offset) const;
    // Returns the row for an address. The row is valid until the next call. Returns
    // null if the file has no row for the address.
    const FrameRow* frame_at(std::uint64_t address);

    // A range of text that is in the file. No two parts share bytes of the file.
    struct Part {
        std::uint64_t begin = 0, end = 0, offset = 0;
    };
    const std::vector<Part>& text() const { return text_; }

private:
    struct Frames {
        FrameBytes bytes;
        std::uint64_t addr = 0;
    };
    void find_text();
    std::optional<Frames> find_section();
    std::optional<Frames> find_loaded();

    Fd fd_;
    std::uint64_t file_bytes_ = 0;
    std::vector<Part> text_;
    Elf* elf_ = nullptr;
    std::optional<CallFrameTable> table_; // refers to bytes that elf_ owns
};

// Converts a row to the rule for `at`, an address in the row's range. Returns nothing
// if a dt_rt_rule cannot express the row.
std::optional<dt_rt_rule> rule_of(const FrameRow& row, TargetAddr at);
// Returns whether an expression computes the CFA. If so, the rule may differ at each
// address of the row.
inline bool is_computed(const FrameRow& row)
{
    return !row.cfa_by.empty();
}

} // namespace dt
