// SPDX-License-Identifier: MIT
// Emits code that writes records for clauses whose values are integers. The code does
// the same as dif/fire.c and dif/buffer.c.
//
// The code locks the CPU's shard as dt_rt_enter does, by writing the pid to the shard's
// lock. So the shards of a dead process are recovered as usual. If the shard is busy or
// its buffer is full, the engine runs the clause. The record is built after the `used`
// bytes of the buffer, and published by increasing `used`.
//
// From the end of take_shard() until publish(), %rax contains the address of the
// record, and another register contains the address of the shard.
#include "ptrace-agent/native/arch/x86_64/record.hpp"

#include <cstddef>

namespace dt::native::x86 {

using namespace Xbyak::util;

constexpr std::uint32_t cpu_mask = 0xfff;   // enter.S, CPU_MASK
constexpr std::uint32_t cpu_segment = 0x7b; // enter.S, CPU_SEGMENT

// Loads the index of the active buffer, 0 or 1, into ecx.
void Recorder::active_buffer()
{
    a_.mov(ecx, ptr[shard_ + offsetof(dt_shard, active)]);
    a_.and_(ecx, 1);
}

// Returns the operand for the buffer's `used`. ecx must contain the index of the
// buffer. The emitted code changes ecx.
Xbyak::Address Recorder::used_bytes()
{
    static_assert(sizeof(dt_buffer) == 32);
    a_.shl(ecx, 5);
    return qword[shard_ + rcx + offsetof(dt_shard, principal) +
                 offsetof(dt_buffer, used)];
}

// Locks the shard of the CPU and writes the header of the record. r11 contains the
// time. The caller has already reserved %rax (RegisterPool::hold()).
void Recorder::take_shard()
{
    const dt_shard_plan& plan = frame_.arena().plan;
    shard_ = registers_.temporary({});
    registers_.hold(shard_);
    Reg64 cpu = registers_.temporary({});
    registers_.hold(cpu);
    Reg64 used = registers_.temporary({});
    if (target_.has_rdpid) {
        a_.rdpid_rax();
    } else {
        a_.mov(eax, cpu_segment);
        a_.lsl_eax();
    }
    a_.and_(eax, cpu_mask);
    a_.mov(cpu.cvt32(), eax);
    a_.cmp(eax, frame_.arena().n_shared);
    a_.jae(beyond_);
    a_.L(within_);
    a_.mov(shard_, rax);
    a_.imul(shard_, a_.literal(frame_.arena().shard_bytes));
    a_.add(shard_, a_.literal(target_.arena + frame_.arena().shards));
    a_.xor_(eax, eax);
    a_.mov(ecx, ptr[a_.config(offsetof(dt_rt_config, pid))]);
    static_assert(offsetof(dt_shard, lock) == 0);
    a_.lock();
    a_.cmpxchg(ptr[shard_], ecx);
    a_.jne(bail_);
    active_buffer();
    a_.mov(eax, ecx);
    a_.imul(rax, a_.literal(plan.principal[1] - plan.principal[0]));
    a_.mov(used, used_bytes());
    a_.cmp(used, a_.literal(plan.principal_bytes - plan_.record_bytes));
    a_.ja(full_);
    a_.test(used.cvt8(), 7);
    a_.jnz(full_); // not a multiple of 8: another process has overwritten `used`
    a_.add(rax, used);
    a_.add(rax, shard_);
    a_.add(rax, a_.literal(plan.principal[0]));
    // The time never decreases in a shard (dt_now()).
    Xbyak::Address last = qword[shard_ + offsetof(dt_shard, last_timestamp)];
    a_.cmp(r11, last);
    a_.cmovb(r11, last);
    a_.mov(last, r11);
    a_.mov(ecx, ptr[rbx + offsetof(dt_rt_site, epid)]);
    a_.mov(ptr[rax + offsetof(dt_rechdr, epid)], ecx);
    static_assert(offsetof(dt_rechdr, flags) == offsetof(dt_rechdr, cpu) + 2);
    a_.mov(ptr[rax + offsetof(dt_rechdr, cpu)], cpu.cvt32()); // also clears `flags`
    a_.mov(ptr[rax + offsetof(dt_rechdr, timestamp)], r11);
    registers_.release(cpu);
}

void Recorder::record(const dt_action& action, Reg64 value)
{
    switch (action.rec_size) {
    case 1:
        return a_.mov(ptr[rax + action.rec_offset], value.cvt8());
    case 2:
        return a_.mov(ptr[rax + action.rec_offset], value.cvt16());
    case 4:
        return a_.mov(ptr[rax + action.rec_offset], value.cvt32());
    default:
        return a_.mov(ptr[rax + action.rec_offset], value);
    }
}

void Recorder::publish()
{
    active_buffer();
    a_.add(used_bytes(), plan_.record_bytes);
    a_.mov(dword[shard_ + offsetof(dt_shard, lock)], 0);
}

// Emits two rare cases after the routine: no shard has the CPU's number, and the buffer
// is full.
void Recorder::place_shard_ends()
{
    if (plan_.record_bytes == 0)
        return;
    a_.L(beyond_);
    a_.sub(eax, frame_.arena().n_shared);
    a_.cmp(eax, frame_.arena().n_shared);
    a_.jae(beyond_);
    a_.jmp(within_);
    a_.L(full_);
    a_.mov(dword[shard_ + offsetof(dt_shard, lock)], 0);
    a_.jmp(bail_);
}

} // namespace dt::native::x86
