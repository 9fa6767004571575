// SPDX-License-Identifier: MIT
#include "ptrace-agent/native/arch/x86_64/register_pool.hpp"

#include <algorithm>
#include <bit>

namespace dt::native::x86 {

using namespace Xbyak::util;

// Returns whether the argument is a full 64-bit register that the routine never
// changes. rsi, rdi, r8 and r9 are not in the pool if the clause reads an argument from
// them.
static bool is_direct(const ClausePlan& plan, std::uint32_t n)
{
    if (n >= plan.operands.size())
        return false;
    const dt_operand& operand = plan.operands[n];
    if (operand.form != DT_OPERAND_GENERAL || operand.bytes != 8 ||
        (operand.flags & DT_OPERAND_HIGH_BYTE) != 0)
        return false;
    switch (operand.reg) {
    case Xbyak::Operand::RBP:
    case Xbyak::Operand::RSI:
    case Xbyak::Operand::RDI:
    case Xbyak::Operand::R8:
    case Xbyak::Operand::R9:
    case Xbyak::Operand::R12:
    case Xbyak::Operand::R13:
    case Xbyak::Operand::R14:
    case Xbyak::Operand::R15:
        return true;
    default:
        return false;
    }
}

std::optional<Reg64> argument_register(const ClausePlan& plan, std::uint32_t n)
{
    if (plan.arguments == Arguments::of_return)
        return std::nullopt;
    if (plan.arguments == Arguments::of_static)
        return is_direct(plan, n) ? std::optional(Reg64(plan.operands[n].reg))
                                  : std::nullopt;
    switch (n) {
    case 0:
        return rdi;
    case 1:
        return rsi;
    case 4:
        return r8;
    case 5:
        return r9;
    default:
        return std::nullopt; // the routine changes rcx (arg3) and rdx (arg2)
    }
}

RegisterPool::RegisterPool(const ClausePlan& plan, std::vector<Reg64> save)
    : plan_(plan), save_(std::move(save)),
      ahead_(plan.for_predicate.ahead | plan.for_steps.ahead)
{
    const bool time = plan.for_predicate.time || plan.for_steps.time;
    const bool thread = plan.for_predicate.thread || plan.for_steps.thread;
    const bool variables =
        !plan.for_predicate.self.empty() || !plan.for_steps.self.empty();
    const bool keyed = std::any_of(plan.steps.begin(), plan.steps.end(),
                                   [](const Step& step) { return !step.key.empty(); });
    flags_on_stack_ = time || keyed || thread || variables || plan.n_registers > 2;
    if (flags_on_stack_)
        pool_.push_back(rax);
    pool_.push_back(rdx);
    if (!variables)
        pool_.push_back(r10);
    if (!time)
        pool_.push_back(r11);
    for (const Reg64& reg : {r8, r9, rsi, rdi})
        if (!is_argument(reg))
            pool_.push_back(reg);
}

// Returns whether the clause reads an argument from this register.
bool RegisterPool::is_argument(Reg64 reg) const
{
    for (std::uint32_t n = 0; n < max_operands; ++n)
        if ((plan_.arguments_read & 1u << n) != 0)
            if (auto its = argument_register(plan_, n);
                its && its->getIdx() == reg.getIdx())
                return true;
    return false;
}

Reg64 RegisterPool::use(Reg64 reg)
{
    if (reg.getIdx() != rax.getIdx() && reg.getIdx() != rcx.getIdx() &&
        std::none_of(used_.begin(), used_.end(),
                     [&](const Reg64& r) { return r.getIdx() == reg.getIdx(); }))
        used_.push_back(reg);
    return reg;
}

bool RegisterPool::in_pool(Reg64 reg) const
{
    return std::any_of(pool_.begin(), pool_.end(),
                       [&](const Reg64& r) { return r.getIdx() == reg.getIdx(); });
}

void RegisterPool::hold(Reg64 reg)
{
    pool_.erase(std::remove(pool_.begin(), pool_.end(), reg), pool_.end());
    held_.push_back(use(reg));
}

void RegisterPool::release(Reg64 reg)
{
    auto held = std::find(held_.begin(), held_.end(), reg);
    if (held == held_.end())
        return;
    pool_.insert(pool_.begin(), reg);
    held_.erase(held);
}

Reg64 RegisterPool::temporary(std::initializer_list<Reg64> but)
{
    for (const Reg64& reg : pool_)
        if (std::none_of(but.begin(), but.end(),
                         [&](const Reg64& r) { return r.getIdx() == reg.getIdx(); }))
            return use(reg);
    exhausted_ = true;
    return rdx;
}

std::size_t RegisterPool::n_slots() const
{
    return static_cast<std::size_t>(std::popcount(ahead_));
}

std::size_t RegisterPool::above(unsigned word) const
{
    return n_slots() + save_.size() + (flags_on_stack_ ? 1 : 0) + word;
}

Xbyak::Address RegisterPool::saved(unsigned word) const
{
    return qword[rsp + 8 * above(word)];
}

std::optional<Xbyak::Address> RegisterPool::saved(Reg64 reg) const
{
    for (std::size_t i = 0; i < save_.size(); ++i)
        if (save_[i].getIdx() == reg.getIdx())
            return qword[rsp + 8 * (n_slots() + save_.size() - 1 - i)];
    return std::nullopt;
}

} // namespace dt::native::x86
