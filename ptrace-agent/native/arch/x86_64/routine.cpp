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

Routine::Routine(Frame& frame)
    : Part(frame), operands_(frame), recorder_(frame), counters_(frame)
{
    std::vector<std::uint32_t> ids = plan_.for_predicate.self;
    ids.insert(ids.end(), plan_.for_steps.self.begin(), plan_.for_steps.self.end());
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    one_variable_ = ids.size() == 1;
    has_variables_ = !ids.empty();
    uses_thread_ids_ = plan_.for_predicate.thread || plan_.for_steps.thread;
}

void Routine::enter()
{
    a_.mov(rbx, rax);
    a_.lahf();
    a_.seto(al);
    if (registers_.flags_on_stack())
        a_.push(rax);
    for (const Reg64& reg : registers_.saves())
        a_.push(reg);
    if (registers_.ahead() != 0)
        a_.lea(rsp, ptr[rsp - 8 * registers_.n_slots()]);
    a_.test(dword[a_.config(offsetof(dt_rt_config, alive))], owner_died);
    a_.jnz(leave_); // the agent is dead, so the engine would do nothing either
    // The engine runs the clauses if their number has changed since the compilation.
    const std::uint32_t n = plan_.place.n_clauses;
    a_.mov(rcx, ptr[rbx + offsetof(dt_rt_site, probe)]);
    a_.cmp(dword[rcx + offsetof(dt_probe, flags)],
           n << DT_PROBE_ECBS_SHIFT | (n > 1 ? DT_PROBE_MANY : 0));
    a_.jne(bail_);
}

// Restores all registers except those that dt_rt_enter pushed. Afterwards, the flags
// are in %ax.
void Routine::restore()
{
    if (registers_.ahead() != 0)
        a_.lea(rsp, ptr[rsp + 8 * registers_.n_slots()]);
    for (std::size_t i = registers_.saves().size(); i-- > 0;)
        a_.pop(registers_.saves()[i]);
    if (registers_.flags_on_stack())
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

// Loads the address of the site with the index in %ebx into %rax. Does not change the
// flags.
void Routine::to_site()
{
    static_assert(sizeof(dt_rt_site) == 64);
    a_.lea(rax, ptr[rbx * 8]);
    a_.lea(rcx, ptr[a_.config(offsetof(dt_rt_config, sites))]);
    a_.lea(rax, ptr[rcx + rax * 8]);
}

// Emits the exit to the engine: a jump to dt_rt_generic_at(), with %rax, %rbx and the
// flags as at the beginning of the routine.
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
    a_.jmp(a_.image_at(dt_rt_generic_at(&runtime_header(), target_.session)),
           Assembler::T_NEAR);
}

void Routine::check_session()
{
    a_.mov(rcx, a_.literal(target_.arena + frame_.arena().session));
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
        counters_.count(action, key);
    else if (!v && (action.kind != DTRACEACT_PRINTF || action.rec_size != 0))
        frame_.fail("it has an action without a value");
    else if (action.kind == DTRACEAGG_sum)
        counters_.sum(action, key, *v);
    else if (action.kind == DTRACEAGG_quantize)
        counters_.quantize(action, key, *v);
    else if (action.rec_size != 0)
        recorder_.record(action, *v);
    if (key)
        registers_.release(*key);
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
        registers_.hold(rax);
    find_keys();
    if (plan_.record_bytes != 0)
        recorder_.take_shard();
    for (std::size_t i = 0; i < plan_.steps.size(); ++i)
        step(plan_.steps[i], keys_[i]);
    if (plan_.record_bytes != 0)
        recorder_.publish();
    leave();
    bail();
    place_searches();
    operands_.place_lookups();
    recorder_.place_shard_ends();
    counters_.place_sections();
    a_.place_literals();
    if (registers_.is_exhausted())
        frame_.fail("it needs more registers than are available");
    if (!frame_.failed.empty())
        return Error{Code::unsupported, frame_.failed};
    if (Xbyak::GetError() != Xbyak::ERR_NONE) {
        Xbyak::ClearError();
        return Error{Code::unsupported, "its code is too long"};
    }
    auto bytes = a_.bytes();
    Compiled compiled{{bytes.begin(), bytes.end()}, {}};
    counters_.add_fixups(compiled);
    operands_.add_fixups(compiled);
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
        return Error{Code::unsupported, "it uses thread ids or thread-local variables, "
                                        "and the processor has no rdfsbase"};
    // Emit the code once to find out which registers must be saved.
    x86::Frame sketch(plan, target, at, {});
    if (auto code = x86::Routine(sketch).emit(); !code)
        return code;
    const x86::RegisterPool& registers = sketch.registers;
    if (registers.used().size() + registers.n_slots() + 1 > x86::Routine::max_words)
        return Error{Code::unsupported, "it uses too much of the stack"};
    x86::Frame frame(plan, target, at, registers.used());
    return x86::Routine(frame).emit();
}

} // namespace dt::native
