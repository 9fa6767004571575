// SPDX-License-Identifier: MIT
#include "fasttrap/reached_code.hpp"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

constexpr std::uint64_t largest_operand = 64; // maximum size of one load, in bytes
constexpr std::uint64_t constant_bytes = 8;
constexpr std::uint64_t constant_offset = 2;

// Returns whether the 8 bytes at `at` are the constant of a known instruction.
bool is_constant(const Arch& arch, TargetAddr at, const TextAt& text,
                 const AddressSet& code, const AddressSet& instructions)
{
    TargetAddr start{at.value - constant_offset};
    if (!instructions.has(start) || !code.has(start))
        return false;
    Result<Instruction> insn = arch.decode(text(start), start);
    return insn && insn->encoding == Encoding::legacy && insn->opcode_map == 0 &&
           (insn->opcode & 0xf8) == 0xb8 && insn->next() == at + constant_bytes;
}

} // namespace

void ReachedCode::take(const Glance& seen, TargetAddr here)
{
    bytes.add_all({here, here + seen.length});
    take_places(seen, here);
}

void ReachedCode::take_places(const Glance& seen, TargetAddr here)
{
    TargetAddr there = here + seen.length +
                       static_cast<std::uint64_t>(std::int64_t{seen.displacement});
    if (seen.is(Glance::branch))
        entered.add(there);
    if (!seen.is(Glance::address) || seen.is(Glance::padding) || !bytes.covers(there))
        return;
    std::vector<TargetAddr>& places = seen.is(Glance::takes_address)   ? named
                                      : seen.is(Glance::loads_8_bytes) ? words
                                                                       : loaded;
    places.push_back(there);
}

void ReachedCode::end_gap(CodeRange gap, bool at_code)
{
    if (gap.begin >= gap.end)
        return;
    if (!at_code) {
        gaps.push_back(gap);
        return;
    }
    bytes.add_all(gap);
    padding.push_back(gap);
}

void ReachedCode::join(ReachedCode&& other)
{
    bytes.join(other.bytes);
    entered.join(other.entered);
    gaps.insert(gaps.end(), other.gaps.begin(), other.gaps.end());
    padding.insert(padding.end(), other.padding.begin(), other.padding.end());
    loaded.insert(loaded.end(), other.loaded.begin(), other.loaded.end());
    words.insert(words.end(), other.words.begin(), other.words.end());
    named.insert(named.end(), other.named.begin(), other.named.end());
}

void ReachedCode::settle_gaps()
{
    for (const CodeRange& gap : std::exchange(gaps, {}))
        if (bytes.has(gap.end))
            end_gap(gap, true);
}

void ReachedCode::remove_named_padding(const AddressSet& functions)
{
    for (const CodeRange& gap : std::exchange(padding, {})) {
        auto at = std::lower_bound(named.begin(), named.end(), gap.begin);
        while (at != named.end() && *at < gap.end &&
               (entered.has(*at) || functions.has(*at)))
            ++at;
        if (at == named.end() || *at >= gap.end)
            continue;
        TargetAddr end = gap.begin;
        while (end < gap.end && !entered.has(end) && !functions.has(end))
            ++end.value;
        bytes.remove_all({gap.begin, end});
    }
}

void ReachedCode::remove_data(const Arch& arch, const TextAt& text,
                              std::span<const TargetAddr> pointers,
                              AddressSet& instructions, const AddressSet& functions,
                              AddressSet& targets)
{
    auto remove = [&](TargetAddr at) {
        if (!bytes.has(at) || functions.has(at))
            return;
        TargetAddr end = std::min(at + largest_operand, functions.next(at));
        bytes.remove_all({at, end});
        instructions.remove_all({at, end});
    };
    remove_named_padding(functions);
    std::vector<TargetAddr> constants;
    for (TargetAddr at : words)
        if (bytes.has(at) && is_constant(arch, at, text, bytes, instructions))
            constants.push_back(at);
        else
            remove(at);
    for (TargetAddr at : pointers)
        if (bytes.has(at) && is_constant(arch, at, text, bytes, instructions))
            constants.push_back(at);
    std::for_each(loaded.begin(), loaded.end(), remove);
    for (TargetAddr at : constants) {
        TargetAddr end = at + constant_bytes;
        targets.add({at.value - constant_offset});
        targets.add(end);
        bytes.remove_all({at, end});
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
