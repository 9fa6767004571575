// SPDX-License-Identifier: MIT
// The filter has three actions. Permitted calls are executed. Calls that use the name of
// a file raise SIGSYS, and handle_file_call() emulates them. All other calls end the
// process.
#include "process/jail/jail.hpp"

#include "base/seccomp_filter.hpp"
#include "process/regular_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

namespace dt {

namespace {

JailBroker* the_broker = nullptr;

// These functions emulate system calls. Each returns the result of the call, or a
// negated errno.

long open_file(const char* path, long flags)
{
    constexpr long changing = O_CREAT | O_TRUNC | O_TMPFILE | O_APPEND;
    if ((flags & O_ACCMODE) != O_RDONLY || (flags & changing & ~O_DIRECTORY) != 0)
        return -EACCES;
    Fd fd;
    if (const int own = own_descriptor(path); own >= 0)
        fd = Fd(::fcntl(own, F_DUPFD_CLOEXEC, 0));
    else
        fd = the_broker->open_file(path);
    return fd ? fd.release() : -ENOENT;
}

long read_status(long folder, const char* path, struct stat* into, bool of_link)
{
    Fd opened;
    long fd = folder; // an empty path (AT_EMPTY_PATH) means the descriptor itself
    if (const int own = own_descriptor(path); own >= 0 && of_link) {
        *into = {};
        into->st_mode = S_IFLNK | S_IRUSR;
        return 0;
    } else if (own >= 0) {
        fd = own;
    } else if (*path != '\0') {
        opened = the_broker->open_file(path);
        if (!opened)
            return -ENOENT;
        fd = opened.get();
    }
    return ::syscall(SYS_fstat, fd, into) == 0 ? 0 : -errno;
}

long read_link(const char* path, char* into, std::size_t n_bytes)
{
    const int own = own_descriptor(path);
    if (own < 0)
        return -EINVAL; // not a symbolic link
    const std::string target = the_broker->path_of(own);
    if (target.empty())
        return -ENOENT;
    n_bytes = std::min(n_bytes, target.size());
    std::memcpy(into, target.data(), n_bytes);
    return static_cast<long>(n_bytes);
}

void handle_file_call(int, siginfo_t* info, void* context)
{
    greg_t* regs = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    const greg_t a = regs[REG_RDI], b = regs[REG_RSI], c = regs[REG_RDX],
                 d = regs[REG_R10];
    auto text = [](greg_t at) { return reinterpret_cast<const char*>(at); };
    auto status = [](greg_t at) { return reinterpret_cast<struct stat*>(at); };
    auto buffer = [](greg_t at) { return reinterpret_cast<char*>(at); };
    const int before = errno;
    long result = -ENOSYS;
    switch (info->si_syscall) {
    case SYS_open:
        result = open_file(text(a), b);
        break;
    case SYS_openat:
        result = open_file(text(b), c);
        break;
    case SYS_stat:
    case SYS_lstat:
        result = read_status(-1, text(a), status(b), info->si_syscall == SYS_lstat);
        break;
    case SYS_newfstatat:
        result = read_status(a, text(b), status(c), (d & AT_SYMLINK_NOFOLLOW) != 0);
        break;
    case SYS_readlink:
        result = read_link(text(a), buffer(b), static_cast<std::size_t>(c));
        break;
    case SYS_readlinkat:
        result = read_link(text(b), buffer(c), static_cast<std::size_t>(d));
        break;
    default:
        break; // access(2) and similar calls fail as on a kernel without them
    }
    regs[REG_RAX] = result;
    errno = before;
}

constexpr std::array file_calls{
    SCMP_SYS(open),       SCMP_SYS(openat),   SCMP_SYS(stat),       SCMP_SYS(lstat),
    SCMP_SYS(newfstatat), SCMP_SYS(readlink), SCMP_SYS(readlinkat), SCMP_SYS(access),
    SCMP_SYS(faccessat),  SCMP_SYS(statx)};

constexpr std::array permitted_calls{
    // descriptors that the process has
    SCMP_SYS(read), SCMP_SYS(pread64), SCMP_SYS(write), SCMP_SYS(writev),
    SCMP_SYS(lseek), SCMP_SYS(close), SCMP_SYS(fstat), SCMP_SYS(sendmsg),
    SCMP_SYS(recvmsg), SCMP_SYS(poll),
    // memory
    SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(brk), SCMP_SYS(madvise),
    // the process itself
    SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(rt_sigreturn),
    SCMP_SYS(rt_sigprocmask), SCMP_SYS(restart_syscall), SCMP_SYS(getpid),
    SCMP_SYS(gettid), SCMP_SYS(futex), SCMP_SYS(sched_yield),
    SCMP_SYS(sched_getaffinity), SCMP_SYS(clock_gettime), SCMP_SYS(getrandom),
    SCMP_SYS(sysinfo)};

Result<Ok> load_filter()
{
    SeccompFilter filter(SCMP_ACT_KILL_PROCESS);
    for (int call : permitted_calls)
        filter.permit(call);
    for (int call : {SCMP_SYS(mmap), SCMP_SYS(mprotect)}) // no new code
        filter.permit(call, {SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)});
    filter.permit(SCMP_SYS(memfd_create),
                  {SCMP_A1(SCMP_CMP_EQ, MFD_CLOEXEC | MFD_ALLOW_SEALING)});
    for (int command : {F_DUPFD_CLOEXEC, F_GETFD, F_GETFL, F_ADD_SEALS, F_GET_SEALS})
        filter.permit(SCMP_SYS(fcntl),
                      {SCMP_A1(SCMP_CMP_EQ, static_cast<scmp_datum_t>(command))});
    // abort(3) sends SIGABRT to the process itself
    filter.permit(SCMP_SYS(tgkill),
                  {SCMP_A0(SCMP_CMP_EQ, static_cast<scmp_datum_t>(::getpid()))});
    for (int call : file_calls)
        filter.trap(call);
    return filter.load();
}

Result<Ok> limit_resource(__rlimit_resource what, rlim_t most)
{
    rlimit limit{};
    if (::getrlimit(what, &limit) != 0)
        return errno_error("getrlimit");
    // An administrator's own limit may be lower.
    limit.rlim_cur = limit.rlim_max = std::min(most, limit.rlim_max);
    return ::setrlimit(what, &limit) == 0 ? Result<Ok>(Ok{}) : errno_error("setrlimit");
}

// Limits the private memory of the process to half of the machine's memory. The parsers
// use at most three eighths of the machine's memory for one file (DwarfTypes). The
// limit on CPU time ends a reader that outlives dtrace. dtrace itself limits the CPU
// time of each request.
Result<Ok> limit_resources()
{
    constexpr rlim_t longest_s = 3600;
    if (auto limited = limit_resource(RLIMIT_CPU, longest_s); !limited)
        return limited;
    const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
    return limit_resource(RLIMIT_DATA,
                          static_cast<rlim_t>(pages) / 2 * static_cast<rlim_t>(page));
}

// Replaces the standard descriptors with /dev/null, and closes all other descriptors.
void close_descriptors(int kept)
{
    close_standard_descriptors();
    if (kept > 3)
        close_between(3, static_cast<unsigned>(kept) - 1);
    close_between(static_cast<unsigned>(kept) + 1, ~0U);
}

} // namespace

Result<Ok> enter_jail(int kept, JailBroker& broker)
{
    the_broker = &broker;
    leave_servers_to_another_process();
    close_descriptors(kept);
    if (auto dropped = keep_capabilities(0); !dropped)
        return dropped;
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        return errno_error("prctl");
    if (has_sanitizer)
        return Ok{};
    struct sigaction action {};
    action.sa_sigaction = handle_file_call;
    action.sa_flags = SA_SIGINFO;
    if (::sigaction(SIGSYS, &action, nullptr) != 0)
        return errno_error("sigaction");
    if (auto limited = limit_resources(); !limited)
        return limited;
    return load_filter();
}

} // namespace dt
