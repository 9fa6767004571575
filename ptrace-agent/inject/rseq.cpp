// SPDX-License-Identifier: MIT
#include "ptrace-agent/inject/rseq.hpp"

#include "ptrace-agent/hold/tracing.hpp"

#include <cstddef>
#include <linux/rseq.h>
#include <utility>

namespace dt::agent {

struct RseqConfiguration { // PTRACE_GET_RSEQ_CONFIGURATION, Linux 5.13
    std::uint64_t pointer = 0;
    std::uint32_t bytes = 0, signature = 0, flags = 0, pad = 0;
};

static bool get_rseq(pid_t tid, RseqConfiguration& now)
{
    constexpr int request = 0x420f; // PTRACE_GET_RSEQ_CONFIGURATION
    return ptrace(static_cast<__ptrace_request>(request), tid, sizeof now, &now) ==
           static_cast<long>(sizeof now);
}

std::optional<TargetAddr> armed_sequence(AddressSpace& space, pid_t tid)
{
    RseqConfiguration now;
    TargetAddr armed;
    if (!get_rseq(tid, now) || now.pointer == 0)
        return armed; // without this request of ptrace(2), no code of ours uses sequences
    if (!space.read_value(TargetAddr{now.pointer + offsetof(struct rseq, rseq_cs)},
                          armed.value))
        return std::nullopt;
    return armed;
}

// Returns the address of the cpu_id of a thread with this fs_base.
static TargetAddr cpu_id_of(const native::RseqArea& area, std::uint64_t fs_base)
{
    return TargetAddr{fs_base + static_cast<std::uint64_t>(area.offset) +
                      offsetof(struct rseq, cpu_id)};
}

// Allows restartable sequences only if all threads can be examined, and these
// conditions hold:
// - All registered threads have struct rseq at the same distance from fs_base.
// - Each other thread has a negative cpu_id at that distance.
void RseqAreas::learn(AddressSpace& space)
{
    std::optional<native::RseqArea> area;
    std::vector<std::uint64_t> unregistered; // fs_bases of threads without rseq
    for (Thread* thread : tracees_.threads_in(space)) {
        RseqConfiguration now;
        user_regs_struct user;
        if (!thread->is_stopped() || !get_regs(thread->tid, user) ||
            !get_rseq(thread->tid, now))
            return;
        if (now.pointer == 0) {
            unregistered.push_back(user.fs_base);
            continue;
        }
        native::RseqArea here{static_cast<std::int64_t>(now.pointer - user.fs_base),
                              now.signature};
        if (area && (area->offset != here.offset || area->signature != here.signature))
            return;
        area = here;
    }
    // Compiled code encodes the offset in 32 bits.
    if (!area || area->offset != static_cast<std::int32_t>(area->offset))
        return;
    for (std::uint64_t fs_base : unregistered) {
        std::int32_t cpu = 0;
        if (!space.read_value(cpu_id_of(*area, fs_base), cpu) || cpu >= 0)
            return;
    }
    space.native.rseq = area;
    allow(space);
}

// A guest is a process that shares this memory but does not own it, such as a vfork
// child.
void RseqAreas::allow(AddressSpace& space)
{
    if (space.runtime.image.value == 0 || !space.native.rseq)
        return;
    bool guests = false;
    for (auto& [pid, process] : tracees_.processes())
        guests = guests || (process->space.get() == &space && pid != space.owner());
    space.runtime.writer().announce(space.runtime.config().rseq, guests ? 0 : 1);
}

void RseqAreas::pause(AddressSpace& space)
{
    space.runtime.writer().announce(space.runtime.config().rseq, 0);
}

void RseqAreas::learn_again(AddressSpace& space)
{
    const auto before = std::exchange(space.native.rseq, std::nullopt);
    if (!before)
        return;
    learn(space);
    // Compiled code contains the offset and the signature.
    if (!space.native.rseq || space.native.rseq->offset != before->offset ||
        space.native.rseq->signature != before->signature)
        end(space);
}

void RseqAreas::end(AddressSpace& space)
{
    space.native.rseq.reset();
    if (space.runtime.image.value != 0)
        space.runtime.writer().announce(space.runtime.config().rseq, 0);
}

// The thread must be new. Does nothing if the thread has already registered a struct
// rseq.
void RseqAreas::begin(Thread& thread)
{
    AddressSpace& space = *thread.process->space;
    RseqConfiguration now;
    user_regs_struct user;
    if (!space.native.rseq || thread.process->pid != space.owner() ||
        !get_regs(thread.tid, user) || !get_rseq(thread.tid, now) || now.pointer != 0)
        return;
    std::int32_t cpu = 0;
    TargetAddr at = cpu_id_of(*space.native.rseq, user.fs_base);
    pid_t before = space.runtime.tid_of(user.fs_base);
    Thread* other = before != thread.tid ? tracees_.find_thread(before) : nullptr;
    bool own = other == nullptr || other->process->space.get() != &space;
    if (own && space.read_value(at, cpu) && cpu < 0)
        return;
    cpu = RSEQ_CPU_ID_UNINITIALIZED;
    if (own && space.write(at, std::as_bytes(std::span(&cpu, 1))))
        return;
    // Two threads share this fs_base, or cpu_id cannot be accessed.
    end(space);
}

} // namespace dt::agent
