// SPDX-License-Identifier: MIT
// Parses arbitrary bytes as an .eh_frame section and as an ELF file with call frame
// information. Reads the rows and rules at several addresses.
//
//   call_frames_fuzz -max_total_time=60 -rss_limit_mb=2048 -timeout=20 CORPUS
//
// call_frames_seeds writes a corpus of small shared objects and their .eh_frame
// sections. Their text is between 0x1000 and 0x1240, and .eh_frame is at 0x4000.
#include "process/call_frames.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/require.hpp"

using dt::fuzz::require;

namespace {

constexpr std::uint64_t text_at = 0x1000, text_end = 0x1240, section_at = 0x4000;

void check(const dt::FrameRow* row, std::uint64_t at)
{
    if (row == nullptr)
        return;
    require(row->begin <= at && at < row->end);
    const auto rule = dt::rule_of(*row, {at});
    if (!rule)
        return;
    require(rule->at == at && !row->is_of_signal);
    require(rule->from <= DT_RT_FROM_AT_RBP);
    require(rule->rbp_from == DT_RT_FROM_NONE || rule->rbp_from == DT_RT_FROM_CFA ||
            rule->rbp_from == DT_RT_FROM_RBP);
}

// Checks the rows that row_at() finds in the text of the seeds, and at other addresses.
template <class F> void check_rows(F row_at)
{
    for (std::uint64_t at = text_at; at < text_end;) {
        const dt::FrameRow* row = row_at(at);
        check(row, at);
        at = row != nullptr ? row->end : at + 1;
    }
    for (const std::uint64_t at : {std::uint64_t{0}, section_at, ~std::uint64_t{0}})
        check(row_at(at), at);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    dt::CallFrameTable table({data, size}, section_at);
    check_rows([&](std::uint64_t at) { return table.row_at(at); });

    dt::CallFrames frames(dt::fuzz::memory_file(data, size));
    check_rows([&](std::uint64_t at) { return frames.frame_at(at); });
    for (const dt::CallFrames::Part& part : frames.text()) {
        const auto first = frames.address_of(part.offset);
        require(first.has_value() == (frames.are_there() && part.begin != part.end));
        require(!first || *first == part.begin);
        check(frames.frame_at(part.begin), part.begin);
    }
    return 0;
}
