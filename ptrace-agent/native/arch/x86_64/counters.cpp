// SPDX-License-Identifier: MIT
// Emits code that adds to counters. A thread adds to the set of its CPU without a lock,
// in a restartable sequence (rseq(2)). If that is not possible, it adds to the shared
// set with a locked instruction.
//
// The last instruction of a sequence is the addition. If the sequence is interrupted
// earlier, the kernel continues the thread at `abort`. The code there adds to the
// shared set. So a sequence is never tried twice, and a single-stepped thread cannot
// loop.
//
//        test that rseq_cs is 0, arm       (do not disturb a sequence of the program)
//        start:  find the set of this CPU  (cpu_id is out of range if not registered)
//                add                       (this is the commit)
//        end:    disarm
//
// Each sequence is disarmed, because the kernel may read the descriptor at any time,
// and the descriptor may be unmapped later.
#include "ptrace-agent/native/arch/x86_64/counters.hpp"

#include "dif/actions.h"

#include <linux/rseq.h>
#include <memory>

namespace dt::native::x86 {

using namespace Xbyak::util;

template <class Add> void Counters::add_on_cpu(std::optional<Reg64> key, Add add)
{
    const dt_counter_plan& counters = frame_.arena().counters;
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

// Emits the abort handlers, and the descriptors (struct rseq_cs) that the kernel reads,
// after the code of the routine.
void Counters::place_sections()
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

void Counters::count(const dt_action& action, std::optional<Reg64> key)
{
    add_on_cpu(key, [this, &action](bool shared) {
        if (shared)
            a_.lock();
        a_.inc(qword[rcx + action.counters]);
    });
}

void Counters::sum(const dt_action& action, std::optional<Reg64> key, Reg64 value)
{
    add_on_cpu(key, [this, &action, value](bool shared) {
        // Record that a value was added, even if the sum is 0.
        a_.mov(qword[rcx + action.counters + 8], 1);
        if (shared)
            a_.lock();
        a_.add(qword[rcx + action.counters], value);
    });
}

// Computes the bucket of a value (dif/distribution.h): 63 for zero, 64 + log2(value)
// for a positive value, 62 - log2(-value) for a negative value. Let sign be 0 or -1,
// size = abs(value), and log2(0) = -1. In all three cases, the bucket is 64 + sign +
// (log2(size) ^ sign).
void Counters::quantize(const dt_action& action, std::optional<Reg64> key, Reg64 value)
{
    // `value` is not needed again, so its register may be reused.
    Reg64 size = registers_.in_pool(value) ? value : registers_.temporary({value});
    Reg64 sign = registers_.temporary({value, size});
    a_.mov(sign, value);
    if (size.getIdx() != value.getIdx())
        a_.mov(size, value);
    a_.sar(sign, 63);
    a_.xor_(size, sign);
    a_.mov(rcx, size);
    a_.sub(size, sign);
    a_.cmovo(size, rcx); // INT64_MIN goes into the bucket of INT64_MIN + 1
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

void Counters::add_fixups(Compiled& to) const
{
    for (const auto& section : sections_)
        to.fixups.push_back({a_.offset_of(section->access),
                             a_.offset_of(section->accessed),
                             a_.offset_of(section->abort)});
}

} // namespace dt::native::x86
