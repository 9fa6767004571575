// SPDX-License-Identifier: MIT
#include "fasttrap/extents.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace dt {

namespace {

constexpr std::uint64_t furthest_back = 32; // more is never needed for a jump
constexpr std::uint64_t entry_bytes = 16;   // of a doubtful function
constexpr unsigned dispatch_window = 12;    // instructions from a load to its jump
constexpr std::uint64_t max_table_entries = 65536;
constexpr std::size_t max_labels = 256;

// Sorted, each once.
void put_in_order(std::vector<TargetAddr>& addresses)
{
    std::sort(addresses.begin(), addresses.end());
    addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
}

bool lies_in(std::span<const CodeRange> ranges, TargetAddr at)
{
    auto after = std::upper_bound(
        ranges.begin(), ranges.end(), at,
        [](TargetAddr value, const CodeRange& range) { return value < range.begin; });
    return after != ranges.begin() && at < (after - 1)->end;
}

class Sweeper {
public:
    Sweeper(const Arch& arch, std::span<const std::byte> text, TargetAddr at,
            Sweep& into)
        : arch_(arch), text_(text), at_(at), into_(into)
    {
    }

    void run(std::span<const CodeStart> starts)
    {
        for (std::size_t i = 0; i < starts.size(); ++i) {
            std::uint64_t begin = starts[i].at - at_;
            std::uint64_t end =
                i + 1 < starts.size() ? starts[i + 1].at - at_ : text_.size();
            if (starts[i].function) {
                close_function(begin);
                function_ = begin;
            }
            into_.targets.add(starts[i].at);
            sweep_to(begin, end);
        }
        close_function(text_.size());
    }

private:
    void sweep_to(std::uint64_t offset, std::uint64_t end)
    {
        bool ended = false;
        while (offset < end) {
            Glance seen = arch_.glance(text_.subspan(offset));
            if (seen.length == 0) {
                ++offset;
                continue;
            }
            TargetAddr here = at_ + offset;
            into_.instructions.add(here);
            if (ended && !seen.is(Glance::padding)) {
                into_.targets.add(here);
                ended = false;
            }
            offset += seen.length;
            ++n_since_load_;
            if (seen.traits != 0)
                take(seen, here, at_ + offset);
            ended |= seen.is(Glance::ends);
        }
    }

    void take(const Glance& seen, TargetAddr here, TargetAddr next)
    {
        TargetAddr there =
            next + static_cast<std::uint64_t>(std::int64_t{seen.displacement});
        if (seen.is(Glance::branch)) {
            into_.targets.add(there);
            if (there == at_ + function_)
                take_back_to_start(here);
        }
        if (seen.is(Glance::address)) {
            into_.targets.add(there); // nothing happens when it is data elsewhere
            if (seen.is(Glance::takes_address))
                tables_.push_back(there);
        }
        if (seen.is(Glance::landing))
            into_.targets.add(here);
        if (seen.is(Glance::constant))
            constants_.push_back({seen.value});
        if (seen.is(Glance::indexed_load))
            n_since_load_ = 0;
        indirect_ |= seen.is(Glance::jump_table) || seen.is(Glance::jump_register);
        by_table_ |= seen.is(Glance::jump_table) || (seen.is(Glance::jump_register) &&
                                                     n_since_load_ <= dispatch_window);
    }

    // Notes a jump back to the function's start. A call is not one: it enters the
    // function.
    void take_back_to_start(TargetAddr here)
    {
        auto insn = arch_.decode(text_.subspan(here - at_), here);
        if (insn &&
            (insn->flow == ControlFlow::jump || insn->flow == ControlFlow::branch))
            into_.back_to_start.push_back({insn->target, insn->next()});
    }

    void close_function(std::uint64_t end)
    {
        for (TargetAddr constant : constants_)
            if (into_.targets.covers(constant))
                into_.named.push_back(constant);
        if (indirect_) {
            Dispatch dispatch;
            dispatch.function = at_ + function_;
            dispatch.end = at_ + end;
            dispatch.by_table = by_table_;
            dispatch.tables = tables_;
            dispatch.constants = constants_;
            into_.dispatches.push_back(std::move(dispatch));
        }
        tables_.clear();
        constants_.clear();
        indirect_ = by_table_ = false;
        n_since_load_ = dispatch_window + 1;
    }

    const Arch& arch_;
    std::span<const std::byte> text_;
    TargetAddr at_;
    Sweep& into_;
    std::uint64_t function_ = 0; // where the current one starts
    std::vector<TargetAddr> tables_, constants_;
    bool indirect_ = false, by_table_ = false;
    unsigned n_since_load_ = dispatch_window + 1;
};

} // namespace

AddressSet::AddressSet(TargetAddr begin, std::uint64_t n_bytes)
    : begin_(begin), n_bytes_(n_bytes), words_(n_bytes / 64 + 1)
{
}

TargetAddr AddressSet::next(TargetAddr from) const
{
    std::uint64_t bit = from < begin_ ? 0 : from - begin_;
    if (bit >= n_bytes_)
        return end();
    std::uint64_t word = words_[bit / 64] >> bit % 64;
    if (word != 0)
        return begin_ + (bit + static_cast<unsigned>(std::countr_zero(word)));
    for (std::size_t i = bit / 64 + 1; i < words_.size(); ++i)
        if (words_[i] != 0)
            return begin_ +
                   (i * 64 + static_cast<unsigned>(std::countr_zero(words_[i])));
    return end();
}

TargetAddr AddressSet::last(TargetAddr to) const
{
    if (n_bytes_ == 0 || to < begin_)
        return begin_;
    std::uint64_t bit = std::min(to - begin_, n_bytes_ - 1);
    std::uint64_t word = words_[bit / 64] << (63 - bit % 64);
    if (word != 0)
        return begin_ + (bit - static_cast<unsigned>(std::countl_zero(word)));
    for (std::size_t i = bit / 64; i-- > 0;)
        if (words_[i] != 0)
            return begin_ +
                   (i * 64 + 63 - static_cast<unsigned>(std::countl_zero(words_[i])));
    return begin_;
}

void AddressSet::join(const AddressSet& other)
{
    for (std::size_t i = 0; i < words_.size() && i < other.words_.size(); ++i)
        words_[i] |= other.words_[i];
}

void Sweep::join(Sweep&& other)
{
    targets.join(other.targets);
    instructions.join(other.instructions);
    named.insert(named.end(), other.named.begin(), other.named.end());
    std::move(other.dispatches.begin(), other.dispatches.end(),
              std::back_inserter(dispatches));
    back_to_start.insert(back_to_start.end(), other.back_to_start.begin(),
                         other.back_to_start.end());
}

void sweep(const Arch& arch, std::span<const std::byte> text, TargetAddr at,
           std::span<const CodeStart> starts, Sweep& into)
{
    Sweeper(arch, text, at, into).run(starts);
}

ExtentMap::ExtentMap(Sweep swept, const KnownCode& known, const ReadModule& read)
    : targets_(std::move(swept.targets)), instructions_(std::move(swept.instructions)),
      sections_(known.sections), back_to_start_(std::move(swept.back_to_start))
{
    std::sort(back_to_start_.begin(), back_to_start_.end());
    for (const CodeStart& start : known.starts)
        targets_.add(start.at);
    for (const CodeRange& section : sections_) { // nobody's window reaches into one
        targets_.add(section.begin);
        targets_.add(section.end);
    }
    AddressSet named(targets_.begin(), targets_.end() - targets_.begin());
    auto take_named = [&](const std::vector<TargetAddr>& places) {
        for (TargetAddr at : places)
            if (instructions_.has(at))
                named.add(at);
    };
    take_named(known.words);
    if (known.absolute)
        take_named(swept.named);
    targets_.join(named);
    for (Dispatch& dispatch : swept.dispatches) {
        if (known.absolute)
            dispatch.tables.insert(dispatch.tables.end(), dispatch.constants.begin(),
                                   dispatch.constants.end());
        put_in_order(dispatch.tables);
        tables_.insert(tables_.end(), dispatch.tables.begin(), dispatch.tables.end());
    }
    put_in_order(tables_);
    for (const Dispatch& dispatch : swept.dispatches) {
        std::optional<bool> found = read_tables(dispatch, read);
        bool explained =
            found == true || named.next(dispatch.function + 1) < dispatch.end;
        if (!found || (dispatch.by_table && !explained))
            doubtful_.push_back({dispatch.function, dispatch.end});
    }
    auto by_begin = [](const CodeRange& a, const CodeRange& b) {
        return a.begin < b.begin;
    };
    std::sort(doubtful_.begin(), doubtful_.end(), by_begin);
    std::sort(sections_.begin(), sections_.end(), by_begin);
    tables_ = {}; // kept no longer than needed
}

std::optional<bool> ExtentMap::read_tables(const Dispatch& dispatch,
                                           const ReadModule& read)
{
    std::vector<TargetAddr> labels;
    for (TargetAddr at : dispatch.tables)
        if (dispatch.function < at && at < dispatch.end)
            labels.push_back(at);
    bool too_many = labels.size() > max_labels;
    if (too_many)
        labels.clear();
    bool explained = false;
    for (TargetAddr table : dispatch.tables) {
        explained |= read_table(dispatch, table, table, read);
        for (TargetAddr label : labels)
            explained |= read_table(dispatch, table, label, read);
    }
    return too_many ? std::nullopt : std::optional(explained);
}

bool ExtentMap::read_table(const Dispatch& dispatch, TargetAddr table, TargetAddr base,
                           const ReadModule& read)
{
    auto next = std::upper_bound(tables_.begin(), tables_.end(), table);
    std::uint64_t room = next == tables_.end() ? max_table_entries : (*next - table) / 4;
    bool inside = false;
    for (std::uint64_t i = 0; i < std::min(room, max_table_entries); ++i) {
        std::array<std::byte, 4> raw{};
        if (!read || !read(table + i * 4, raw))
            break;
        auto offset = std::int64_t{std::bit_cast<std::int32_t>(raw)};
        TargetAddr target = base + static_cast<std::uint64_t>(offset);
        if (!targets_.covers(target))
            break;
        if (instructions_.has(target))
            targets_.add(target);
        inside |= dispatch.function < target && target < dispatch.end;
    }
    return inside;
}

TargetAddr ExtentMap::loop_end(TargetAddr function) const
{
    auto after = std::upper_bound(
        back_to_start_.begin(), back_to_start_.end(), function,
        [](TargetAddr at, const BackToStart& back) { return at < back.function; });
    return after != back_to_start_.begin() && std::prev(after)->function == function
               ? std::prev(after)->end
               : TargetAddr{};
}

bool ExtentMap::is_restartable(TargetAddr at) const
{
    return lies_in(sections_, at) || lies_in(sections_, instructions_.next(at + 1));
}

Extent ExtentMap::extent(TargetAddr at) const
{
    if (!instructions_.has(at) || lies_in(sections_, at))
        return {at, at};
    TargetAddr end = targets_.next(at + 1);
    if (lies_in(doubtful_, at)) {
        auto function = std::upper_bound(doubtful_.begin(), doubtful_.end(), at,
                                         [](TargetAddr value, const CodeRange& range) {
                                             return value < range.begin;
                                         });
        bool entry = (function - 1)->begin == at;
        return {at,
                std::min(end, entry ? at + entry_bytes : instructions_.next(at + 1))};
    }
    TargetAddr first = targets_.last(at);
    // A target inside an instruction (behind a lock prefix): who knows where the next
    // starts.
    if (!instructions_.has(first))
        first = at;
    if (at - first > furthest_back)
        first = instructions_.next(at - furthest_back);
    return {first, end};
}

} // namespace dt
