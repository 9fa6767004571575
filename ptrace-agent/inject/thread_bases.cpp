// SPDX-License-Identifier: MIT
#include "ptrace-agent/inject/thread_bases.hpp"

#include "ptrace-agent/hold/tracing.hpp"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

namespace dt::agent {

void ThreadBases::learn(Thread& thread)
{
    AddressSpace& space = *thread.process->space;
    user_regs_struct user;
    if (space.runtime.image.value == 0 || !thread.is_stopped() ||
        !get_regs(thread.tid, user))
        return;
    // A gs key that is not this thread's key was inherited, or was left by a killed
    // agent.
    if (dt_rt_is_gs_key(user.gs_base) && user.gs_base != thread.gs_key)
        set_gs_base(thread.tid, thread.gs_key);
    place(thread, user.fs_base);
}

// Gives a stopped thread a gs key. Does nothing if the thread uses %gs.
void ThreadBases::give_gs_key(Thread& thread)
{
    AddressSpace& space = *thread.process->space;
    user_regs_struct user;
    if (space.runtime.config().fs_method != DT_RT_FS_RDFSBASE || !thread.is_stopped() ||
        !get_regs(thread.tid, user) || user.gs != 0 ||
        (user.gs_base != 0 && user.gs_base != thread.gs_key))
        return;
    if (thread.gs_key == 0) {
        std::set<std::uint64_t> used;
        for (const Thread* other : tracees_.threads_in(space))
            used.insert(other->gs_key);
        std::uint64_t key = DT_RT_FIRST_GS_KEY;
        while (used.count(key) != 0)
            key += 2;
        if (!dt_rt_is_gs_key(key))
            return; // all keys are in use
        thread.gs_key = key;
    }
    space.runtime.add_thread(thread.gs_key, thread.tid, thread.process->pid);
    set_gs_base(thread.tid, thread.gs_key);
}

void ThreadBases::place(Thread& thread, std::uint64_t fs_base)
{
    AddressSpace& space = *thread.process->space;
    if (thread.fs_base != 0 && thread.fs_base != fs_base)
        leave_base(thread);
    if (fs_base == 0 || thread.changes_base)
        return;
    thread.fs_base = fs_base;
    if (auto shared = space.runtime.shared_bases.find(fs_base);
        shared != space.runtime.shared_bases.end()) {
        auto& tids = shared->second.tids;
        if (std::find(tids.begin(), tids.end(), thread.tid) == tids.end())
            tids.push_back(thread.tid);
        return;
    }
    Thread* other = tracees_.find_thread(space.runtime.tid_of(fs_base));
    // A vfork child has the fs_base of its parent, which waits until the child has
    // exited or executed another program. So the fs_base does not count as shared.
    if (other == nullptr || other == &thread || other->fs_base != fs_base ||
        other->process->space != thread.process->space || other->in_vfork ||
        other->process->parent == thread.process->pid)
        return space.runtime.add_thread(fs_base, thread.tid, thread.process->pid);
    space.runtime.retire_thread(fs_base);
    space.runtime.shared_bases[fs_base].tids = {other->tid, thread.tid};
}

void ThreadBases::leave_base(Thread& thread)
{
    AddressSpace& space = *thread.process->space;
    const std::uint64_t fs_base = std::exchange(thread.fs_base, 0);
    if (auto shared = space.runtime.shared_bases.find(fs_base);
        shared != space.runtime.shared_bases.end()) {
        std::erase(shared->second.tids, thread.tid);
        return;
    }
    if (space.runtime.tid_of(fs_base) == thread.tid)
        space.runtime.retire_thread(fs_base);
    thread.changes_base = true;
}

void ThreadBases::learn_from_upcall(Thread& thread, std::uint64_t fs_base)
{
    AddressSpace& space = *thread.process->space;
    if (space.runtime.image.value == 0)
        return;
    place(thread, fs_base);
    if (thread.fs_base == fs_base && space.runtime.shared_bases.count(fs_base) != 0)
        find_others(space, thread);
}

// Finds the threads that still share the fs_base of `thread`, and gives them gs keys.
// Stops running threads to read their fs_base, but only at the 1st, 2nd, 4th, 8th, ...
// upcall for this fs_base.
void ThreadBases::find_others(AddressSpace& space, Thread& thread)
{
    const std::uint64_t fs_base = thread.fs_base;
    const pid_t tid = thread.tid;
    RuntimeMap::SharedBase& shared = space.runtime.shared_bases[fs_base];
    const bool look = std::has_single_bit(++shared.n_asked);
    const std::vector<pid_t> tids = shared.tids;
    std::vector<pid_t> left;
    for (pid_t each : tids) {
        Thread* other = tracees_.find_thread(each);
        if (other == nullptr || other->process->space.get() != &space ||
            other->fs_base != fs_base)
            continue;
        left.push_back(each);
        if (each == tid || !look || other->in_vfork)
            continue;
        const bool was_stopped = other->is_stopped();
        user_regs_struct user;
        if (!tracees_.stop_one(*other)) {
            left.pop_back();
            continue;
        }
        if (get_regs(each, user) && user.fs_base != fs_base) {
            left.pop_back();
            place(*other, user.fs_base);
        } else {
            give_gs_key(*other);
        }
        if (!was_stopped && other->is_stopped() && !other->is_pending())
            tracees_.go_on(*other);
    }
    auto now = space.runtime.shared_bases.find(fs_base);
    if (now == space.runtime.shared_bases.end() || tracees_.find_thread(tid) != &thread)
        return;
    now->second.tids = left;
    if (left.size() != 1 || left.front() != tid) {
        if (look && tracees_.stop_one(thread))
            give_gs_key(thread);
        return;
    }
    space.runtime.shared_bases.erase(now);
    space.runtime.add_thread(fs_base, tid, thread.process->pid);
}

} // namespace dt::agent
