// SPDX-License-Identifier: MIT
#include "fasttrap/extents.hpp"

#include "fasttrap/address_use.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>

namespace dt {

namespace {

// The maximum number of bytes of an extent before its site.
constexpr std::uint64_t furthest_back = 32;
// The maximum number of bytes of an extent at the entry of a doubtful function
// (extents.hpp).
constexpr std::uint64_t entry_bytes = 16;
// The maximum number of instructions from an indexed load to the jump that uses it.
constexpr unsigned max_since_load = 12;
constexpr std::uint64_t max_table_entries = 65536;
constexpr std::size_t max_labels = 256;

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

// Reads the text of one instruction at a time.
class TextReader {
public:
    explicit TextReader(const ReadModule& read) : read_(read) {}
    std::span<const std::byte> operator()(TargetAddr at)
    {
        for (std::size_t n = bytes_.size(); n != 0 && read_; n = n > 16 ? 16 : n - 1)
            if (read_(at, std::span(bytes_).first(n)))
                return std::span(bytes_).first(n);
        return {};
    }

private:
    const ReadModule& read_;
    std::array<std::byte, 34> bytes_{};
};

class Sweeper {
public:
    Sweeper(const Arch& arch, std::span<const std::byte> text, TargetAddr at,
            Sweep& into)
        : arch_(arch), text_(text), at_(at), into_(into)
    {
    }

    void run(std::span<const CodeStart> starts)
    {
        gap_ = at_ + text_.size();
        for (std::size_t i = 0; i < starts.size(); ++i) {
            std::uint64_t begin = starts[i].at - at_;
            std::uint64_t end =
                i + 1 < starts.size() ? starts[i + 1].at - at_ : text_.size();
            if (starts[i].function) {
                close_function(begin);
                function_ = begin;
            }
            into_.targets.add(starts[i].at);
            bool is_code = starts[i].code || into_.code.entered.has(starts[i].at);
            enter(starts[i].at, is_code);
            sweep_to(begin, end);
        }
        TargetAddr end = at_ + text_.size();
        leave_code(end);
        // Padding at the end of the text counts as padding before known code.
        into_.code.end_gap({gap_, end}, true);
        close_function(text_.size());
    }

private:
    void enter(TargetAddr here, bool is_code)
    {
        if (is_code && !known_) {
            into_.code.end_gap({gap_, here}, true);
            known_ = true;
            known_from_ = here;
        }
        if (is_code)
            gap_ = at_ + text_.size();
    }

    void leave_code(TargetAddr here)
    {
        if (known_)
            into_.code.bytes.add_all({known_from_, here});
        known_ = false;
    }

    void sweep_to(std::uint64_t offset, std::uint64_t end)
    {
        bool ended = false;
        while (offset < end) {
            Glance seen = arch_.glance(text_.subspan(offset));
            TargetAddr here = at_ + offset;
            if (!known_)
                enter(here, into_.code.entered.has(here));
            if (!known_ && !seen.is(Glance::padding))
                leave_gap(here);
            if (seen.length == 0) {
                leave_code(here);
                ++offset;
                continue;
            }
            into_.instructions.add(here);
            if (ended && !seen.is(Glance::padding)) {
                into_.targets.add(here);
                ended = false;
            }
            offset += seen.length;
            ++n_since_load_;
            if (seen.traits != 0)
                take(seen, here, at_ + offset);
            if (known_ && seen.traits != 0)
                into_.code.take_places(seen, here);
            ended |= seen.is(Glance::ends);
            if (known_ && seen.is(Glance::ends)) {
                gap_ = at_ + offset;
                leave_code(gap_);
            }
        }
    }

    void leave_gap(TargetAddr here)
    {
        into_.code.end_gap({gap_, here}, false);
        gap_ = at_ + text_.size();
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
            into_.targets.add(there); // ignores addresses outside the text
            if (seen.is(Glance::takes_address))
                tables_.push_back(there);
        }
        if (seen.is(Glance::landing))
            into_.targets.add(here);
        if (seen.is(Glance::constant))
            constants_.push_back({seen.value});
        if (seen.is(Glance::indexed_load))
            n_since_load_ = 0;
        bool jumps = seen.is(Glance::jump_table) || seen.is(Glance::jump_register);
        indirect_ |= jumps;
        if (jumps)
            jumps_.push_back(here);
        by_table_ |= seen.is(Glance::jump_table) || (seen.is(Glance::jump_register) &&
                                                     n_since_load_ <= max_since_load);
    }

    // Records a jump back to the function's start. Ignores calls, which enter the
    // function again.
    void take_back_to_start(TargetAddr here)
    {
        auto insn = arch_.decode(text_.subspan(here - at_), here);
        if (insn &&
            (insn->flow == ControlFlow::jump || insn->flow == ControlFlow::branch))
            into_.back_to_start.push_back({insn->target, insn->next()});
    }

    void close_function(std::uint64_t end)
    {
        // Mark the known code up to here, so that follow() does not read it again.
        if (known_)
            into_.code.bytes.add_all({known_from_, at_ + end});
        auto text = [this](TargetAddr at) {
            return at - at_ < text_.size() ? text_.subspan(at - at_) : text_.first(0);
        };
        auto found = [this](const Glance& seen, TargetAddr here) {
            take(seen, here, here + seen.length);
        };
        follow(arch_, {at_ + function_, at_ + end}, text, into_.code,
               into_.instructions, found);
        for (TargetAddr constant : constants_)
            if (into_.targets.covers(constant))
                into_.named.push_back(constant);
        if (indirect_) {
            Dispatch dispatch;
            dispatch.function = at_ + function_;
            dispatch.end = at_ + end;
            dispatch.by_table = by_table_;
            dispatch.jumps = jumps_;
            dispatch.tables = tables_;
            dispatch.constants = constants_;
            into_.dispatches.push_back(std::move(dispatch));
        }
        tables_.clear();
        constants_.clear();
        jumps_.clear();
        indirect_ = by_table_ = false;
        n_since_load_ = max_since_load + 1;
    }

    const Arch& arch_;
    std::span<const std::byte> text_;
    TargetAddr at_;
    Sweep& into_;
    std::uint64_t function_ = 0; // offset of the start of the current function
    std::vector<TargetAddr> tables_, constants_;
    bool indirect_ = false, by_table_ = false;
    std::vector<TargetAddr> jumps_;
    bool known_ = false; // whether the current instruction is known code
    TargetAddr known_from_;
    TargetAddr gap_; // start of the padding after known code
    unsigned n_since_load_ = max_since_load + 1;
};

} // namespace

void Sweep::join(Sweep&& other)
{
    targets.join(other.targets);
    instructions.join(other.instructions);
    named.insert(named.end(), other.named.begin(), other.named.end());
    code.join(std::move(other.code));
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
      code_(std::move(swept.code)), sections_(known.sections),
      back_to_start_(std::move(swept.back_to_start))
{
    std::sort(back_to_start_.begin(), back_to_start_.end());
    for (const CodeStart& start : known.starts)
        targets_.add(start.at);
    // No window may extend into a restartable sequence.
    for (const CodeRange& section : sections_) {
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
    explain(swept.dispatches, named, known, read);
    auto by_begin = [](const CodeRange& a, const CodeRange& b) {
        return a.begin < b.begin;
    };
    std::sort(doubtful_.begin(), doubtful_.end(), by_begin);
    std::sort(sections_.begin(), sections_.end(), by_begin);
    tables_ = {}; // used only while the map is built
}

bool ExtentMap::is_reached(const Dispatch& dispatch) const
{
    return std::any_of(dispatch.jumps.begin(), dispatch.jumps.end(),
                       [this](TargetAddr at) { return code_.bytes.has(at); });
}

// Completes the known code in three steps:
//   1. Follows the targets of the tables of known jumps, and finds the doubtful
//      functions (extents.hpp).
//   2. Adds the unknown bytes of functions that have a known indirect jump, a pointer
//      into their unknown part, or known code that ends in a hlt (take_rest()).
//   3. Removes bytes that are data (ReachedCode::remove_data()).
void ExtentMap::explain(std::span<const Dispatch> dispatches, const AddressSet& named,
                        const KnownCode& known, const ReadModule& read)
{
    TextReader text(read);
    auto follow_all = [&] {
        follow(x86_64, {targets_.begin(), targets_.end()}, std::ref(text), code_,
               instructions_, [this](const Glance& seen, TargetAddr here) {
                   targets_.add(here);
                   if (seen.is(Glance::branch))
                       targets_.add(
                           here + seen.length +
                           static_cast<std::uint64_t>(std::int64_t{seen.displacement}));
               });
    };
    AddressSet functions(targets_.begin(), targets_.end() - targets_.begin());
    for (const CodeStart& start : known.starts)
        if (start.function && start.code)
            functions.add(start.at);
    // `open` contains the functions that may contain more code. `jumping` contains the
    // functions with a known indirect jump.
    AddressSet open(functions.begin(), functions.end() - functions.begin());
    AddressSet jumping = open;
    std::vector<Tables> tables;
    for (const Dispatch& dispatch : dispatches)
        tables.push_back(read_tables(dispatch, read));
    std::vector<bool> taken(dispatches.size());
    for (bool again = true; again;) {
        again = false;
        follow_all();
        for (std::size_t i = 0; i < dispatches.size(); ++i) {
            const Dispatch& dispatch = dispatches[i];
            if (taken[i] || !is_reached(dispatch))
                continue;
            taken[i] = again = true;
            open.add(dispatch.function);
            jumping.add(dispatch.function);
            for (TargetAddr at : tables[i].targets) {
                targets_.add(at);
                code_.entered.add(at);
            }
            for (TargetAddr at = named.next(dispatch.function); at < dispatch.end;
                 at = named.next(at + 1))
                code_.entered.add(at);
            bool explained =
                tables[i].explained || named.next(dispatch.function + 1) < dispatch.end;
            if (tables[i].too_many || (dispatch.by_table && !explained))
                doubtful_.push_back({dispatch.function, dispatch.end});
        }
    }
    auto unknown_from = [&](TargetAddr at) {
        return named.next_without(at, named.end(), code_.bytes);
    };
    for (TargetAddr at = unknown_from(named.begin()); at < named.end();
         at = unknown_from(at + 1))
        open.add(functions.last(at));
    put_in_order(code_.named);
    put_in_order(code_.loaded);
    put_in_order(code_.words);
    for (const CodeRange& function : known.functions)
        if (open.has(function.begin) || has_rest_behind_hlt(function, std::ref(text)))
            take_rest({function.begin,
                       std::min(function.end, functions.next(function.begin + 1))},
                      jumping.has(function.begin), std::ref(text));
    follow_all();
    code_.settle_gaps();
    code_.remove_data(x86_64, std::ref(text), known.words, instructions_, functions,
                      targets_);
    instructions_.intersect(code_.bytes);
    forget_chance_targets(known);
}

// Removes branch targets inside known instructions. The sweep found these targets by
// chance, when it decoded data. Keeps the targets to which a symbol, known code or a
// restartable sequence refers.
void ExtentMap::forget_chance_targets(const KnownCode& known)
{
    AddressSet inside = code_.bytes;
    inside.subtract(instructions_);
    inside.subtract(code_.entered);
    AddressSet meant(inside.begin(), inside.end() - inside.begin());
    for (const CodeStart& start : known.starts)
        meant.add(start.at);
    for (const auto* places : {&code_.named, &code_.loaded, &code_.words})
        for (TargetAddr at : *places)
            meant.add(at);
    for (const CodeRange& section : sections_) {
        meant.add(section.begin);
        meant.add(section.end);
    }
    inside.subtract(meant);
    targets_.subtract(inside);
}

// Returns whether the first unknown byte of the function follows a hlt. A compiler does
// not know that a hlt in inline assembly ends the flow of control. So the hlt may be
// followed by code.
bool ExtentMap::has_rest_behind_hlt(CodeRange function, const TextAt& text) const
{
    const TargetAddr rest = code_.bytes.next_missing(function.begin, function.end);
    if (rest == function.begin || rest >= function.end)
        return false;
    const TargetAddr last{rest.value - 1};
    std::span<const std::byte> bytes = text(last);
    return instructions_.has(last) && !bytes.empty() && bytes[0] == std::byte{0xf4};
}

// Adds the remaining instructions of the function to the known code. If some of the
// remaining bytes may be data, adds none of them. Bytes may be data if they do not
// decode, if their branches do not lead to instructions, or if known code accesses
// them.
void ExtentMap::take_rest(CodeRange function, bool jumps, const TextAt& text)
{
    std::vector<TargetAddr> starts, branches;
    TargetAddr at = code_.bytes.next_missing(function.begin, function.end);
    while (at < function.end) {
        TargetAddr end = std::min(code_.bytes.next(at), function.end);
        bool named = ReachedCode::any_in(code_.named, {at, end});
        if (code_.is_loaded({at, end}) || (named && !jumps))
            return;
        // If known code computes an address in these bytes, an indirect jump may lead
        // to it.
        AddressUse use = named ? use_of_addresses(x86_64, {at, end}, function, code_,
                                                  instructions_, text)
                               : AddressUse::unknown;
        if (use == AddressUse::read)
            return;
        bool must_end = named && use != AddressUse::jumped_to;
        bool goes_on = false;
        for (; at < end;) {
            Glance seen = x86_64.glance(text(at));
            Result<Instruction> insn = x86_64.decode(text(at), at);
            bool is_zeros = insn && insn->opcode_map == 0 && insn->opcode == 0;
            if (seen.length == 0 || at + seen.length > end || !insn || is_zeros)
                return;
            // The last instruction may call a function that never returns, such as
            // __stack_chk_fail().
            const bool is_last_call = insn->flow == ControlFlow::call &&
                                      seen.is(Glance::branch) &&
                                      at + seen.length == function.end;
            if (!seen.is(Glance::padding))
                goes_on = !seen.is(Glance::ends) && !is_last_call;
            if (seen.is(Glance::branch))
                branches.push_back(
                    at + seen.length +
                    static_cast<std::uint64_t>(std::int64_t{seen.displacement}));
            starts.push_back(at);
            at = at + seen.length;
        }
        if (goes_on && (must_end || end == function.end))
            return;
        at = code_.bytes.next_missing(end, function.end);
    }
    for (TargetAddr to : branches) {
        bool inside = to >= function.begin && to < function.end;
        bool is_known = instructions_.has(to) &&
                        (!inside || code_.bytes.has(to) ||
                         std::binary_search(starts.begin(), starts.end(), to));
        if (!is_known)
            return;
    }
    for (TargetAddr start : starts)
        code_.entered.add(start);
}

ExtentMap::Tables ExtentMap::read_tables(const Dispatch& dispatch,
                                         const ReadModule& read)
{
    std::vector<TargetAddr> labels;
    for (TargetAddr at : dispatch.tables)
        if (dispatch.function < at && at < dispatch.end)
            labels.push_back(at);
    Tables found;
    found.too_many = labels.size() > max_labels;
    if (found.too_many)
        labels.clear();
    for (TargetAddr table : dispatch.tables) {
        read_table(dispatch, table, table, read, found);
        for (TargetAddr label : labels)
            read_table(dispatch, table, label, read, found);
    }
    return found;
}

void ExtentMap::read_table(const Dispatch& dispatch, TargetAddr table, TargetAddr base,
                           const ReadModule& read, Tables& into)
{
    auto next = std::upper_bound(tables_.begin(), tables_.end(), table);
    std::uint64_t room =
        next == tables_.end() ? max_table_entries : (*next - table) / 4;
    for (std::uint64_t i = 0; i < std::min(room, max_table_entries); ++i) {
        std::array<std::byte, 4> raw{};
        if (!read || !read(table + i * 4, raw))
            break;
        auto offset = std::int64_t{std::bit_cast<std::int32_t>(raw)};
        TargetAddr target = base + static_cast<std::uint64_t>(offset);
        if (!targets_.covers(target))
            break;
        if (instructions_.has(target))
            into.targets.push_back(target);
        into.explained |= dispatch.function < target && target < dispatch.end;
    }
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

FurtherBlocks ExtentMap::blocks_from(TargetAddr at) const
{
    FurtherBlocks blocks{};
    for (std::uint8_t& length : blocks) {
        std::uint64_t n = extent(at).end - at;
        length =
            static_cast<std::uint8_t>(std::min<std::uint64_t>(n, 64)); // longest window
        if (n == 0 || n > length)
            break;
        at = at + length;
    }
    return blocks;
}

Extent ExtentMap::extent(TargetAddr at) const
{
    if (!instructions_.has(at) || lies_in(sections_, at))
        return {at, at};
    TargetAddr end = code_.bytes.next_missing(at, targets_.next(at + 1));
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
    // The last branch target may be inside an instruction, for example after its lock
    // prefix. An extent cannot begin there.
    if (!instructions_.has(first))
        first = at;
    if (at - first > furthest_back)
        first = instructions_.next(at - furthest_back);
    return {first, end};
}

} // namespace dt
