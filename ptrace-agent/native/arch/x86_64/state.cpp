// SPDX-License-Identifier: MIT
// Emits code that finds the thread's variables and reads the session's clock without a
// lock. The code handles only the common case of dif/slots.c and
// ptrace-agent/runtime/clock.c.
#include "ptrace-agent/native/arch/x86_64/routine.hpp"

#include "dif/slots.h"

#include <cstddef>

namespace dt::native::x86 {

using namespace Xbyak::util;

// The value of dt_clock::shift, which the consumer always sets to 32. If a target has
// changed it, the engine runs the clause.
constexpr unsigned clock_shift = 32;

// Emits the search for the thread's entry in the table of threads. For thread-local
// variables, r10 becomes the hash of the thread's slots, and rax becomes their key. For
// pid or tid, thread_ becomes the address of the entry.
void Routine::find_thread()
{
    static_assert(DT_RT_MAX_THREADS == 1 << 16 && sizeof(dt_rt_thread) == 32);
    registers_.use(r10);
    a_.rdfsbase_r10();
    a_.mov(rcx, 0x9e3779b97f4a7c15ull); // dt_rt_thread_slot()
    a_.imul(rcx, r10);
    a_.shr(rcx, 48);
    a_.shl(rcx, 5);
    a_.lea(rax, ptr[a_.config(offsetof(dt_rt_config, threads))]);
    a_.add(rcx, rax);
    a_.cmp(r10, ptr[rcx + offsetof(dt_rt_thread, fs_base)]);
    a_.jne(bail_);
    if (uses_thread_ids_) {
        thread_ =
            registers_.temporary({r10, rax, rdx}); // later steps use r10, rax and rdx
        registers_.hold(thread_);
        a_.mov(thread_, rcx);
    }
    if (!has_variables_)
        return;
    a_.mov(rax, ptr[rcx + offsetof(dt_rt_thread, slot_key)]);
    a_.test(rax, rax);
    a_.jz(bail_);
    a_.mov(r10, ptr[rcx + offsetof(dt_rt_thread, slot_hash)]);
}

// Emits the search for a thread-local variable. The code examines only the slot that
// the hash selects. If the slot is empty, the variable was never set, and the code
// jumps to `absent`. If the slot contains another variable, the code jumps to `bail`.
void Routine::find_variable(std::uint32_t id, Label& absent)
{
    const dt_dyn_plan& plan = frame_.arena().dyn;
    Label here;
    a_.mov(rcx, r10);
    a_.xor_(rcx, id);
    a_.and_(rcx, plan.n_slots - 1);
    a_.shl(rcx, 4);
    static_assert(sizeof(dt_slot) == 16);
    a_.add(rcx, a_.literal(target_.arena + plan.slots));
    registers_.use(rdx);
    a_.lea(rdx, ptr[rax + id]);
    a_.cmp(rdx, ptr[rcx + offsetof(dt_slot, key)]);
    a_.je(here);
    if (&absent != &bail_) {
        a_.cmp(qword[rcx + offsetof(dt_slot, key)], 0);
        a_.je(absent);
    }
    a_.jmp(bail_);
    a_.L(here);
    if (one_variable_)
        a_.mov(r10, rcx);
}

Xbyak::Address Routine::variable(std::uint32_t id)
{
    if (one_variable_)
        return qword[r10 + offsetof(dt_slot, value)];
    a_.mov(rcx, r10);
    a_.xor_(rcx, id);
    a_.and_(rcx, frame_.arena().dyn.n_slots - 1);
    a_.shl(rcx, 4);
    a_.add(rcx, a_.literal(target_.arena + frame_.arena().dyn.slots));
    return qword[rcx + offsetof(dt_slot, value)];
}

// Emits code that obtains the time, the thread, the variables and the arguments in
// `needs`, except those in `had`. The code jumps to `absent` if the predicate is only a
// variable that was never set.
void Routine::need(const ClausePlan::Needs& needs, const ClausePlan::Needs& had,
                   Label& absent)
{
    bool alone = plan_.predicate.brief != nullptr &&
                 plan_.predicate.brief->kind == DT_SHORT_SELF;
    std::vector<std::uint32_t> ids;
    for (std::uint32_t id : needs.self)
        if (std::find(had.self.begin(), had.self.end(), id) == had.self.end())
            ids.push_back(id);
    if (!ids.empty() && have_thread_)
        return frame_.fail(
            "its actions use thread-local variables that its predicate does not use");
    if (!have_thread_ && (needs.thread || !ids.empty())) {
        find_thread();
        have_thread_ = true;
    }
    for (std::uint32_t id : ids)
        find_variable(id, alone && &absent == &leave_ ? leave_ : bail_);
    if (needs.time && !have_time_) {
        sample_time();
        have_time_ = true;
    }
    operands_.load_ahead(needs.ahead);
}

// Loads the time in nanoseconds into r11. The code jumps to `bail` if the clock line
// cannot be used or the session's lease has expired.
void Routine::sample_time()
{
    auto clock = [](std::size_t member) {
        return offsetof(dt_session, clock) + member;
    };
    registers_.use(rdx);
    registers_.use(r11);
    a_.mov(rcx, a_.literal(target_.arena + frame_.arena().session));
    a_.mov(r11d, ptr[rcx + clock(offsetof(dt_clock, seq))]);
    a_.test(r11d, r11d);
    a_.jz(bail_);
    a_.test(r11d, 1);
    a_.jnz(bail_);
    a_.cmp(dword[rcx + clock(offsetof(dt_clock, shift))], clock_shift);
    a_.jne(bail_);
    a_.rdtsc();
    a_.shl(rdx, 32);
    a_.or_(rax, rdx);
    a_.mov(edx, 0);
    a_.sub(rax, ptr[rcx + clock(offsetof(dt_clock, tsc))]);
    a_.cmovs(rax, rdx); // this CPU's TSC may be lower than the consumer's
    a_.mul(qword[rcx + clock(offsetof(dt_clock, mult))]);
    a_.shrd(rax, rdx, clock_shift);
    a_.add(rax, ptr[rcx + clock(offsetof(dt_clock, mono_ns))]);
    a_.cmp(r11d, ptr[rcx + clock(offsetof(dt_clock, seq))]);
    a_.jne(bail_);
    a_.mov(rdx, ptr[rcx + offsetof(dt_session, lease_until)]);
    a_.dec(rdx); // 0, which means that there is no lease, becomes the maximum
    a_.cmp(rax, rdx);
    a_.ja(bail_);
    a_.mov(r11, rax);
}

} // namespace dt::native::x86
