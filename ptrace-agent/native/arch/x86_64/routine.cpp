// SPDX-License-Identifier: MIT
#include "ptrace-agent/native/arch/x86_64/routine.hpp"

#include "dif/actions.h"
#include "ptrace-agent/runtime/image.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace dt::native::x86 {

using namespace Xbyak::util;

constexpr std::uint32_t owner_died = 0x40000000; // FUTEX_OWNER_DIED

Routine::Routine(const ClausePlan& plan, const Target& target, std::uint64_t at,
                 std::vector<Reg64> save)
    : plan_(plan), target_(target), a_(target.image, at), save_(std::move(save))
{
    bool time = plan.for_predicate.time || plan.for_steps.time;
    std::vector<std::uint32_t> ids = plan.for_predicate.self;
    ids.insert(ids.end(), plan.for_steps.self.begin(), plan.for_steps.self.end());
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    one_variable_ = ids.size() == 1;
    bool keyed = std::any_of(plan.steps.begin(), plan.steps.end(),
                             [](const Step& step) { return !step.key.empty(); });
    bool thread = plan.for_predicate.thread || plan.for_steps.thread;
    has_variables_ = !ids.empty();
    uses_thread_ids_ = thread;
    flags_ = time || keyed || thread || !ids.empty() || plan.n_registers > 2
                 ? Flags::on_stack
                 : Flags::in_ax;
    if (flags_ == Flags::on_stack)
        pool_.push_back(rax);
    pool_.push_back(rdx);
    if (ids.empty())
        pool_.push_back(r10);
    if (!time)
        pool_.push_back(r11);
    ahead_ = plan.for_predicate.ahead | plan.for_steps.ahead;
    for (const Reg64& reg : {r8, r9, rsi, rdi})
        if (!is_argument(reg))
            pool_.push_back(reg);
}

// Returns whether the register contains an argument that the clause reads there.
bool Routine::is_argument(Reg64 reg) const
{
    for (std::uint32_t n = 0; n < max_operands; ++n)
        if ((plan_.arguments_read & 1u << n) != 0)
            if (auto its = argument_register(n); its && its->getIdx() == reg.getIdx())
                return true;
    return false;
}

Reg64 Routine::use(Reg64 reg)
{
    if (reg.getIdx() != rax.getIdx() && reg.getIdx() != rcx.getIdx() &&
        std::none_of(used_.begin(), used_.end(),
                     [&](const Reg64& r) { return r.getIdx() == reg.getIdx(); }))
        used_.push_back(reg);
    return reg;
}

bool Routine::in_pool(Reg64 reg) const
{
    return std::any_of(pool_.begin(), pool_.end(),
                       [&](const Reg64& r) { return r.getIdx() == reg.getIdx(); });
}

void Routine::hold(Reg64 reg)
{
    pool_.erase(std::remove(pool_.begin(), pool_.end(), reg), pool_.end());
    held_.push_back(use(reg));
}

void Routine::release(Reg64 reg)
{
    auto held = std::find(held_.begin(), held_.end(), reg);
    if (held == held_.end())
        return;
    pool_.insert(pool_.begin(), reg);
    held_.erase(held);
}

Reg64 Routine::temporary(std::initializer_list<Reg64> but)
{
    for (const Reg64& reg : pool_)
        if (std::none_of(but.begin(), but.end(),
                         [&](const Reg64& r) { return r.getIdx() == reg.getIdx(); }))
            return use(reg);
    fail("it needs more registers");
    return rdx;
}

std::size_t Routine::n_slots() const
{
    return static_cast<std::size_t>(std::popcount(ahead_));
}

std::size_t Routine::above(unsigned word) const
{
    return n_slots() + save_.size() + (flags_ == Flags::on_stack ? 1 : 0) + word;
}

Xbyak::Address Routine::saved(unsigned word) const
{
    return qword[rsp + 8 * above(word)];
}

std::optional<Xbyak::Address> Routine::saved(Reg64 reg) const
{
    for (std::size_t i = 0; i < save_.size(); ++i)
        if (save_[i].getIdx() == reg.getIdx())
            return qword[rsp + 8 * (n_slots() + save_.size() - 1 - i)];
    return std::nullopt;
}

void Routine::enter()
{
    a_.mov(rbx, rax);
    a_.lahf();
    a_.seto(al);
    if (flags_ == Flags::on_stack)
        a_.push(rax);
    for (const Reg64& reg : save_)
        a_.push(reg);
    if (ahead_ != 0)
        a_.lea(rsp, ptr[rsp - 8 * n_slots()]);
    a_.test(dword[a_.config(offsetof(dt_rt_config, alive))], owner_died);
    a_.jnz(leave_); // the engine would do nothing either
    // Another clause may have been added to the probe since.
    const std::uint32_t n = plan_.place.n_clauses;
    a_.mov(rcx, ptr[rbx + offsetof(dt_rt_site, probe)]);
    a_.cmp(dword[rcx + offsetof(dt_probe, flags)],
           n << DT_PROBE_ECBS_SHIFT | (n > 1 ? DT_PROBE_MANY : 0));
    a_.jne(bail_);
}

// Restores all registers except those that dt_rt_enter pushed. The flags are in %ax then.
void Routine::restore()
{
    if (ahead_ != 0)
        a_.lea(rsp, ptr[rsp + 8 * n_slots()]);
    for (std::size_t i = save_.size(); i-- > 0;)
        a_.pop(save_[i]);
    if (flags_ == Flags::on_stack)
        a_.pop(rax);
}

void Routine::leave()
{
    a_.L(leave_);
    restore();
    a_.add(al, 0x7f); // sets OF if al is 1
    a_.sahf();
    if (plan_.place.is_last) {
        a_.mov(rax, rbx);
        a_.jmp(a_.image_at(runtime_header().skip), Assembler::T_NEAR);
        return;
    }
    a_.mov(ebx, ptr[rbx + offsetof(dt_rt_site, next)]);
    to_site();
    a_.jmp(ptr[rax + offsetof(dt_rt_site, code)]);
}

// Computes the address of the site with the index %ebx in %rax, which is how dt_rt_enter
// jumps to the code of a site. Does not change the flags.
void Routine::to_site()
{
    static_assert(sizeof(dt_rt_site) == 64);
    a_.lea(rax, ptr[rbx * 8]);
    a_.lea(rcx, ptr[a_.config(offsetof(dt_rt_config, sites))]);
    a_.lea(rax, ptr[rcx + rax * 8]);
}

// Jumps to the generic path, with %rax, %rbx and the flags as they were at the beginning.
void Routine::bail()
{
    a_.L(bail_);
    restore();
    a_.lea(rcx, ptr[a_.config(offsetof(dt_rt_config, sites))]);
    a_.sub(rbx, rcx);
    a_.shr(rbx, 6);
    a_.add(al, 0x7f);
    a_.sahf();
    to_site();
    a_.jmp(a_.image_at(runtime_header().generic), Assembler::T_NEAR);
}

void Routine::check_session()
{
    a_.mov(rcx, a_.literal(target_.arena + arena().session));
    a_.cmp(dword[rcx + offsetof(dt_session, activity)], DT_ACTIVITY_ACTIVE);
    a_.jne(bail_);
}

void Routine::find_keys()
{
    for (const Step& step : plan_.steps) {
        keys_.emplace_back();
        if (!step.key.empty())
            keys_.back() = find_key(step);
    }
}

void Routine::step(const Step& step, std::optional<Reg64> key)
{
    const dt_action& action = *step.action;
    std::optional<Reg64> v;
    if (step.value.difo != nullptr)
        v = value(step.value);
    if (action.kind == DTRACEAGG_count)
        count(action, key);
    else if (!v && (action.kind != DTRACEACT_PRINTF || action.rec_size != 0))
        fail("it has an action without a value");
    else if (action.kind == DTRACEAGG_sum)
        sum(action, key, *v);
    else if (action.kind == DTRACEAGG_quantize)
        quantize(action, key, *v);
    else if (action.rec_size != 0)
        record(action, *v);
    if (key)
        release(*key);
}

Result<Compiled> Routine::emit()
{
    enter();
    if (plan_.predicate.difo != nullptr) {
        need(plan_.for_predicate, {}, leave_);
        predicate();
    }
    check_session();
    need(plan_.for_steps, plan_.for_predicate, bail_);
    if (plan_.record_bytes != 0)
        hold(rax);
    find_keys();
    if (plan_.record_bytes != 0)
        take_shard();
    for (std::size_t i = 0; i < plan_.steps.size(); ++i)
        step(plan_.steps[i], keys_[i]);
    if (plan_.record_bytes != 0)
        publish();
    leave();
    bail();
    place_searches();
    place_lookups();
    place_shard_ends();
    place_sections();
    a_.place_literals();
    if (!failed_.empty())
        return Error{Code::unsupported, failed_};
    if (Xbyak::GetError() != Xbyak::ERR_NONE) {
        Xbyak::ClearError();
        return Error{Code::unsupported, "its code is too long"};
    }
    auto bytes = a_.bytes();
    Compiled compiled{{bytes.begin(), bytes.end()}, {}};
    for (auto& section : sections_)
        compiled.fixups.push_back({a_.offset_of(section->access),
                                   a_.offset_of(section->accessed),
                                   a_.offset_of(section->abort)});
    for (auto& access : accesses_)
        compiled.fixups.push_back({a_.offset_of(access->begin),
                                   a_.offset_of(access->end), a_.offset_of(bail_)});
    return compiled;
}

} // namespace dt::native::x86

namespace dt::native {

Result<Compiled> compile(const ClausePlan& plan, const Target& target, std::uint64_t at)
{
    const auto &before = plan.for_predicate, &after = plan.for_steps;
    bool asks =
        !before.self.empty() || !after.self.empty() || before.thread || after.thread;
    if (asks && !target.has_rdfsbase)
        return Error{
            Code::unsupported,
            "it uses ids or variables of the thread, and there is no rdfsbase"};
    // Emit the code once to find which registers have to be saved.
    x86::Routine sketch(plan, target, at, {});
    if (auto code = sketch.emit(); !code)
        return code;
    if (sketch.used().size() + sketch.n_slots() + 1 > x86::Routine::max_words)
        return Error{Code::unsupported, "it uses too much of the stack"};
    return x86::Routine(plan, target, at, sketch.used()).emit();
}

} // namespace dt::native
