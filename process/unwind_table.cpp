// SPDX-License-Identifier: MIT
#include "process/unwind_table.hpp"

#include "process/call_frames.hpp"

#include <algorithm>
#include <cstring>

namespace dt {

static bool says_the_same(const UnwindRow& a, const UnwindRow& b)
{
    return a.kind == b.kind && std::memcmp(&a.how, &b.how, sizeof a.how) == 0;
}

static UnwindRow row_of(const FrameRow* frame, std::uint64_t address)
{
    UnwindRow row;
    if (frame == nullptr)
        return row;
    if (frame->is_of_signal) {
        row.kind = UnwindRow::signal;
    } else if (auto rule = rule_of(*frame, {address})) {
        row.kind = UnwindRow::rule;
        row.how = *rule;
        row.how.at = 0;
    }
    return row;
}

// Returns the distance in bytes from an address to the next address to look up. Usually
// the next address is the end of the rule's range. The distance is 1 if there is no
// rule, or if the rule may differ at each address. After 64 KiB without rules (for
// example in Go code), the next address is the next multiple of 16. `silent` is the
// number of bytes without rules before the address.
static std::uint64_t step_from(const FrameRow* frame, std::uint64_t address,
                               std::uint64_t silent)
{
    constexpr std::uint64_t long_ago = 65536, alignment = 16;
    if (frame == nullptr)
        return silent < long_ago ? 1 : alignment - address % alignment;
    return is_computed(*frame) ? 1 : frame->end - address;
}

// The limits for one file, because the file is untrusted. The largest browser has about
// 2 million rows.
constexpr std::size_t max_rows = 8 << 20, max_lookups = 32 << 20;

std::vector<UnwindRow> unwind_rows(Fd file)
{
    std::vector<UnwindRow> rows;
    CallFrames frames(std::move(file));
    if (!frames.are_there())
        return rows;
    std::size_t n_lookups = 0;
    for (const CallFrames::Part& part : frames.text()) {
        std::uint64_t silent = 0;
        std::uint64_t at = part.begin;
        while (at < part.end && rows.size() < max_rows && ++n_lookups < max_lookups) {
            const FrameRow* frame = frames.frame_at(at);
            UnwindRow row = row_of(frame, at);
            row.offset = part.offset + (at - part.begin);
            if (at == part.begin || !says_the_same(row, rows.back()))
                rows.push_back(row);
            std::uint64_t step = step_from(frame, at, silent);
            silent = frame == nullptr ? silent + step : 0;
            at += std::min(step, part.end - at);
        }
        rows.push_back({part.offset + (at - part.begin), UnwindRow::none, {}});
    }
    return rows;
}

} // namespace dt
