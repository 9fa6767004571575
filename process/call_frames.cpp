// SPDX-License-Identifier: MIT
#include "process/call_frames.hpp"

#include "process/frame_reader.hpp"

#include <algorithm>
#include <array>
#include <dwarf.h>
#include <gelf.h>
#include <limits>
#include <string_view>
#include <sys/stat.h>

namespace dt {

// Adds modulo 2^64 (DWARF 5, 2.5.1.4). The numbers come from an untrusted file, so a
// signed addition could overflow.
static std::int64_t wrapping_sum(std::int64_t a, std::int64_t b)
{
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) +
                                     static_cast<std::uint64_t>(b));
}

// The result of an expression: a base plus a number, or the word at that address.
struct Term {
    enum Base : std::uint8_t { number, rsp, rbp, cfa } base = number;
    std::int64_t value = 0;
    bool word_at = false;
};

// Evaluates a DWARF expression with a small stack of terms. Supports only the
// operations that call frame information uses.
class Evaluation {
public:
    explicit Evaluation(TargetAddr at) : at_(at) {}
    std::optional<Term> run(FrameBytes expression)
    {
        FrameReader in(expression);
        while (!in.at_end())
            if (!step(in) || in.bad())
                return std::nullopt;
        return n_ == 0 ? std::nullopt : std::optional(stack_[n_ - 1]);
    }
    bool push(Term term)
    {
        if (n_ == stack_.size())
            return false;
        stack_[n_++] = term;
        return true;
    }
    bool push_register(std::uint64_t number, std::int64_t offset)
    {
        switch (number) {
        case dwarf_rsp:
            return push({Term::rsp, offset});
        case dwarf_rbp:
            return push({Term::rbp, offset});
        case dwarf_rip:
            return push({Term::number,
                         wrapping_sum(static_cast<std::int64_t>(at_.value), offset)});
        default:
            return false;
        }
    }
    std::optional<Term> top() const
    {
        return n_ == 0 ? std::nullopt : std::optional(stack_[n_ - 1]);
    }

private:
    bool binary(unsigned atom)
    {
        if (n_ < 2)
            return false;
        Term b = stack_[--n_];
        Term& a = stack_[n_ - 1];
        if (b.base != Term::number || a.word_at || b.word_at)
            return false;
        if (atom == DW_OP_plus) {
            a.value = wrapping_sum(a.value, b.value);
            return true;
        }
        if (a.base != Term::number)
            return false;
        if (atom == DW_OP_and)
            a.value &= b.value;
        else if (atom == DW_OP_ge)
            a.value = a.value >= b.value ? 1 : 0;
        else if (b.value >= 0 && b.value < 32)
            a.value = static_cast<std::int64_t>(static_cast<std::uint64_t>(a.value)
                                                << b.value);
        else
            return false;
        return true;
    }
    bool step(FrameReader& in)
    {
        const unsigned atom = in.byte();
        if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
            return push_register(atom - DW_OP_breg0, in.sleb());
        if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
            return push({Term::number, static_cast<std::int64_t>(atom - DW_OP_lit0)});
        switch (atom) {
        case DW_OP_bregx: {
            const std::uint64_t reg = in.uleb();
            return push_register(reg, in.sleb());
        }
        case DW_OP_call_frame_cfa:
            return push({Term::cfa, 0});
        case DW_OP_plus_uconst:
            if (n_ == 0 || stack_[n_ - 1].word_at)
                return false;
            stack_[n_ - 1].value =
                wrapping_sum(stack_[n_ - 1].value, in.uleb_as_signed());
            return true;
        case DW_OP_deref:
            if (n_ == 0 || stack_[n_ - 1].word_at)
                return false;
            return stack_[n_ - 1].word_at = true;
        case DW_OP_plus:
        case DW_OP_and:
        case DW_OP_ge:
        case DW_OP_shl:
            return binary(atom);
        default:
            return false;
        }
    }

    TargetAddr at_;
    std::array<Term, 8> stack_{};
    std::size_t n_ = 0;
};

template <class T> static bool fits(std::int64_t value)
{
    return value >= std::numeric_limits<T>::min() &&
           value <= std::numeric_limits<T>::max();
}

// Returns the place where the caller's value of a register is saved. Returns nothing if
// the value is not in memory, or if its address is not a base plus a number.
static std::optional<Term> place_of(const RegisterRule& rule, TargetAddr pc)
{
    if (rule.how == RegisterRule::offset)
        return Term{Term::cfa, rule.offset_from_cfa};
    if (rule.how != RegisterRule::expression)
        return std::nullopt;
    Evaluation evaluation(pc);
    evaluation.push({Term::cfa, 0});
    auto at = evaluation.run(rule.by);
    return at && !at->word_at ? at : std::nullopt;
}

static bool set_cfa(dt_rt_rule& rule, const FrameRow& row, TargetAddr pc)
{
    Evaluation evaluation(pc);
    std::optional<Term> cfa;
    if (!row.cfa_by.empty())
        cfa = evaluation.run(row.cfa_by);
    else if (row.has_cfa && evaluation.push_register(row.cfa_register, row.cfa_offset))
        cfa = evaluation.top();
    if (!cfa || !fits<std::int32_t>(cfa->value))
        return false;
    rule.cfa = static_cast<dt_s32>(cfa->value);
    if (cfa->base == Term::rsp && !cfa->word_at)
        rule.from = DT_RT_FROM_RSP;
    else if (cfa->base == Term::rbp)
        rule.from = cfa->word_at ? DT_RT_FROM_AT_RBP : DT_RT_FROM_RBP;
    else
        return false;
    return true;
}

static bool is_unchanged(const RegisterRule& rule)
{
    return rule.how == RegisterRule::same || rule.how == RegisterRule::unspecified;
}

static bool set_rbp(dt_rt_rule& rule, const FrameRow& row, TargetAddr pc)
{
    rule.rbp_from = DT_RT_FROM_NONE;
    if (is_unchanged(row.rbp))
        return true;
    auto rbp = place_of(row.rbp, pc);
    if (!rbp || !fits<std::int16_t>(rbp->value))
        return false;
    rule.rbp = static_cast<dt_s16>(rbp->value);
    if (rbp->base == Term::cfa)
        rule.rbp_from = DT_RT_FROM_CFA;
    else if (rbp->base == Term::rbp)
        rule.rbp_from = DT_RT_FROM_RBP;
    else
        return false;
    return true;
}

std::optional<dt_rt_rule> rule_of(const FrameRow& row, TargetAddr at)
{
    dt_rt_rule rule{};
    rule.at = at.value;
    if (row.is_of_signal || is_unchanged(row.rip))
        return std::nullopt;
    if (row.rip.how == RegisterRule::undefined)
        return rule; // rule.from is DT_RT_FROM_NONE, because there is no caller
    constexpr std::int64_t under = -8;
    auto back = place_of(row.rip, at);
    if (!back || back->base != Term::cfa || back->value != under ||
        !set_cfa(rule, row, at) || !set_rbp(rule, row, at))
        return std::nullopt;
    return rule;
}

CallFrames::CallFrames(Fd file) : fd_(std::move(file))
{
    struct stat is {};
    if (!fd_ || ::fstat(fd_.get(), &is) != 0 || !S_ISREG(is.st_mode) ||
        is.st_size > static_cast<off_t>(max_file_bytes))
        return;
    file_bytes_ = static_cast<std::uint64_t>(is.st_size);
    elf_version(EV_CURRENT);
    elf_ = elf_begin(fd_.get(), ELF_C_READ, nullptr);
    if (elf_ == nullptr)
        return;
    find_text();
    if (auto section = find_section())
        table_.emplace(section->bytes, section->addr);
    else if (auto loaded = find_loaded())
        table_.emplace(loaded->bytes, loaded->addr);
}

CallFrames::~CallFrames()
{
    elf_end(elf_);
}

static FrameBytes bytes_of(const Elf_Data* data)
{
    if (data == nullptr || data->d_buf == nullptr)
        return {};
    return {static_cast<const std::uint8_t*>(data->d_buf), data->d_size};
}

std::optional<CallFrames::Frames> CallFrames::find_section()
{
    std::size_t names = 0;
    if (elf_getshdrstrndx(elf_, &names) != 0)
        return std::nullopt;
    for (Elf_Scn* section = nullptr;
         (section = elf_nextscn(elf_, section)) != nullptr;) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS ||
            (header.sh_flags & SHF_COMPRESSED) != 0)
            continue;
        const char* name = elf_strptr(elf_, names, header.sh_name);
        if (name == nullptr || std::string_view(name) != ".eh_frame")
            continue;
        if (header.sh_size > CallFrameTable::max_bytes)
            return std::nullopt;
        return Frames{bytes_of(elf_rawdata(section, nullptr)), header.sh_addr};
    }
    return std::nullopt;
}

// Finds .eh_frame without section headers, through .eh_frame_hdr.
std::optional<CallFrames::Frames> CallFrames::find_loaded()
{
    std::size_t n = 0;
    if (elf_getphdrnum(elf_, &n) != 0)
        return std::nullopt;
    std::optional<std::uint64_t> at;
    for (std::size_t i = 0; i < n && !at; ++i) {
        GElf_Phdr part;
        constexpr std::size_t address_at = 4, most = address_at + sizeof(std::uint64_t);
        if (gelf_getphdr(elf_, static_cast<int>(i), &part) == nullptr ||
            part.p_type != PT_GNU_EH_FRAME || part.p_filesz < most)
            continue;
        FrameReader in(bytes_of(elf_getdata_rawchunk(
            elf_, static_cast<std::int64_t>(part.p_offset), most, ELF_T_BYTE)));
        const bool is_known = in.byte() == 1;
        const std::uint8_t encoding = in.byte();
        in.skip(2);
        at = read_frame_address(in, encoding, part.p_vaddr + address_at);
        if (!is_known || !at)
            return std::nullopt;
    }
    for (std::size_t i = 0; at && i < n; ++i) {
        GElf_Phdr part;
        if (gelf_getphdr(elf_, static_cast<int>(i), &part) == nullptr ||
            part.p_type != PT_LOAD || *at < part.p_vaddr ||
            *at - part.p_vaddr >= part.p_filesz)
            continue;
        const std::uint64_t offset = part.p_offset + (*at - part.p_vaddr);
        if (offset < part.p_offset || offset >= file_bytes_)
            return std::nullopt;
        const std::uint64_t n_bytes =
            std::min({part.p_filesz - (*at - part.p_vaddr), file_bytes_ - offset,
                      CallFrameTable::max_bytes});
        return Frames{
            bytes_of(elf_getdata_rawchunk(elf_, static_cast<std::int64_t>(offset),
                                          n_bytes, ELF_T_BYTE)),
            *at};
    }
    return std::nullopt;
}

// Finds the text in the file. Program headers are untrusted: text is limited to the
// file's size, and overlapping parts are skipped.
void CallFrames::find_text()
{
    constexpr std::size_t max_parts = 64;
    std::size_t n = 0;
    if (elf_getphdrnum(elf_, &n) != 0)
        return;
    std::uint64_t end_of_last = 0;
    for (std::size_t i = 0; i < n && text_.size() < max_parts; ++i) {
        GElf_Phdr part;
        if (gelf_getphdr(elf_, static_cast<int>(i), &part) == nullptr)
            return;
        if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0 ||
            part.p_offset < end_of_last || part.p_offset >= file_bytes_)
            continue;
        const std::uint64_t bytes =
            std::min(part.p_filesz, file_bytes_ - part.p_offset);
        if (part.p_vaddr + bytes < part.p_vaddr)
            continue;
        end_of_last = part.p_offset + bytes;
        text_.push_back({part.p_vaddr, part.p_vaddr + bytes, part.p_offset});
    }
}

std::optional<std::uint64_t> CallFrames::address_of(std::uint64_t offset) const
{
    if (!table_)
        return std::nullopt;
    for (const Part& part : text_) {
        if (offset >= part.offset && offset - part.offset < part.end - part.begin)
            return part.begin + (offset - part.offset);
    }
    return std::nullopt;
}

const FrameRow* CallFrames::frame_at(std::uint64_t address)
{
    return table_ ? table_->row_at(address) : nullptr;
}

} // namespace dt
