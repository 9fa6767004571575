// SPDX-License-Identifier: MIT
#include "libdtrace/session/backends/clock_facts.hpp"

#include "base/clock_ns.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace dt {

namespace {

// The bits of the child's exit status.
enum : int { found_vdso = 1, found_agreement = 2 };

#if defined(__x86_64__)

// Makes clock_gettime() fail with ENOSYS in this process, so that only the vDSO can
// read the time.
bool forbid_clock_gettime()
{
    sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{sizeof code / sizeof code[0], code};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

struct Reading {
    std::uint64_t counter = 0, ns = 0;
};

// Returns the two readings with the shortest delay between them.
Reading read_both()
{
    Reading best;
    std::uint64_t least = ~0ull;
    for (int i = 0; i < 16; i++) {
        const std::uint64_t before = __rdtsc();
        const std::uint64_t ns = clock_ns(CLOCK_MONOTONIC);
        const std::uint64_t after = __rdtsc();
        if (after - before < least) {
            least = after - before;
            best = {before + least / 2, ns};
        }
    }
    return best;
}

// Reads the counter on each allowed CPU, and again on the first CPU to measure the
// rate. Returns whether all readings are within 20 us of the expected time.
bool cpus_agree()
{
    constexpr double tolerance_ns = 20'000;
    constexpr int max_cpus = 1024;
    cpu_set_t allowed;
    if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return false;
    static Reading readings[max_cpus + 1];
    int n = 0, first = -1;
    auto visit = [&](int cpu) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        if (::sched_setaffinity(0, sizeof one, &one) != 0)
            return false;
        readings[n++] = read_both();
        return true;
    };
    for (int cpu = 0; cpu < CPU_SETSIZE && n < max_cpus; cpu++) {
        if (!CPU_ISSET(cpu, &allowed))
            continue;
        if (first < 0)
            first = cpu;
        if (!visit(cpu))
            return false;
    }
    // The rate could not be measured accurately over a shorter time.
    const timespec pause{0, 5'000'000};
    ::nanosleep(&pause, nullptr);
    if (first < 0 || !visit(first))
        return false;
    const Reading& begin = readings[0];
    const Reading& end = readings[n - 1];
    if (end.counter <= begin.counter || end.ns <= begin.ns)
        return false;
    const double rate = static_cast<double>(end.ns - begin.ns) /
                        static_cast<double>(end.counter - begin.counter);
    for (int i = 1; i < n; i++) {
        const auto counts =
            static_cast<std::int64_t>(readings[i].counter - begin.counter);
        const auto ns = static_cast<std::int64_t>(readings[i].ns - begin.ns);
        const double off = static_cast<double>(counts) * rate - static_cast<double>(ns);
        if (off > tolerance_ns || off < -tolerance_ns)
            return false;
    }
    return true;
}

[[noreturn]] void look_and_exit()
{
    int found = cpus_agree() ? found_agreement : 0;
    timespec now{};
    if (forbid_clock_gettime() && ::clock_gettime(CLOCK_MONOTONIC, &now) == 0)
        found |= found_vdso;
    ::_exit(found);
}

#endif

bool has_one_rate()
{
    std::ifstream cpus("/proc/cpuinfo");
    for (std::string line; std::getline(cpus, line);) {
        if (!line.starts_with("flags"))
            continue;
        line += ' ';
        return line.find(" constant_tsc ") != std::string::npos &&
               line.find(" nonstop_tsc ") != std::string::npos;
    }
    return false;
}

} // namespace

std::string clock_source_name()
{
    std::ifstream file("/sys/devices/system/clocksource/clocksource0/"
                       "current_clocksource");
    std::string name;
    file >> name;
    return name;
}

ClockFacts clock_facts(std::string source)
{
    ClockFacts facts;
    facts.source = std::move(source);
    facts.one_rate = has_one_rate();
#if defined(__x86_64__)
    // The child has no exit signal, so its exit causes no SIGCHLD in this program.
    const long child = ::syscall(SYS_clone, 0, nullptr, nullptr, nullptr, nullptr);
    if (child == 0)
        look_and_exit();
    int status = 0;
    while (child > 0 && ::waitpid(static_cast<pid_t>(child), &status, __WALL) < 0)
        if (errno != EINTR)
            return facts;
    if (child > 0 && WIFEXITED(status)) {
        facts.vdso_alone = (WEXITSTATUS(status) & found_vdso) != 0;
        facts.cpus_agree = (WEXITSTATUS(status) & found_agreement) != 0;
    }
#endif
    return facts;
}

bool counter_is_clock(const ClockFacts& facts)
{
    return facts.source == "tsc" || facts.vdso_alone ||
           (facts.one_rate && facts.cpus_agree);
}

} // namespace dt
