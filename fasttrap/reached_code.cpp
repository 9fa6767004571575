// SPDX-License-Identifier: MIT
#include "fasttrap/reached_code.hpp"

#include <algorithm>

namespace dt {

namespace {

constexpr std::uint64_t largest_operand = 64; // bytes that one instruction loads

} // namespace

void ReachedCode::take(const Glance& seen, TargetAddr here)
{
    bytes.add_all({here, here + seen.length});
    take_places(seen, here);
}

void ReachedCode::take_places(const Glance& seen, TargetAddr here)
{
    TargetAddr there =
        here + seen.length + static_cast<std::uint64_t>(std::int64_t{seen.displacement});
    if (seen.is(Glance::branch))
        entered.add(there);
    if (seen.is(Glance::address) && !seen.is(Glance::padding) && bytes.covers(there))
        (seen.is(Glance::takes_address) ? named : loaded).push_back(there);
}

void ReachedCode::end_gap(CodeRange gap, bool at_code)
{
    if (gap.begin >= gap.end)
        return;
    if (at_code)
        bytes.add_all(gap);
    else
        gaps.push_back(gap);
}

void ReachedCode::join(ReachedCode&& other)
{
    bytes.join(other.bytes);
    entered.join(other.entered);
    gaps.insert(gaps.end(), other.gaps.begin(), other.gaps.end());
    loaded.insert(loaded.end(), other.loaded.begin(), other.loaded.end());
    named.insert(named.end(), other.named.begin(), other.named.end());
}

void ReachedCode::settle_gaps()
{
    for (const CodeRange& gap : gaps)
        if (bytes.has(gap.end))
            bytes.add_all(gap);
    gaps.clear();
}

void ReachedCode::remove_data(AddressSet& instructions, const AddressSet& functions)
{
    for (TargetAddr at : loaded) {
        if (!bytes.has(at) || functions.has(at))
            continue;
        TargetAddr end = std::min(at + largest_operand, functions.next(at));
        bytes.remove_all({at, end});
        instructions.remove_all({at, end});
    }
}

bool ReachedCode::any_in(const std::vector<TargetAddr>& places, CodeRange range)
{
    auto first = std::lower_bound(places.begin(), places.end(), range.begin);
    return first != places.end() && *first < range.end;
}

namespace {

void follow_one(const Arch& arch, TargetAddr at, TargetAddr limit, const TextAt& text,
                ReachedCode& code, AddressSet& instructions,
                const FoundInstruction& found)
{
    while (at < limit && !code.bytes.has(at)) {
        Glance seen = arch.glance(text(at));
        if (seen.length == 0)
            return;
        if (!instructions.has(at)) {
            instructions.add(at);
            found(seen, at);
        }
        instructions.remove_all({at + 1, at + seen.length});
        code.take(seen, at);
        at = at + seen.length;
        if (!seen.is(Glance::ends))
            continue;
        TargetAddr end = at;
        while (code.bytes.covers(end) && !code.bytes.has(end)) {
            seen = arch.glance(text(end));
            if (seen.length == 0 || !seen.is(Glance::padding))
                break;
            end = end + seen.length;
        }
        code.end_gap({at, end}, code.bytes.has(end));
        return;
    }
    if (at >= limit)
        code.entered.add(at);
}

} // namespace

void follow(const Arch& arch, CodeRange range, const TextAt& text, ReachedCode& code,
            AddressSet& instructions, const FoundInstruction& found)
{
    bool again = true;
    while (again) {
        again = false;
        auto unknown_from = [&](TargetAddr at) {
            return code.entered.next_without(at, range.end, code.bytes);
        };
        for (TargetAddr at = unknown_from(range.begin); at < range.end;
             at = unknown_from(at + 1)) {
            follow_one(arch, at, range.end, text, code, instructions, found);
            if (code.bytes.has(at))
                again = true;
        }
    }
}

} // namespace dt
