// SPDX-License-Identifier: MIT
#include "fasttrap/function.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace dt {

namespace {

constexpr std::size_t max_text_bytes = 4 << 20;
constexpr std::uint32_t max_entries = 4096;
constexpr std::uint32_t max_indirect =
    2048; // limits the time, because each jump requires a search for its table
constexpr std::uint32_t max_outside = 8;
constexpr std::size_t max_sweeps = 8; // bounds the time for hostile text

struct Range {
    std::uint32_t first;
    std::uint32_t end;
};

class Analysis {
public:
    Analysis(const Arch& arch, std::span<const std::byte> text, TargetAddr at,
             const ReadModule& read)
        : arch_(arch), text_(text), at_(at), read_(read)
    {
    }

    // Sweeps again if a table is inside the text, because the previous sweep decoded it
    // as code.
    FunctionSites run()
    {
        sweep();
        for (std::size_t n_data = 0, n = 0; data_.size() != n_data && n < max_sweeps;
             ++n) {
            n_data = data_.size();
            sites_ = {};
            sweep();
        }
        std::sort(sites_.tables.begin(), sites_.tables.end(),
                  [](const auto& a, const auto& b) { return a.jump < b.jump; });
        return std::move(sites_);
    }

private:
    bool inside(TargetAddr where) const { return where - at_ < text_.size(); }

    std::uint32_t skip_data(std::uint32_t offset) const
    {
        for (const Range& range : data_) {
            if (offset >= range.first && offset < range.end)
                return range.end;
        }
        return offset;
    }

    void sweep()
    {
        code_.clear();
        n_indirect_ = 0;
        auto end = static_cast<std::uint32_t>(text_.size());
        for (std::uint32_t offset = skip_data(0); offset < end;
             offset = skip_data(offset)) {
            Result<Instruction> insn =
                arch_.decode(text_.subspan(offset), at_ + offset);
            if (!insn) {
                sites_.undecodable.push_back(offset++);
                continue;
            }
            sites_.instructions.push_back(offset);
            code_.push_back(*insn);
            take(*insn, offset);
            offset += insn->length;
        }
    }

    void take(const Instruction& insn, std::uint32_t offset)
    {
        switch (insn.flow) {
        case ControlFlow::ret:
            sites_.returns.push_back({ReturnSite::ret, offset, {}});
            break;
        case ControlFlow::jump:
            if (!inside(insn.target))
                sites_.returns.push_back({ReturnSite::tail_jump, offset, insn.target});
            break;
        case ControlFlow::branch:
            if (!inside(insn.target))
                sites_.returns.push_back(
                    {ReturnSite::tail_branch, offset, insn.target});
            break;
        case ControlFlow::jump_indirect:
            take_indirect(offset);
            break;
        default:
            break;
        }
    }

    void take_indirect(std::uint32_t offset)
    {
        if (++n_indirect_ > max_indirect) {
            add_unresolved(offset);
            return;
        }
        IndirectJump jump = arch_.classify_jump(code_);
        if (jump.kind == IndirectJump::tail_call) {
            sites_.returns.push_back({ReturnSite::tail_indirect, offset, {}});
            return;
        }
        JumpTable table;
        if (jump.kind == IndirectJump::table && read_table(jump, table)) {
            // A table without targets is an array of functions, so this is a tail
            // call.
            if (table.targets.empty()) {
                sites_.returns.push_back({ReturnSite::tail_indirect, offset, {}});
                return;
            }
            table.jump = offset;
            note_data(jump, table);
            sites_.tables.push_back(std::move(table));
            return;
        }
        add_unresolved(offset);
    }

    void add_unresolved(std::uint32_t offset)
    {
        sites_.unresolved_jumps.push_back(offset);
        sites_.returns.push_back({ReturnSite::unresolved, offset, {}});
    }

    bool read_bytes(TargetAddr from, std::span<std::byte> into) const
    {
        if (inside(from) && from - at_ + into.size() <= text_.size()) {
            auto begin = text_.begin() + static_cast<std::ptrdiff_t>(from - at_);
            std::copy_n(begin, into.size(), into.begin());
            return true;
        }
        return read_ && read_(from, into);
    }

    bool read_entry(const IndirectJump& jump, std::uint32_t i, TargetAddr& target) const
    {
        std::array<std::byte, 8> raw{};
        TargetAddr from = jump.table_at + std::uint64_t(i) * jump.entry_size;
        if (!read_bytes(from, std::span(raw).first(jump.entry_size)))
            return false;
        auto value = std::bit_cast<std::uint64_t>(raw);
        if (jump.entry_size == 4)
            target = jump.table_at +
                     static_cast<std::uint64_t>(static_cast<std::int32_t>(value));
        else
            target = TargetAddr{value};
        return true;
    }

    // Reads the entries of a table. Returns true if the table is a jump table or an
    // array of functions. Stores in table.targets the targets that are inside the
    // function. An array of functions has no such targets, because the jump is a tail
    // call.
    //
    // Some entries of a jump table may lead to a cold part outside the function. If the
    // number of entries is known from a bound check, one entry that leads into the
    // function is enough. Otherwise at least half of the entries, and at least two,
    // must lead into the function.
    bool read_table(const IndirectJump& jump, JumpTable& table) const
    {
        bool bounded = jump.n_entries != 0;
        std::uint32_t limit =
            bounded ? std::min(jump.n_entries, max_entries) : max_entries;
        std::uint32_t n_inside = 0;
        std::uint32_t n_outside = 0;
        for (std::uint32_t i = 0; i < limit && n_outside < max_outside; ++i) {
            TargetAddr target;
            if (!read_entry(jump, i, target))
                break;
            if (inside(target)) {
                ++n_inside;
                table.n_entries = i + 1;
                table.targets.push_back(static_cast<std::uint32_t>(target - at_));
            }
            n_outside = inside(target) || bounded ? 0 : n_outside + 1;
        }
        table.table = jump.table_at;
        if (bounded)
            table.n_entries = limit;
        std::sort(table.targets.begin(), table.targets.end());
        table.targets.erase(std::unique(table.targets.begin(), table.targets.end()),
                            table.targets.end());
        if (n_inside == 0)
            return jump.entry_size == 8 && is_function_array(jump);
        return bounded || (n_inside >= 2 && n_inside * 2 >= table.n_entries);
    }

    // Returns whether the first entry is a nonzero address. An entry that the dynamic
    // linker writes at run time is 0.
    bool is_function_array(const IndirectJump& jump) const
    {
        TargetAddr first;
        return read_entry(jump, 0, first) && first.value != 0;
    }

    void note_data(const IndirectJump& jump, const JumpTable& table)
    {
        if (!inside(jump.table_at))
            return;
        auto first = static_cast<std::uint32_t>(jump.table_at - at_);
        auto size = static_cast<std::uint64_t>(table.n_entries) * jump.entry_size;
        auto end = static_cast<std::uint32_t>(
            std::min<std::uint64_t>(first + size, text_.size()));
        for (const Range& range : data_) {
            if (range.first == first && range.end >= end)
                return;
        }
        data_.push_back({first, end});
    }

    const Arch& arch_;
    std::span<const std::byte> text_;
    TargetAddr at_;
    const ReadModule& read_;
    std::vector<Instruction> code_;
    std::vector<Range> data_;
    FunctionSites sites_;
    std::uint32_t n_indirect_ = 0;
};

} // namespace

bool FunctionSites::is_boundary(std::uint32_t offset) const
{
    return std::binary_search(instructions.begin(), instructions.end(), offset);
}

Result<FunctionSites> analyze_function(const Arch& arch,
                                       std::span<const std::byte> text, TargetAddr at,
                                       const ReadModule& read)
{
    if (text.empty())
        return Error{Code::invalid, "the function has no code"};
    if (text.size() > max_text_bytes)
        return Error{Code::invalid, "the function is longer than 4 MiB"};
    return Analysis(arch, text, at, read).run();
}

} // namespace dt
