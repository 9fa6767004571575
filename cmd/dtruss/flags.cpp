// SPDX-License-Identifier: MIT
#include "flags.hpp"

#include <algorithm>
#include <asm/prctl.h>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/futex.h>
#include <linux/random.h>
#include <sched.h>
#include <span>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <utility>

namespace {

struct Name {
    std::uint64_t value;
    const char* name;
};

#define NAME(constant)                                                                 \
    {                                                                                  \
        static_cast<std::uint64_t>(constant), #constant                                \
    }

// Appends the names of the flags that are set to `text`, and the rest as a number.
std::string with_flags(std::string text, std::uint64_t flags,
                       std::span<const Name> names)
{
    for (const Name& one : names) {
        if (one.value == 0 || (flags & one.value) != one.value)
            continue;
        text += (text.empty() ? "" : "|") + std::string(one.name);
        flags &= ~one.value;
    }
    if (flags != 0)
        text += (text.empty() ? "" : "|") + hex(flags);
    return text.empty() ? "0" : text;
}

const char* name_in(std::span<const Name> names, std::uint64_t value)
{
    const auto known = std::find_if(names.begin(), names.end(), [&](const Name& one) {
        return one.value == value;
    });
    return known != names.end() ? known->name : nullptr;
}

std::string name_or(std::span<const Name> names, std::uint64_t value,
                    const std::string& otherwise)
{
    const char* name = name_in(names, value);
    return name != nullptr ? name : otherwise;
}

constexpr std::uint64_t low_32 = 0xffffffff;

constexpr Name descriptor_bits[] = {NAME(O_CREAT),
                                    NAME(O_EXCL),
                                    NAME(O_NOCTTY),
                                    NAME(O_TRUNC),
                                    NAME(O_APPEND),
                                    NAME(O_NONBLOCK),
                                    NAME(O_SYNC),
                                    NAME(O_DSYNC),
                                    NAME(O_ASYNC),
                                    NAME(O_DIRECT),
                                    {0100000, "O_LARGEFILE"},
                                    NAME(O_NOFOLLOW),
                                    NAME(O_NOATIME),
                                    NAME(O_CLOEXEC),
                                    NAME(O_PATH),
                                    NAME(O_TMPFILE),
                                    NAME(O_DIRECTORY)};

} // namespace

std::string hex(std::uint64_t value)
{
    char text[24];
    std::snprintf(text, sizeof text, value == 0 ? "0" : "0x%llx",
                  static_cast<unsigned long long>(value));
    return text;
}

std::string descriptor_flags(std::string_view call, std::uint64_t flags)
{
    static constexpr std::pair<std::string_view, const char*> prefixes[] = {
        {"accept4", "SOCK"},     {"epoll_create1", "EPOLL"}, {"eventfd2", "EFD"},
        {"inotify_init1", "IN"}, {"signalfd4", "SFD"},       {"timerfd_create", "TFD"}};
    const auto own = std::find_if(std::begin(prefixes), std::end(prefixes),
                                  [&](const auto& each) { return each.first == call; });
    flags &= low_32;
    if (own == std::end(prefixes))
        return with_flags("", flags, descriptor_bits);
    const std::string prefix = own->second;
    const std::string close = prefix + "_CLOEXEC", nonblock = prefix + "_NONBLOCK";
    const Name bits[] = {{O_CLOEXEC, close.c_str()},
                         {O_NONBLOCK, nonblock.c_str()},
                         {call == "eventfd2" ? 1U : 0U, "EFD_SEMAPHORE"}};
    return with_flags("", flags, bits);
}

std::string open_flags(std::uint64_t flags)
{
    static constexpr Name modes[] = {NAME(O_RDONLY), NAME(O_WRONLY), NAME(O_RDWR)};
    flags &= low_32;
    return with_flags(name_or(modes, flags & O_ACCMODE, "O_ACCMODE"),
                      flags & ~std::uint64_t{O_ACCMODE}, descriptor_bits);
}

std::string protection(std::uint64_t flags)
{
    static constexpr Name bits[] = {NAME(PROT_READ), NAME(PROT_WRITE), NAME(PROT_EXEC),
                                    NAME(PROT_GROWSDOWN), NAME(PROT_GROWSUP)};
    return flags == 0 ? "PROT_NONE" : with_flags("", flags, bits);
}

std::string map_flags(std::uint64_t flags)
{
    static constexpr Name types[] = {NAME(MAP_SHARED), NAME(MAP_PRIVATE),
                                     NAME(MAP_SHARED_VALIDATE)};
    static constexpr Name bits[] = {
        NAME(MAP_FIXED),     NAME(MAP_ANONYMOUS),      NAME(MAP_32BIT),
        NAME(MAP_GROWSDOWN), NAME(MAP_DENYWRITE),      NAME(MAP_EXECUTABLE),
        NAME(MAP_LOCKED),    NAME(MAP_NORESERVE),      NAME(MAP_POPULATE),
        NAME(MAP_NONBLOCK),  NAME(MAP_STACK),          NAME(MAP_HUGETLB),
        NAME(MAP_SYNC),      NAME(MAP_FIXED_NOREPLACE)};
    constexpr std::uint64_t type = 0xf;
    return with_flags(name_or(types, flags & type, hex(flags & type)), flags & ~type,
                      bits);
}

std::string access_mode(std::uint64_t mode)
{
    static constexpr Name bits[] = {NAME(R_OK), NAME(W_OK), NAME(X_OK)};
    return mode == F_OK ? "F_OK" : with_flags("", mode & low_32, bits);
}

std::string at_flags(std::uint64_t flags)
{
    static constexpr Name bits[] = {NAME(AT_SYMLINK_NOFOLLOW),
                                    {0x200, "AT_REMOVEDIR"},
                                    NAME(AT_SYMLINK_FOLLOW),
                                    NAME(AT_NO_AUTOMOUNT),
                                    NAME(AT_EMPTY_PATH)};
    return with_flags("", flags & low_32, bits);
}

std::string statx_flags(std::uint64_t flags)
{
    static constexpr Name synchronization[] = {NAME(AT_STATX_SYNC_AS_STAT),
                                               NAME(AT_STATX_FORCE_SYNC),
                                               NAME(AT_STATX_DONT_SYNC)};
    const std::uint64_t type = flags & AT_STATX_SYNC_TYPE;
    const std::string rest = at_flags(flags & ~std::uint64_t{AT_STATX_SYNC_TYPE});
    return name_or(synchronization, type, hex(type)) + (rest == "0" ? "" : "|" + rest);
}

std::string statx_mask(std::uint64_t mask)
{
    static constexpr Name sums[] = {NAME(STATX_BASIC_STATS), NAME(STATX_ALL)};
    static constexpr Name bits[] = {
        NAME(STATX_TYPE),         NAME(STATX_MODE),          NAME(STATX_NLINK),
        NAME(STATX_UID),          NAME(STATX_GID),           NAME(STATX_ATIME),
        NAME(STATX_MTIME),        NAME(STATX_CTIME),         NAME(STATX_INO),
        NAME(STATX_SIZE),         NAME(STATX_BLOCKS),        NAME(STATX_BTIME),
        {0x1000, "STATX_MNT_ID"}, {0x2000, "STATX_DIOALIGN"}};
    const char* sum = name_in(sums, mask & low_32);
    return sum != nullptr ? sum : with_flags("", mask & low_32, bits);
}

std::string rename_flags(std::uint64_t flags)
{
    static constexpr Name bits[] = {NAME(RENAME_NOREPLACE), NAME(RENAME_EXCHANGE),
                                    NAME(RENAME_WHITEOUT)};
    return with_flags("", flags & low_32, bits);
}

std::string memfd_flags(std::uint64_t flags)
{
    static constexpr Name bits[] = {NAME(MFD_CLOEXEC),
                                    NAME(MFD_ALLOW_SEALING),
                                    NAME(MFD_HUGETLB),
                                    {8, "MFD_NOEXEC_SEAL"},
                                    {16, "MFD_EXEC"}};
    return with_flags("", flags & low_32, bits);
}

std::string action_flags(std::uint64_t flags)
{
    static constexpr Name bits[] = {{0x04000000, "SA_RESTORER"},
                                    NAME(SA_ONSTACK),
                                    NAME(SA_RESTART),
                                    NAME(SA_INTERRUPT),
                                    NAME(SA_NODEFER),
                                    NAME(SA_RESETHAND),
                                    NAME(SA_SIGINFO),
                                    NAME(SA_NOCLDSTOP),
                                    NAME(SA_NOCLDWAIT)};
    return with_flags("", flags, bits);
}

std::string random_flags(std::uint64_t flags)
{
    static constexpr Name bits[] = {NAME(GRND_NONBLOCK), NAME(GRND_RANDOM),
                                    NAME(GRND_INSECURE)};
    return with_flags("", flags, bits);
}

std::string clone_flags(std::uint64_t flags)
{
    static constexpr Name bits[] = {NAME(CLONE_VM),
                                    NAME(CLONE_FS),
                                    NAME(CLONE_FILES),
                                    NAME(CLONE_SIGHAND),
                                    NAME(CLONE_PIDFD),
                                    NAME(CLONE_PTRACE),
                                    NAME(CLONE_VFORK),
                                    NAME(CLONE_PARENT),
                                    NAME(CLONE_THREAD),
                                    NAME(CLONE_NEWNS),
                                    NAME(CLONE_SYSVSEM),
                                    NAME(CLONE_SETTLS),
                                    NAME(CLONE_PARENT_SETTID),
                                    NAME(CLONE_CHILD_CLEARTID),
                                    NAME(CLONE_UNTRACED),
                                    NAME(CLONE_CHILD_SETTID),
                                    NAME(CLONE_NEWCGROUP),
                                    NAME(CLONE_NEWUTS),
                                    NAME(CLONE_NEWIPC),
                                    NAME(CLONE_NEWUSER),
                                    NAME(CLONE_NEWPID),
                                    NAME(CLONE_NEWNET),
                                    NAME(CLONE_IO)};
    constexpr std::uint64_t signal = 0xff;
    std::string text = with_flags("", flags & low_32 & ~signal, bits);
    if ((flags & signal) != 0)
        text = (text == "0" ? "" : text + "|") + signal_name(flags & signal);
    return text;
}

std::string wait_options(std::uint64_t flags)
{
    static constexpr Name bits[] = {NAME(WNOHANG),          NAME(WSTOPPED),
                                    NAME(WEXITED),          NAME(WCONTINUED),
                                    NAME(WNOWAIT),          {0x20000000, "__WNOTHREAD"},
                                    {0x40000000, "__WALL"}, {0x80000000, "__WCLONE"}};
    return with_flags("", flags & low_32, bits);
}

std::string socket_type(std::uint64_t type)
{
    static constexpr Name types[] = {NAME(SOCK_STREAM), NAME(SOCK_DGRAM),
                                     NAME(SOCK_RAW), NAME(SOCK_RDM),
                                     NAME(SOCK_SEQPACKET)};
    static constexpr Name bits[] = {NAME(SOCK_CLOEXEC), NAME(SOCK_NONBLOCK)};
    constexpr std::uint64_t kind = 0xf;
    type &= low_32;
    return with_flags(name_or(types, type & kind, hex(type & kind)), type & ~kind,
                      bits);
}

std::string signal_name(std::uint64_t number)
{
    const int signal = static_cast<int>(number);
    if (signal >= 34 && signal <= 64)
        return signal == 34 ? "SIGRT_2" : "SIGRT_" + std::to_string(signal - 32);
    if (signal == 32 || signal == 33)
        return signal == 32 ? "SIGRTMIN" : "SIGRT_1";
    if (signal == SIGIO)
        return "SIGIO"; // sigabbrev_np() returns "POLL"
    const char* name = sigabbrev_np(signal);
    return name != nullptr ? "SIG" + std::string(name) : std::to_string(signal);
}

std::string signal_code(int signal, std::int64_t code)
{
    static constexpr Name any[] = {NAME(SI_USER),  NAME(SI_QUEUE),   NAME(SI_TIMER),
                                   NAME(SI_MESGQ), NAME(SI_ASYNCIO), NAME(SI_TKILL),
                                   NAME(SI_KERNEL)};
    static constexpr Name child[] = {NAME(CLD_EXITED),  NAME(CLD_KILLED),
                                     NAME(CLD_DUMPED),  NAME(CLD_TRAPPED),
                                     NAME(CLD_STOPPED), NAME(CLD_CONTINUED)};
    static constexpr Name fault[] = {NAME(SEGV_MAPERR), NAME(SEGV_ACCERR)};
    const auto value = static_cast<std::uint64_t>(code);
    const char* name = signal == SIGCHLD   ? name_in(child, value)
                       : signal == SIGSEGV ? name_in(fault, value)
                                           : nullptr;
    return name != nullptr ? name : name_or(any, value, std::to_string(code));
}

std::string whence(std::uint64_t number)
{
    static constexpr Name names[] = {NAME(SEEK_SET), NAME(SEEK_CUR), NAME(SEEK_END),
                                     NAME(SEEK_DATA), NAME(SEEK_HOLE)};
    return name_or(names, number & low_32, std::to_string(number));
}

std::string futex_operation(std::uint64_t number)
{
    static constexpr Name names[] = {
        NAME(FUTEX_WAIT),        NAME(FUTEX_WAKE),       NAME(FUTEX_REQUEUE),
        NAME(FUTEX_CMP_REQUEUE), NAME(FUTEX_WAKE_OP),    NAME(FUTEX_LOCK_PI),
        NAME(FUTEX_UNLOCK_PI),   NAME(FUTEX_TRYLOCK_PI), NAME(FUTEX_WAIT_BITSET),
        NAME(FUTEX_WAKE_BITSET), NAME(FUTEX_LOCK_PI2)};
    std::string text = name_or(names, number & FUTEX_CMD_MASK & low_32, hex(number));
    if ((number & FUTEX_PRIVATE_FLAG) != 0)
        text += "_PRIVATE";
    if ((number & FUTEX_CLOCK_REALTIME) != 0)
        text += "|FUTEX_CLOCK_REALTIME";
    return text;
}

std::string fcntl_command(std::uint64_t number)
{
    static constexpr Name names[] = {
        NAME(F_DUPFD),      NAME(F_GETFD),      NAME(F_SETFD),
        NAME(F_GETFL),      NAME(F_SETFL),      NAME(F_GETLK),
        NAME(F_SETLK),      NAME(F_SETLKW),     NAME(F_SETOWN),
        NAME(F_GETOWN),     NAME(F_SETSIG),     NAME(F_GETSIG),
        NAME(F_SETOWN_EX),  NAME(F_GETOWN_EX),  NAME(F_OFD_GETLK),
        NAME(F_OFD_SETLK),  NAME(F_OFD_SETLKW), NAME(F_DUPFD_CLOEXEC),
        NAME(F_SETPIPE_SZ), NAME(F_GETPIPE_SZ), NAME(F_ADD_SEALS),
        NAME(F_GET_SEALS),  NAME(F_SETLEASE),   NAME(F_GETLEASE),
        NAME(F_NOTIFY)};
    return name_or(names, number & low_32, hex(number));
}

std::string ioctl_command(std::uint64_t number)
{
    static constexpr Name names[] = {
        NAME(TCGETS),    NAME(TCSETS),     NAME(TCSETSW),    NAME(TCSETSF),
        NAME(TIOCGPGRP), NAME(TIOCSPGRP),  NAME(TIOCGWINSZ), NAME(TIOCSWINSZ),
        NAME(FIONREAD),  NAME(FIONBIO),    NAME(FIOCLEX),    NAME(FIONCLEX),
        NAME(FIOASYNC),  NAME(TIOCNOTTY),  NAME(TIOCSCTTY),  NAME(TIOCGSID),
        NAME(TIOCGPTN),  NAME(TIOCSPTLCK), NAME(TCSBRK),     NAME(TCXONC),
        NAME(FICLONE),   NAME(TCFLSH),     NAME(TIOCSTI),    NAME(TIOCOUTQ)};
    return name_or(names, number & low_32, hex(number & low_32));
}

std::string arch_prctl_code(std::uint64_t number)
{
    static constexpr Name names[] = {NAME(ARCH_SET_GS), NAME(ARCH_SET_FS),
                                     NAME(ARCH_GET_FS), NAME(ARCH_GET_GS)};
    return name_or(names, number, hex(number));
}

std::string prctl_option(std::uint64_t number)
{
    static constexpr Name names[] = {
        NAME(PR_SET_PDEATHSIG),    NAME(PR_GET_PDEATHSIG),
        NAME(PR_GET_DUMPABLE),     NAME(PR_SET_DUMPABLE),
        NAME(PR_GET_KEEPCAPS),     NAME(PR_SET_KEEPCAPS),
        NAME(PR_SET_NAME),         NAME(PR_GET_NAME),
        NAME(PR_GET_SECCOMP),      NAME(PR_SET_SECCOMP),
        NAME(PR_CAPBSET_READ),     NAME(PR_CAPBSET_DROP),
        NAME(PR_GET_SECUREBITS),   NAME(PR_SET_SECUREBITS),
        NAME(PR_SET_TIMERSLACK),   NAME(PR_SET_MM),
        NAME(PR_SET_PTRACER),      NAME(PR_SET_CHILD_SUBREAPER),
        NAME(PR_SET_NO_NEW_PRIVS), NAME(PR_GET_NO_NEW_PRIVS),
        NAME(PR_CAP_AMBIENT),      {0x53564d41, "PR_SET_VMA"}};
    return name_or(names, number & low_32, hex(number));
}

std::string mask_how(std::uint64_t number)
{
    static constexpr Name names[] = {NAME(SIG_BLOCK), NAME(SIG_UNBLOCK),
                                     NAME(SIG_SETMASK)};
    return name_or(names, number & low_32, std::to_string(number));
}

std::string address_family(std::uint64_t number)
{
    static constexpr Name names[] = {
        NAME(AF_UNSPEC), NAME(AF_UNIX),    NAME(AF_INET),
        NAME(AF_INET6),  NAME(AF_NETLINK), NAME(AF_PACKET),
        NAME(AF_VSOCK),  NAME(AF_ALG),     NAME(AF_BLUETOOTH)};
    return name_or(names, number & low_32, std::to_string(number));
}

std::string resource(std::uint64_t number)
{
    static constexpr Name names[] = {
        NAME(RLIMIT_CPU),      NAME(RLIMIT_FSIZE),  NAME(RLIMIT_DATA),
        NAME(RLIMIT_STACK),    NAME(RLIMIT_CORE),   NAME(RLIMIT_RSS),
        NAME(RLIMIT_NPROC),    NAME(RLIMIT_NOFILE), NAME(RLIMIT_MEMLOCK),
        NAME(RLIMIT_AS),       NAME(RLIMIT_LOCKS),  NAME(RLIMIT_SIGPENDING),
        NAME(RLIMIT_MSGQUEUE), NAME(RLIMIT_NICE),   NAME(RLIMIT_RTPRIO),
        NAME(RLIMIT_RTTIME)};
    return name_or(names, number & low_32, std::to_string(number));
}

std::string clock_name(std::uint64_t number)
{
    static constexpr Name names[] = {NAME(CLOCK_REALTIME),
                                     NAME(CLOCK_MONOTONIC),
                                     NAME(CLOCK_PROCESS_CPUTIME_ID),
                                     NAME(CLOCK_THREAD_CPUTIME_ID),
                                     NAME(CLOCK_MONOTONIC_RAW),
                                     NAME(CLOCK_REALTIME_COARSE),
                                     NAME(CLOCK_MONOTONIC_COARSE),
                                     NAME(CLOCK_BOOTTIME),
                                     NAME(CLOCK_REALTIME_ALARM),
                                     NAME(CLOCK_BOOTTIME_ALARM),
                                     NAME(CLOCK_TAI)};
    return name_or(names, number & low_32,
                   std::to_string(static_cast<std::int32_t>(number)));
}

std::string advice(std::uint64_t number)
{
    static constexpr Name names[] = {
        NAME(MADV_NORMAL),     NAME(MADV_RANDOM),      NAME(MADV_SEQUENTIAL),
        NAME(MADV_WILLNEED),   NAME(MADV_DONTNEED),    NAME(MADV_FREE),
        NAME(MADV_REMOVE),     NAME(MADV_DONTFORK),    NAME(MADV_DOFORK),
        NAME(MADV_MERGEABLE),  NAME(MADV_UNMERGEABLE), NAME(MADV_HUGEPAGE),
        NAME(MADV_NOHUGEPAGE), NAME(MADV_DONTDUMP),    NAME(MADV_DODUMP),
        NAME(MADV_WIPEONFORK), NAME(MADV_KEEPONFORK),  NAME(MADV_COLD),
        NAME(MADV_PAGEOUT)};
    return name_or(names, number & low_32, hex(number));
}

std::string file_advice(std::uint64_t number)
{
    static constexpr Name names[] = {
        NAME(POSIX_FADV_NORMAL),     NAME(POSIX_FADV_RANDOM),
        NAME(POSIX_FADV_SEQUENTIAL), NAME(POSIX_FADV_WILLNEED),
        NAME(POSIX_FADV_DONTNEED),   NAME(POSIX_FADV_NOREUSE)};
    return name_or(names, number & low_32, hex(number));
}

std::string signal_set(std::uint64_t set)
{
    // Most signals are in the set: the others are listed after ~.
    constexpr int n_signals = 64;
    const bool inverted = __builtin_popcountll(set) > n_signals * 2 / 3;
    std::string text = inverted ? "~[" : "[";
    bool first = true;
    for (int signal = 1; signal <= n_signals; signal++) {
        const bool in_set = (set >> (signal - 1) & 1) != 0;
        if (in_set == inverted)
            continue;
        const std::string name = signal_name(static_cast<std::uint64_t>(signal));
        text += (first ? "" : " ") + (name.starts_with("SIG") ? name.substr(3) : name);
        first = false;
    }
    return text + "]";
}

std::string wait_status(int status)
{
    if (WIFEXITED(status))
        return "{WIFEXITED(s) && WEXITSTATUS(s) == " +
               std::to_string(WEXITSTATUS(status)) + "}";
    if (WIFSIGNALED(status))
        return "{WIFSIGNALED(s) && WTERMSIG(s) == " +
               signal_name(static_cast<std::uint64_t>(WTERMSIG(status))) +
               (WCOREDUMP(status) ? " && WCOREDUMP(s)}" : "}");
    if (WIFSTOPPED(status))
        return "{WIFSTOPPED(s) && WSTOPSIG(s) == " +
               signal_name(static_cast<std::uint64_t>(WSTOPSIG(status))) + "}";
    return WIFCONTINUED(status) ? "{WIFCONTINUED(s)}" : std::to_string(status);
}

std::string file_mode(std::uint32_t mode)
{
    static constexpr Name types[] = {NAME(S_IFREG), NAME(S_IFDIR), NAME(S_IFCHR),
                                     NAME(S_IFBLK), NAME(S_IFIFO), NAME(S_IFLNK),
                                     NAME(S_IFSOCK)};
    static constexpr Name bits[] = {NAME(S_ISUID), NAME(S_ISGID), NAME(S_ISVTX)};
    std::string text = name_or(types, mode & S_IFMT, hex(mode & S_IFMT));
    for (const Name& one : bits)
        if ((mode & one.value) != 0)
            text += "|" + std::string(one.name);
    char octal[16];
    std::snprintf(octal, sizeof octal, "|%#o", mode & 0777U);
    return text + octal;
}
