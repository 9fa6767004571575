// SPDX-License-Identifier: MIT
// Adding to counters: on this CPU, if the thread can be sure that it stays, else by a lock.
//
// A restartable sequence (rseq(2)) is the way to be sure. Its one instruction that counts
// is its last; a thread that loses its CPU before, for whatever reason (preemption, a
// signal, a debugger's step), goes on at `abort` and adds to the set that all share, by a
// locked instruction. So nothing is tried twice, and single steps come to an end.
//
//        rseq_cs == 0? arm                 (another's sequence is left alone)
//        start:  which CPU? its set        (not registered: cpu_id is no CPU's number)
//                add                       committed when it has run
//        end:    disarm
//
// It is disarmed each time: the kernel reads what rseq_cs points at whenever it likes, and
// our code may be unmapped.
#include "ptrace-agent/native/arch/x86_64/routine.hpp"

#include "dif/actions.h"

#include <linux/rseq.h>
#include <memory>

namespace dt::native::x86 {

using namespace Xbyak::util;

template <class Add> void Routine::add_on_cpu(std::optional<Reg64> key, Add add)
{
    const dt_counter_plan& counters = arena().counters;
    const std::uint64_t sets = target_.arena + counters.sets;
    if (!target_.rseq) {
        a_.mov(rcx, a_.literal(sets));
        if (key)
            a_.add(rcx, *key);
        add(true);
        return;
    }
    const std::int64_t area = target_.rseq->offset;
    const std::int64_t armed = area + static_cast<long>(offsetof(struct rseq, rseq_cs));
    const std::int64_t cpu = area + static_cast<long>(offsetof(struct rseq, cpu_id));
    auto section = std::make_unique<Section>();
    a_.cmp(dword[a_.config(offsetof(dt_rt_config, rseq))], 0);
    a_.je(section->abort);
    a_.L(section->access);
    a_.cmp(a_.fs(qword, armed), 0);
    a_.jne(section->abort);
    a_.lea(rcx, ptr[rip + section->descriptor]);
    a_.mov(a_.fs(qword, armed), rcx);
    a_.L(section->start);
    a_.mov(ecx, a_.fs(dword, cpu));
    a_.L(section->accessed);
    a_.cmp(ecx, counters.n_cpus);
    a_.jae(section->foreign);
    a_.shl(rcx, DT_COUNTERS_SHIFT);
    a_.add(rcx, a_.literal(sets + DT_COUNTERS_BYTES));
    if (key)
        a_.add(rcx, *key);
    add(false);
    a_.L(section->end);
    a_.mov(a_.fs(qword, armed), 0);
    a_.L(section->done);
    section->shared = [this, key, add, sets] {
        a_.mov(rcx, a_.literal(sets));
        if (key)
            a_.add(rcx, *key);
        add(true);
    };
    section->disarm = [this, armed] { a_.mov(a_.fs(qword, armed), 0); };
    sections_.push_back(std::move(section));
}

// Behind the routine: where sequences end that were not left alone, and what the kernel
// reads of them.
void Routine::place_sections()
{
    for (auto& section : sections_) {
        a_.L(section->foreign);
        section->disarm();
        a_.jmp(section->abort);
        a_.db(0x0f); // ud1 signature(%rip), %edi
        a_.db(0xb9);
        a_.db(0x3d);
        a_.dd(target_.rseq->signature);
        a_.L(section->abort);
        section->shared();
        a_.jmp(section->done);
    }
    if (sections_.empty())
        return;
    a_.align(32, false);
    for (auto& section : sections_) {
        static_assert(sizeof(struct rseq_cs) == 32);
        a_.L(section->descriptor);
        std::uint64_t start = a_.address_of(section->start);
        a_.dd(0); // version
        a_.dd(0); // flags
        a_.dq(start);
        a_.dq(a_.address_of(section->end) - start);
        a_.dq(a_.address_of(section->abort));
    }
}

void Routine::count(const dt_action& action, std::optional<Reg64> key)
{
    add_on_cpu(key, [this, &action](bool shared) {
        if (shared)
            a_.lock();
        a_.inc(qword[rcx + action.counters]);
    });
}

void Routine::sum(const dt_action& action, std::optional<Reg64> key, Reg64 value)
{
    add_on_cpu(key, [this, &action, value](bool shared) {
        // That there was something: also when it is 0. Set twice it says no more.
        a_.mov(qword[rcx + action.counters + 8], 1);
        if (shared)
            a_.lock();
        a_.add(qword[rcx + action.counters], value);
    });
}

// dif/distribution.h: 63 is zero, 64 + log2 a positive value, 62 - log2 a negative one. With
// the sign (0 or -1) that is 64 + sign + (log2 of the size ^ sign), log2 of 0 being -1.
void Routine::quantize(const dt_action& action, std::optional<Reg64> key, Reg64 value)
{
    Reg64 size = in_pool(value) ? value : temporary({value}); // it is not used again
    Reg64 sign = temporary({value, size});
    a_.mov(sign, value);
    if (size.getIdx() != value.getIdx())
        a_.mov(size, value);
    a_.sar(sign, 63);
    a_.xor_(size, sign);
    a_.mov(rcx, size);
    a_.sub(size, sign);
    a_.cmovo(size, rcx); // INT64_MIN counts as the value above it
    a_.mov(rcx, -1);
    a_.bsr(size, size);
    a_.cmovz(size, rcx);
    a_.xor_(size, sign);
    a_.add(size, sign);
    add_on_cpu(key, [this, &action, size](bool shared) {
        if (shared)
            a_.lock();
        a_.inc(qword[rcx + size * 8 + action.counters +
                     8 * (DTRACE_QUANTIZE_ZEROBUCKET + 1)]);
    });
}

} // namespace dt::native::x86
