// SPDX-License-Identifier: MIT
#include "ptrace-agent/call_frames.hpp"

#include <algorithm>
#include <array>
#include <dwarf.h>
#include <gelf.h>
#include <limits>
#include <span>
#include <sys/stat.h>

namespace dt::agent {

// System V AMD64 ABI, figure 3.36.
enum DwarfRegister { dwarf_rbp = 6, dwarf_rsp = 7, dwarf_rip = 16 };

// A value that an expression comes to: a base plus a number, or the word there.
struct Term {
    enum Base : std::uint8_t { number, rsp, rbp, cfa } base = number;
    std::int64_t value = 0;
    bool word_at = false;
};

// The stack of an expression while it is evaluated. Anything but the few operations of
// call frame information ends it without a result.
class Evaluation {
public:
    explicit Evaluation(TargetAddr at) : at_(at) {}
    std::optional<Term> run(std::span<const Dwarf_Op> ops)
    {
        for (const Dwarf_Op& op : ops) {
            if (!step(op))
                return std::nullopt;
        }
        return n_ == 0 ? std::nullopt : std::optional(stack_[n_ - 1]);
    }

private:
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
            return push({Term::number, static_cast<std::int64_t>(at_.value) + offset});
        default:
            return false;
        }
    }
    bool binary(unsigned atom)
    {
        if (n_ < 2)
            return false;
        Term b = stack_[--n_];
        Term& a = stack_[n_ - 1];
        if (b.base != Term::number || a.word_at || b.word_at)
            return false;
        if (atom == DW_OP_plus) {
            a.value += b.value;
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
    bool step(const Dwarf_Op& op)
    {
        unsigned atom = op.atom;
        auto first = static_cast<std::int64_t>(op.number);
        if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
            return push_register(atom - DW_OP_breg0, first);
        if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
            return push({Term::number, static_cast<std::int64_t>(atom - DW_OP_lit0)});
        switch (atom) {
        case DW_OP_bregx:
            return push_register(op.number, static_cast<std::int64_t>(op.number2));
        case DW_OP_call_frame_cfa:
            return push({Term::cfa, 0});
        case DW_OP_plus_uconst:
            if (n_ == 0 || stack_[n_ - 1].word_at)
                return false;
            stack_[n_ - 1].value += first;
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

// Where a register of the caller is.
struct Saved {
    enum How : std::uint8_t { same, undefined, somewhere } how = same;
    Term at;
};
static std::optional<Saved> saved(Dwarf_Frame* frame, int number, TargetAddr pc)
{
    Dwarf_Op own[3];
    Dwarf_Op* ops = nullptr;
    std::size_t n = 0;
    if (dwarf_frame_register(frame, number, own, &ops, &n) != 0)
        return std::nullopt;
    if (n == 0)
        return Saved{ops == nullptr ? Saved::same : Saved::undefined, {}};
    auto at = Evaluation(pc).run({ops, n});
    if (!at || at->word_at)
        return std::nullopt;
    return Saved{Saved::somewhere, *at};
}

static bool set_cfa(dt_rt_rule& rule, Dwarf_Frame* frame, TargetAddr pc)
{
    Dwarf_Op* ops = nullptr;
    std::size_t n = 0;
    if (dwarf_frame_cfa(frame, &ops, &n) != 0 || n == 0)
        return false;
    auto cfa = Evaluation(pc).run({ops, n});
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

static bool set_rbp(dt_rt_rule& rule, Dwarf_Frame* frame, TargetAddr pc)
{
    auto rbp = saved(frame, dwarf_rbp, pc);
    if (!rbp || rbp->how == Saved::undefined)
        return false;
    rule.rbp_from = DT_RT_FROM_NONE;
    if (rbp->how == Saved::same)
        return true;
    if (!fits<std::int16_t>(rbp->at.value))
        return false;
    rule.rbp = static_cast<dt_s16>(rbp->at.value);
    if (rbp->at.base == Term::cfa)
        rule.rbp_from = DT_RT_FROM_CFA;
    else if (rbp->at.base == Term::rbp)
        rule.rbp_from = DT_RT_FROM_RBP;
    else
        return false;
    return true;
}

std::optional<dt_rt_rule> rule_of(Dwarf_Frame* frame, TargetAddr at)
{
    dt_rt_rule rule{};
    rule.at = at.value;
    bool signal = false;
    Dwarf_Addr begin = 0, end = 0;
    if (dwarf_frame_info(frame, &begin, &end, &signal) != dwarf_rip || signal)
        return std::nullopt;
    auto back = saved(frame, dwarf_rip, at);
    if (!back || back->how == Saved::same)
        return std::nullopt;
    if (back->how == Saved::undefined)
        return rule; // DT_RT_FROM_NONE
    constexpr std::int64_t under = -8;
    if (back->at.base != Term::cfa || back->at.value != under ||
        !set_cfa(rule, frame, at) || !set_rbp(rule, frame, at))
        return std::nullopt;
    return rule;
}

bool is_of_signal(Dwarf_Frame* frame)
{
    bool signal = false;
    return dwarf_frame_info(frame, nullptr, nullptr, &signal) >= 0 && signal;
}

bool is_computed(Dwarf_Frame* frame)
{
    Dwarf_Op* ops = nullptr;
    std::size_t n = 0;
    return dwarf_frame_cfa(frame, &ops, &n) == 0 && n > 1;
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
    cfi_ = dwarf_getcfi_elf(elf_);
}

CallFrames::~CallFrames()
{
    if (cfi_ != nullptr)
        dwarf_cfi_end(cfi_);
    elf_end(elf_);
}

// Finds the text in the file. Program headers can claim anything, so text ends where
// the file ends, and parts that share bytes of the file are skipped: they would be read
// more than once.
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
    if (cfi_ == nullptr)
        return std::nullopt;
    for (const Part& part : text_) {
        if (offset >= part.offset && offset - part.offset < part.end - part.begin)
            return part.begin + (offset - part.offset);
    }
    return std::nullopt;
}

FrameHandle CallFrames::frame_at(std::uint64_t address) const
{
    Dwarf_Frame* frame = nullptr;
    return FrameHandle(dwarf_cfi_addrframe(cfi_, address, &frame) == 0 ? frame
                                                                       : nullptr);
}

} // namespace dt::agent
