// SPDX-License-Identifier: MIT
// Parses call frame information. Sources: section 6.4 of DWARF 5 for the instructions,
// and the Linux Standard Base for the layout of .eh_frame.
#include "process/call_frame_table.hpp"

#include "process/frame_reader.hpp"

#include <algorithm>
#include <dwarf.h>

namespace dt {

constexpr std::uint8_t encoding_of_format = 0x0f, encoding_of_base = 0x70;

std::optional<std::uint64_t> read_frame_address(FrameReader& in, std::uint8_t encoding,
                                                std::uint64_t at)
{
    std::uint64_t value = 0;
    switch (encoding & encoding_of_format) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
        value = in.fixed<std::uint64_t>();
        break;
    case DW_EH_PE_udata2:
        value = in.fixed<std::uint16_t>();
        break;
    case DW_EH_PE_sdata2:
        value = static_cast<std::uint64_t>(std::int64_t{in.fixed<std::int16_t>()});
        break;
    case DW_EH_PE_udata4:
        value = in.fixed<std::uint32_t>();
        break;
    case DW_EH_PE_sdata4:
        value = static_cast<std::uint64_t>(std::int64_t{in.fixed<std::int32_t>()});
        break;
    default:
        return std::nullopt;
    }
    const int base = encoding & encoding_of_base;
    if (in.bad() || (encoding & DW_EH_PE_indirect) != 0 ||
        (base != DW_EH_PE_absptr && base != DW_EH_PE_pcrel))
        return std::nullopt;
    return base == DW_EH_PE_pcrel ? at + value : value;
}

namespace {

// Runs the call frame instructions of one entry and collects the rows that they define.
class EntryRun {
public:
    struct Factors {
        std::uint64_t code = 1;
        std::int64_t data = 1;
    };
    EntryRun(FrameRow first, std::uint64_t end, Factors factors)
        : now_(first), end_(end), factors_(factors)
    {
    }

    // Runs the instructions of the CIE, which set the state at the first address.
    bool run_common(FrameBytes instructions)
    {
        if (!run(instructions))
            return false;
        initial_ = now_;
        return rows_.empty() && remembered_.empty();
    }
    bool run(FrameBytes instructions)
    {
        FrameReader in(instructions);
        while (!in.at_end() && now_.begin < end_)
            if (!step(in) || in.bad())
                return false;
        return true;
    }
    std::vector<FrameRow> finish()
    {
        if (now_.begin < end_) {
            now_.end = end_;
            rows_.push_back(now_);
        }
        return std::move(rows_);
    }

private:
    void advance(std::uint64_t n)
    {
        std::uint64_t bytes = 0;
        if (__builtin_mul_overflow(n, factors_.code, &bytes))
            bytes = end_ - now_.begin;
        if (bytes == 0)
            return;
        now_.end = now_.begin + std::min(bytes, end_ - now_.begin);
        rows_.push_back(now_);
        now_.begin = now_.end;
    }
    std::int64_t scaled(std::int64_t n) const
    {
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(n) *
                                         static_cast<std::uint64_t>(factors_.data));
    }
    static RegisterRule* rule_in(FrameRow& row, std::uint64_t reg)
    {
        return reg == dwarf_rbp ? &row.rbp : reg == dwarf_rip ? &row.rip : nullptr;
    }
    bool set(std::uint64_t reg, RegisterRule rule)
    {
        if (RegisterRule* known = rule_in(now_, reg))
            *known = rule;
        return true;
    }
    bool set_offset(std::uint64_t reg, std::int64_t offset)
    {
        return set(reg, {RegisterRule::offset, offset, {}});
    }
    bool restore(std::uint64_t reg)
    {
        if (const RegisterRule* rule = rule_in(initial_, reg))
            return set(reg, *rule);
        return true;
    }
    bool set_cfa(std::uint64_t reg, std::int64_t offset)
    {
        now_.has_cfa = true;
        now_.cfa_by = {};
        now_.cfa_register = reg;
        now_.cfa_offset = offset;
        return true;
    }
    bool is_cfa_of_register() const { return now_.has_cfa && now_.cfa_by.empty(); }
    bool remember()
    {
        if (remembered_.size() == CallFrameTable::max_remembered)
            return false;
        remembered_.push_back(now_);
        return true;
    }
    bool recall()
    {
        if (remembered_.empty())
            return false;
        const std::uint64_t begin = now_.begin;
        now_ = remembered_.back();
        now_.begin = begin;
        remembered_.pop_back();
        return true;
    }

    bool step(FrameReader& in)
    {
        const std::uint8_t opcode = in.byte();
        const std::uint8_t operand = opcode & 0x3f;
        switch (opcode & 0xc0) { // these three opcodes contain an operand
        case DW_CFA_advance_loc:
            advance(operand);
            return true;
        case DW_CFA_offset:
            return set_offset(operand, scaled(in.uleb_as_signed()));
        case DW_CFA_restore:
            return restore(operand);
        default:
            return extended(opcode, in);
        }
    }
    bool extended(std::uint8_t opcode, FrameReader& in)
    {
        std::uint64_t reg = 0;
        switch (opcode) {
        case DW_CFA_nop:
            return true;
        case DW_CFA_advance_loc1:
            advance(in.byte());
            return true;
        case DW_CFA_advance_loc2:
            advance(in.fixed<std::uint16_t>());
            return true;
        case DW_CFA_advance_loc4:
            advance(in.fixed<std::uint32_t>());
            return true;
        case DW_CFA_remember_state:
            return remember();
        case DW_CFA_restore_state:
            return recall();
        case DW_CFA_GNU_args_size:
            in.uleb();
            return true;
        case DW_CFA_def_cfa_offset:
            return is_cfa_of_register() &&
                   set_cfa(now_.cfa_register, in.uleb_as_signed());
        case DW_CFA_def_cfa_offset_sf:
            return is_cfa_of_register() &&
                   set_cfa(now_.cfa_register, scaled(in.sleb()));
        case DW_CFA_def_cfa_expression:
            now_.cfa_by = in.block();
            now_.has_cfa = !now_.cfa_by.empty();
            return now_.has_cfa;
        default:
            break;
        }
        reg = in.uleb(); // the other opcodes have a register as first operand
        switch (opcode) {
        case DW_CFA_offset_extended:
            return set_offset(reg, scaled(in.uleb_as_signed()));
        case DW_CFA_offset_extended_sf:
            return set_offset(reg, scaled(in.sleb()));
        case DW_CFA_GNU_negative_offset_extended:
            // The unsigned negation of -2^63 does not overflow.
            return set_offset(reg, scaled(static_cast<std::int64_t>(-in.uleb())));
        case DW_CFA_restore_extended:
            return restore(reg);
        case DW_CFA_undefined:
            return set(reg, {RegisterRule::undefined, 0, {}});
        case DW_CFA_same_value:
            return set(reg, {RegisterRule::same, 0, {}});
        case DW_CFA_register:
        case DW_CFA_val_offset:
        case DW_CFA_val_offset_sf:
            in.uleb(); // skips the operand; a signed LEB128 has the same length
            return set(reg, {RegisterRule::other, 0, {}});
        case DW_CFA_expression:
            return set(reg, {RegisterRule::expression, 0, in.block()});
        case DW_CFA_val_expression:
            in.block();
            return set(reg, {RegisterRule::other, 0, {}});
        case DW_CFA_def_cfa:
            return set_cfa(reg, in.uleb_as_signed());
        case DW_CFA_def_cfa_sf:
            return set_cfa(reg, scaled(in.sleb()));
        case DW_CFA_def_cfa_register:
            return is_cfa_of_register() && set_cfa(reg, now_.cfa_offset);
        default: // DW_CFA_set_loc, and instructions of other machines
            return false;
        }
    }

    FrameRow now_, initial_;
    std::uint64_t end_;
    Factors factors_;
    std::vector<FrameRow> rows_, remembered_;
};

} // namespace

CallFrameTable::CallFrameTable(FrameBytes section, std::uint64_t addr)
    : section_(section.first(std::min<std::uint64_t>(section.size(), max_bytes))),
      addr_(addr)
{
    read_entries();
    std::stable_sort(entries_.begin(), entries_.end(),
                     [](const Entry& a, const Entry& b) { return a.begin < b.begin; });
}

// Reads the entries. Each entry begins with its length, in 32 or 64 bits. The next 32
// bits are 0 in a common information entry (CIE). In any other entry, they are the
// distance in bytes back to the entry's CIE.
void CallFrameTable::read_entries()
{
    constexpr std::uint32_t is_64_bit = 0xffffffff;
    for (std::uint64_t at = 0; at < section_.size() && entries_.size() < max_entries;) {
        FrameReader in(section_.subspan(at));
        std::uint64_t length = in.fixed<std::uint32_t>();
        if (length == is_64_bit)
            length = in.fixed<std::uint64_t>();
        const std::uint64_t id_at = at + in.at();
        if (in.bad() || length < sizeof(std::uint32_t) ||
            length > section_.size() - id_at)
            return; // length 0 ends the section
        const std::uint32_t id = in.fixed<std::uint32_t>();
        const std::uint64_t body = id_at + sizeof id;
        if (id != 0 && id <= id_at)
            add_entry(body, section_.subspan(body, length - sizeof id), id_at - id);
        at = id_at + length;
    }
}

void CallFrameTable::add_entry(std::uint64_t at, FrameBytes body,
                               std::uint64_t common_place)
{
    Entry entry;
    const Common* common = common_at(common_place, entry.common);
    if (!common || !common->readable)
        return;
    FrameReader in(body);
    auto begin = read_frame_address(in, common->encoding, addr_ + at);
    auto n_bytes = read_frame_address(in, common->encoding & encoding_of_format, 0);
    if (!begin || !n_bytes)
        return;
    if (common->has_augmentation)
        in.skip(in.uleb());
    if (in.bad() || *n_bytes == 0 || *begin + *n_bytes < *begin ||
        body.size() - in.at() > max_instruction_bytes)
        return;
    entry.begin = *begin;
    entry.end = *begin + *n_bytes;
    entry.instructions = at + in.at();
    entry.n_bytes = static_cast<std::uint32_t>(body.size() - in.at());
    entries_.push_back(entry);
}

const CallFrameTable::Common* CallFrameTable::common_at(std::uint64_t at,
                                                        std::uint32_t& index)
{
    constexpr std::size_t most = 1 << 18;
    auto known = common_places_.find(at);
    if (known == common_places_.end()) {
        if (commons_.size() == most)
            return nullptr;
        const auto next = static_cast<std::uint32_t>(commons_.size());
        known = common_places_.emplace(at, next).first;
        commons_.push_back(read_common(at));
    }
    index = known->second;
    return &commons_[index];
}

CallFrameTable::Common CallFrameTable::read_common(std::uint64_t at) const
{
    constexpr std::uint32_t is_64_bit = 0xffffffff;
    Common out;
    FrameReader head(section_.subspan(at));
    std::uint64_t length = head.fixed<std::uint32_t>();
    if (length == is_64_bit)
        length = head.fixed<std::uint64_t>();
    const std::uint64_t body = at + head.at();
    if (head.bad() || length > section_.size() - body)
        return out;
    FrameReader in(section_.subspan(body, length));
    if (in.fixed<std::uint32_t>() != 0)
        return out;
    const std::uint8_t version = in.byte();
    const std::string_view augmentation = in.text();
    if (version != 1 && version != 3)
        return out;
    out.code_factor = in.uleb();
    out.data_factor = in.sleb();
    const std::uint64_t return_register = version == 1 ? in.byte() : in.uleb();
    if (return_register != dwarf_rip)
        return out;
    out.has_augmentation = augmentation.starts_with('z');
    if (!augmentation.empty() && !out.has_augmentation)
        return out;
    if (out.has_augmentation) {
        const std::uint64_t n_bytes = in.uleb(), data = in.at();
        for (const char letter : augmentation.substr(1)) {
            if (letter == 'R')
                out.encoding = in.byte();
            else if (letter == 'L')
                in.byte();
            else if (letter == 'S')
                out.is_of_signal = true;
            else if (letter == 'P') {
                const std::uint8_t encoding = in.byte();
                read_frame_address(in, encoding & encoding_of_format, 0);
            } else {
                break; // an unknown letter; n_bytes covers its data
            }
        }
        if (in.bad() || n_bytes > length - std::min(length, data))
            return out;
        in = FrameReader(section_.subspan(body, length));
        in.skip(data + n_bytes);
    }
    out.instructions = in.rest();
    out.readable = !in.bad() && out.instructions.size() <= max_common_bytes;
    return out;
}

void CallFrameTable::evaluate(const Entry& entry)
{
    const Common& common = commons_[entry.common];
    FrameRow first;
    first.begin = entry.begin;
    first.is_of_signal = common.is_of_signal;
    EntryRun entry_run(first, entry.end, {common.code_factor, common.data_factor});
    const bool readable =
        entry_run.run_common(common.instructions) &&
        entry_run.run(section_.subspan(entry.instructions, entry.n_bytes));
    rows_ = readable ? entry_run.finish() : std::vector<FrameRow>{};
    evaluated_ = &entry;
}

const FrameRow* CallFrameTable::row_at(std::uint64_t address)
{
    auto after = std::upper_bound(
        entries_.begin(), entries_.end(), address,
        [](std::uint64_t at, const Entry& entry) { return at < entry.begin; });
    if (after == entries_.begin() || address >= std::prev(after)->end)
        return nullptr;
    const Entry& entry = *std::prev(after);
    if (evaluated_ != &entry)
        evaluate(entry);
    auto row = std::upper_bound(
        rows_.begin(), rows_.end(), address,
        [](std::uint64_t at, const FrameRow& row) { return at < row.begin; });
    return row == rows_.begin() ? nullptr : &*std::prev(row);
}

} // namespace dt
