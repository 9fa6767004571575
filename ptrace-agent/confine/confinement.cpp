// SPDX-License-Identifier: MIT
#include "ptrace-agent/confine/confinement.hpp"

#include "base/fd.hpp"
#include "base/seccomp_filter.hpp"
#include "process/proc_files.hpp"
#include "process/regular_file.hpp"
#include "ptrace-agent/confine/broker.hpp"
#include "ptrace-agent/confine/relayed_calls.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <grp.h>
#include <linux/userfaultfd.h>
#include <malloc.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace dt::agent {

namespace {

pid_t the_broker = 0;

constexpr std::array permitted_calls{
    // descriptors that the process has
    SCMP_SYS(read), SCMP_SYS(pread64), SCMP_SYS(readv), SCMP_SYS(write),
    SCMP_SYS(pwrite64), SCMP_SYS(writev), SCMP_SYS(lseek), SCMP_SYS(close),
    SCMP_SYS(fstat), SCMP_SYS(getdents64), SCMP_SYS(ftruncate), SCMP_SYS(fchmod),
    SCMP_SYS(sendmsg), SCMP_SYS(sendto), SCMP_SYS(recvmsg), SCMP_SYS(recvfrom),
    SCMP_SYS(accept4), SCMP_SYS(getsockopt), SCMP_SYS(shutdown), SCMP_SYS(poll),
    SCMP_SYS(ppoll), SCMP_SYS(epoll_create1), SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_wait),
    SCMP_SYS(epoll_pwait), SCMP_SYS(memfd_create),
    // memory
    SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(brk), SCMP_SYS(madvise),
    SCMP_SYS(msync), SCMP_SYS(mincore),
    // the process itself
    SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(rt_sigreturn),
    SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigpending), SCMP_SYS(rt_sigtimedwait),
    SCMP_SYS(sigaltstack), SCMP_SYS(restart_syscall), SCMP_SYS(getpid),
    SCMP_SYS(gettid), SCMP_SYS(getppid), SCMP_SYS(getuid), SCMP_SYS(geteuid),
    SCMP_SYS(getgid), SCMP_SYS(getegid), SCMP_SYS(futex), SCMP_SYS(set_robust_list),
    SCMP_SYS(rseq), SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity),
    SCMP_SYS(getcpu), SCMP_SYS(getrandom), SCMP_SYS(sysinfo), SCMP_SYS(uname),
    SCMP_SYS(getrusage), SCMP_SYS(membarrier),
    // time
    SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres), SCMP_SYS(clock_nanosleep),
    SCMP_SYS(nanosleep), SCMP_SYS(gettimeofday), SCMP_SYS(setitimer),
    SCMP_SYS(timer_create), SCMP_SYS(timer_settime), SCMP_SYS(timer_delete),
    // a pidfd gives no right to a process
    SCMP_SYS(pidfd_open)};

Result<Ok> load_filter()
{
    const auto self = static_cast<scmp_datum_t>(::getpid());
    // A call that is not listed fails. Ending the agent could harm its targets.
    SeccompFilter filter(SCMP_ACT_ERRNO(EPERM));
    for (int call : permitted_calls)
        filter.permit(call);
    for (int call : relayed_calls)
        filter.trap(call);
    for (int call : {SCMP_SYS(mmap), SCMP_SYS(mprotect)}) // no new code
        filter.permit(call, {SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)});
    for (int command :
         {F_DUPFD_CLOEXEC, F_GETFD, F_GETFL, F_SETFL, F_ADD_SEALS, F_GET_SEALS})
        filter.permit(SCMP_SYS(fcntl),
                      {SCMP_A1(SCMP_CMP_EQ, static_cast<scmp_datum_t>(command))});
    filter.permit(SCMP_SYS(fcntl),
                  {SCMP_A1(SCMP_CMP_EQ, F_SETOWN), SCMP_A2(SCMP_CMP_EQ, self)});
    for (scmp_datum_t command :
         {scmp_datum_t{UFFDIO_API}, scmp_datum_t{UFFDIO_REGISTER},
          scmp_datum_t{UFFDIO_WRITEPROTECT}})
        filter.permit(SCMP_SYS(ioctl), {SCMP_A1(SCMP_CMP_EQ, command)});
    filter.permit(SCMP_SYS(tgkill), {SCMP_A0(SCMP_CMP_EQ, self)});
    filter.trap(SCMP_SYS(tgkill), {SCMP_A0(SCMP_CMP_NE, self)});
    filter.permit(SCMP_SYS(pidfd_send_signal), {SCMP_A1(SCMP_CMP_EQ, 0)});
    filter.permit(SCMP_SYS(prctl), {SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME)});
    filter.permit(SCMP_SYS(prlimit64),
                  {SCMP_A0(SCMP_CMP_EQ, 0), SCMP_A2(SCMP_CMP_EQ, 0)});
    filter.permit(SCMP_SYS(clone), // threads
                  {SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD)});
    filter.fail(SCMP_SYS(clone3), ENOSYS); // libc then calls clone(2)
    return filter.load();
}

// Returns the largest id that the user namespace of the process maps.
unsigned largest_id(const char* map)
{
    std::ifstream lines(map);
    unsigned long largest = 0, first = 0, outside = 0, n = 0;
    while (lines >> first >> outside >> n)
        largest = std::max(largest, first + n - 1);
    return static_cast<unsigned>(std::min<unsigned long>(largest, 0xfffffffe));
}

bool is_in_use(unsigned id)
{
    for (pid_t pid : pids_in_proc()) {
        const std::string status = read_proc_file(pid, "status");
        for (int n = 0; n < 4; ++n)
            if (status_number(status, "Uid", n) == id ||
                status_number(status, "Gid", n) == id)
                return true;
    }
    return false;
}

// Returns a number for the user id and the group id of the agent. The ids above
// `unassigned` are not assigned by useradd(8), by container managers, or by systemd
// (https://systemd.io/UIDS-GIDS). In a user namespace that maps fewer ids, the largest
// ones are used.
unsigned free_id()
{
    constexpr unsigned unassigned = 2'100'000'000, max_pid = 1u << 22;
    const unsigned top =
        std::min({largest_id("/proc/self/uid_map"), largest_id("/proc/self/gid_map"),
                  unassigned + max_pid});
    unsigned id = top < unassigned + max_pid
                      ? top
                      : unassigned + static_cast<unsigned>(::getpid()) % max_pid;
    while (id > 1 && is_in_use(id))
        --id;
    return id;
}

Result<Ok> change_ids(unsigned id)
{
    if (::setgroups(0, nullptr) != 0 || ::setresgid(id, id, id) != 0 ||
        ::setresuid(id, id, id) != 0)
        return errno_error("change to the ids of the agent");
    if (auto kept = keep_capabilities(0); !kept)
        return kept;
    if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        return errno_error("prctl");
    return Ok{};
}

} // namespace

pid_t tracer_pid()
{
    return the_broker != 0 ? the_broker : ::getpid();
}

bool is_confined()
{
    return the_broker != 0;
}

Result<pid_t> confine(const TrustDomain& domain)
{
    if (is_confined())
        return Error{Code::busy, "the agent is already confined"};
    if (has_sanitizer)
        return pid_t{0};
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return errno_error("socketpair");
    Fd own_end(ends[0]), broker_end(ends[1]);
    const unsigned id = free_id();
    const pid_t agent = ::getpid();
    const pid_t broker = ::fork();
    if (broker < 0)
        return errno_error("fork");
    if (broker == 0)
        run_broker(std::move(broker_end), agent, domain);
    broker_end.reset();
    leave_servers_to_another_process();
    close_standard_descriptors();
    // With a single arena, malloc(3) need not find out the number of processors.
    ::mallopt(M_ARENA_MAX, 1);
    if (auto changed = change_ids(id); !changed)
        return changed.error();
    if (auto relayed = relay_calls(own_end.release()); !relayed)
        return relayed.error();
    if (auto loaded = load_filter(); !loaded)
        return loaded.error();
    the_broker = broker;
    return broker;
}

} // namespace dt::agent
