// SPDX-License-Identifier: MIT
// Taking hold of a process that runs already.
//
// PTRACE_SEIZE does not stop anything. Threads are seized until a pass over
// /proc/PID/task finds none that is new; the children of seized threads are traced from
// their first instruction. Why a process cannot be had is told before the system call
// where it can be known, because the kernel only says EPERM.
#include "ptrace-agent/agent.hpp"

#include "ptrace-agent/hold/grab.hpp"

#include "base/clock_ns.hpp"
#include "base/regular_file.hpp"
#include "process/maps.hpp"
#include "process/proc_files.hpp"
#include "ptrace-agent/hold/tracing.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace dt::agent {

static std::string name_of(pid_t pid)
{
    std::string name = read_proc_file(pid, "comm", 64);
    if (!name.empty() && name.back() == '\n')
        name.pop_back();
    return name;
}

static bool is_32_bit(pid_t pid)
{
    Fd exe = open_regular(proc_path(pid, "exe"));
    unsigned char ident[EI_NIDENT] = {};
    return exe && read(exe.get(), ident, sizeof ident) == sizeof ident &&
           std::memcmp(ident, ELFMAG, SELFMAG) == 0 && ident[EI_CLASS] == ELFCLASS32;
}

Result<Ok> refuse_32_bit(pid_t pid, const std::string& name)
{
    if (is_32_bit(pid))
        return Error{Code::unsupported, name + " is a 32-bit program; only 64-bit "
                                               "programs can be traced"};
    return Ok{};
}

// Returns whether the kernel marked the program as one that gained rights (AT_SECURE).
static bool is_marked_secure(pid_t pid)
{
    const std::string auxv = read_proc_file(pid, "auxv");
    for (std::size_t at = 0; at + 2 * sizeof(std::uint64_t) <= auxv.size();
         at += 2 * sizeof(std::uint64_t)) {
        std::uint64_t pair[2];
        std::memcpy(pair, auxv.data() + at, sizeof pair);
        if (pair[0] == AT_SECURE)
            return pair[1] != 0;
    }
    return false;
}

// Under a tracer without privileges such a program is marked, but gains nothing.
Result<Ok> refuse_gained_rights(pid_t pid, const std::string& name)
{
    const std::string status = read_proc_file(pid, "status");
    auto differs = [&status](const char* field) {
        return status_number(status, field, 0) != status_number(status, field, 1);
    };
    if (is_marked_secure(pid) && (geteuid() == 0 || differs("Uid") || differs("Gid")))
        return Error{Code::permission,
                     name + " gained rights when it was executed (set-user-ID or the "
                            "like); to trace it, name its process by -p"};
    return Ok{};
}

Result<Ok> refuse_shadow_stack(pid_t pid, const std::string& name)
{
    if (has_shadow_stack(pid))
        return Error{Code::unsupported,
                     name +
                         " runs with a shadow stack (x86_Thread_features in "
                         "/proc/" +
                         std::to_string(pid) +
                         "/status), under which instructions that are moved for probes "
                         "would end it; to trace it, start it with "
                         "GLIBC_TUNABLES=glibc.cpu.x86_shstk=off"};
    return Ok{};
}

static Error held_by(pid_t tracer)
{
    return Error{Code::busy, "it is being traced by process " + std::to_string(tracer) +
                                 " (" + name_of(tracer) + ")"};
}

// Which rule made the kernel say EPERM (ptrace(2), "Ptrace access mode checking").
static Error explain_refusal(pid_t pid, int error)
{
    if (error == ESRCH)
        return Error{Code::not_found, "no such process", error};
    std::string status = read_proc_file(pid, "status");
    if (auto tracer = static_cast<pid_t>(status_number(status, "TracerPid")))
        return held_by(tracer);
    auto denied = [error](const std::string& why) {
        return Error{Code::permission, "not permitted: " + why, error};
    };
    uid_t us = geteuid();
    for (int i = 0; i < 3; ++i) {
        auto theirs = static_cast<uid_t>(status_number(status, "Uid", i));
        if (us != 0 && theirs != us)
            return denied("it belongs to user " + std::to_string(theirs) +
                          ", and we are user " + std::to_string(us));
    }
    struct stat info {};
    // /proc/PID itself belongs to the process's user in any case, what is below it only
    // when the process is dumpable (proc(5)).
    if (us != 0 && stat(proc_path(pid, "status").c_str(), &info) == 0 &&
        info.st_uid != us)
        return denied(
            "it is not dumpable (prctl PR_SET_DUMPABLE, or a set-id program)");
    std::string scope;
    if (Fd yama(open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC));
        yama) {
        char digit = 0;
        if (read(yama.get(), &digit, 1) == 1 && digit > '0')
            scope = digit;
    }
    if (!scope.empty())
        return denied("kernel.yama.ptrace_scope is " + scope +
                      (scope == "1"   ? ", which allows descendants only"
                       : scope == "2" ? ", which allows root only"
                                      : ", which allows nobody"));
    return denied(std::strerror(error));
}

static bool is_kernel_thread(pid_t pid)
{
    constexpr unsigned long pf_kthread = 0x00200000; // include/linux/sched.h
    std::string stat = read_proc_file(pid, "stat");
    unsigned long flags = 0; // behind the name: state ppid pgrp session tty tpgid flags
    std::size_t name_end = stat.rfind(')');
    return name_end != std::string::npos &&
           std::sscanf(stat.c_str() + name_end, ") %*c %*d %*d %*d %*d %*d %lu",
                       &flags) == 1 &&
           (flags & pf_kthread) != 0;
}

static Result<Ok> check_grabbable(pid_t pid)
{
    std::string status = read_proc_file(pid, "status");
    if (status.empty())
        return Error{Code::not_found, "no such process", ESRCH};
    auto group = static_cast<pid_t>(status_number(status, "Tgid"));
    if (group != pid)
        return Error{Code::not_found,
                     "it is a thread of process " + std::to_string(group)};
    if (pid == getpid() || pid == getppid())
        return Error{Code::invalid, "a process cannot trace itself"};
    if (is_kernel_thread(pid))
        return Error{Code::unsupported, "it is a kernel thread"};
    // An ended leader has no memory either; its threads have.
    if (status_field(status, "VmSize").empty() && threads_of(pid).size() < 2)
        return Error{Code::gone, "it has ended already (a zombie)"};
    if (auto tracer = static_cast<pid_t>(status_number(status, "TracerPid")))
        return held_by(tracer);
    if (auto can_be = refuse_32_bit(pid, name_of(pid)); !can_be)
        return can_be;
    return refuse_shadow_stack(pid, name_of(pid));
}

// A thread that ended before it could be seized may have created another one, so the last
// pass is one in which all threads are seized already. The first pass has no deadline: it
// takes long only if there are many threads, or on a busy machine. The others are short
// unless the process creates threads all the time.
//
// ends: the deadline (monotonic ns); 0: it is set after the first pass.
Result<Ok> Agent::seize_all(Process& process, std::uint64_t& ends)
{
    const pid_t pid = process.pid;
    for (bool found_new = true; found_new;) {
        found_new = false;
        for (pid_t tid : threads_of(process.pid)) {
            if (process.threads.count(tid) != 0 ||
                tracees_.early_stops().count(tid) != 0)
                continue;
            if (ends != 0 && monotonic_ns() >= ends)
                return Error{Code::busy, "it creates threads faster than they can be "
                                         "seized; nothing in it was changed"};
            if (ptrace(PTRACE_SEIZE, tid, nullptr, seize_options) == 0) {
                tracees_.add_thread(process, tid).age = ThreadAge::known;
                found_new = true;
                continue;
            }
            int error = errno;
            const char state = thread_state(process.pid, tid);
            if (error == ESRCH || state == 'Z' || state == '\0') {
                found_new =
                    found_new || tid != pid; // its threads may outlive the leader
                continue;
            }
            // A thread made by a seized one is ours already.
            std::string status = thread_status(process.pid, tid);
            if (status_number(status, "TracerPid") ==
                static_cast<std::uint64_t>(getpid()))
                continue;
            return explain_refusal(process.pid, error);
        }
        while (tracees_.collect(Wait::poll)) {
        }
        if (tracees_.find_process(pid) == nullptr) // and so is `process`
            return Error{Code::not_found, "it ended meanwhile"};
        if (ends == 0)
            ends = monotonic_ns() + stop_patience_ns;
    }
    if (process.threads.empty())
        return Error{Code::not_found, "no such process", ESRCH};
    return Ok{};
}

// A thread that is seized in the middle of clone(2) may still create one that is not traced.
// When all threads have stopped none is in the middle of it any more. Returns whether a
// thread is left that is not traced. The kernel ends a listing early if a thread of it exits
// meanwhile, so the number of threads is compared as well.
bool Agent::has_missed_thread(const Process& process)
{
    const std::vector<pid_t> all = threads_of(process.pid);
    const std::uint64_t n =
        status_number(read_proc_file(process.pid, "status"), "Threads");
    return n > all.size() || std::any_of(all.begin(), all.end(), [&](pid_t tid) {
               return tid != process.pid && process.threads.count(tid) == 0 &&
                      tracees_.early_stops().count(tid) == 0 &&
                      status_number(thread_status(process.pid, tid), "TracerPid") !=
                          static_cast<std::uint64_t>(getpid());
           });
}

// Ended and waited for: its pid is free, or another's.
static bool has_ended(const Fd& process)
{
    return process &&
           syscall(SYS_pidfd_send_signal, process.get(), 0, nullptr, 0) != 0 &&
           errno == ESRCH;
}

// The kernel lets us seize a thread that is on its way through execve(2): it has the new
// memory, half mapped, and its PTRACE_EVENT_EXEC is still to come. That event is the
// program that was asked for, not one that follows it. true: look again.
bool Agent::await_exec(const AddressSpace& space)
{
    for (Thread* thread : tracees_.threads_in(space)) {
        if (thread->is_pending() && thread->event() == PTRACE_EVENT_EXEC) {
            thread->move_to(ThreadState::handled);
            begin_program(*thread);
            go_on(*thread);
            return true;
        }
        if (!thread->is_stopped() && is_in_exec(thread->process->pid, thread->tid)) {
            tracees_.collect(Wait::a_while);
            return true;
        }
    }
    return false;
}

Agent::Reply Agent::do_grab(Reader& in, const std::vector<Fd>&)
{
    auto pid = in.get<pid_t>();
    std::string doing = "grab process " + std::to_string(pid);
    if (Process* known = tracees_.find_process(pid)) {
        if (known->doomed)
            return Error{Code::busy, doing + ": it is being let go; try again"};
        known->is_target = true;
        return Writer().put(known->n_execs).body();
    }
    Fd asked_for(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    if (auto ok = check_grabbable(pid); !ok)
        return ok.error().during(doing);
    Process& process =
        tracees_.add_process(pid, std::make_shared<AddressSpace>(pid, table_));
    process.is_target = true;
    std::uint64_t seize_ends = 0;
    auto seized = seize_all(process, seize_ends);
    if (seized) // from now on the kernel tells of an exec
        process.space->reopen();
    if (seized && has_ended(asked_for))
        seized =
            Error{Code::not_found, "it ended, and another process has its pid now"};
    auto refused = [&]() -> Reply {
        Process* left = tracees_.find_process(pid);
        if (left != nullptr && left->threads.empty())
            tracees_.remove_process(pid);
        else if (left != nullptr) {
            left->is_target = false;
            release(left->space);
        }
        return seized.error().during(doing);
    };
    if (!seized)
        return refused();
    std::shared_ptr<AddressSpace> space;
    std::optional<StoppedWorld> stopped;
    auto seize_missed = [&] {
        if (tracees_.find_process(pid) == nullptr || !has_missed_thread(process))
            return false;
        seized = seize_all(process, seize_ends);
        return true;
    };
    const std::uint64_t patience_ns = tracees_.exec_patience_ns(pid);
    const std::uint64_t ends = monotonic_ns() + patience_ns;
    do {
        stopped.reset();
        if (tracees_.find_process(pid) == nullptr)
            return Error{Code::not_found, doing + ": it ended meanwhile"};
        if (!seized)
            return refused();
        if (monotonic_ns() > ends || client_.check_in_wait()) {
            process.is_target = false;
            release(space);
            return Error{Code::busy,
                         doing + ": it has been starting a program for " +
                             std::to_string(patience_ns / 1'000'000'000) +
                             " s, and the kernel is not done; nothing in it "
                             "was changed, try again"};
        }
        space = process.space;
        stopped.emplace(tracees_, space);
    } while (await_exec(*space) || seize_missed());
    if (tracees_.find_process(pid) == nullptr)
        return Error{Code::not_found, doing + ": it ended meanwhile"};
    StoppedWorld& world = *stopped;
    for (Thread* thread : tracees_.threads_in(*space)) {
        if (thread->is_stopped())
            learn_mask(*thread);
    }
    if (Thread* thread = world.any_thread())
        learn_trap_action(*thread->process, *thread);
    space->text_seen = text_mappings(space->speaker());
    return Writer().put(process.n_execs).body();
}

// A thread in what the dead tracer left goes on there, and comes out into whole text: its
// trampolines stay.
Agent::Reply Agent::do_put_back(Reader& in, const std::vector<Fd>&)
{
    auto process = target(in.get<pid_t>(), "put back the text of");
    if (!process)
        return process.error();
    auto n_texts = in.get<std::uint32_t>();
    std::shared_ptr<AddressSpace> space = (*process)->space;
    StoppedWorld world(tracees_, space);
    for (std::uint32_t i = 0; i < n_texts; ++i) {
        auto at = in.get<TargetAddr>();
        auto n = in.get<std::uint32_t>();
        std::vector<std::byte> now = in.array<std::byte>(n);
        std::vector<std::byte> before = in.array<std::byte>(n);
        std::vector<std::byte> text(n);
        if (!in.ok())
            return Error{Code::invalid, "put back text: the request is cut short"};
        if (space->read_text(at, text) && text == now && !space->write_text(at, before))
            return Error{Code::io, "put back what a tracer left in its text"};
    }
    auto n_runtimes = in.get<std::uint32_t>();
    for (TargetAddr image : in.array<TargetAddr>(n_runtimes))
        lower_left(space->mem(), space->speaker(), image);
    return Body{};
}

} // namespace dt::agent
