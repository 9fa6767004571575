// SPDX-License-Identifier: MIT
// Measures the cost of an entry probe that uses a breakpoint, and the minimal cost of a
// breakpoint with ptrace.
//
// Child processes measure three loops:
//   - calls to a function without a probe
//   - calls to the same function with an entry probe whose clause is @ = count();
//   - int3 instructions under a minimal tracer, which makes four calls for each stop:
//     waitpid(), PTRACE_GETREGS, PTRACE_SETREGS and PTRACE_CONT
// The goal is that a call with the probe takes at most 1.25 times as long as an int3.
#include "dif/engine.h"
#include "libdtrace/compile/compiler.hpp"
#include "ptrace-agent/wire/client.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dt;

namespace {

constexpr int n_runs = 5;
constexpr int n_calls = 100000;

extern "C" void bench_work();
__asm__(".text\n"
        ".globl bench_work\n"
        ".type bench_work, @function\n"
        "bench_work:\n"
        "  push %rbp\n"
        "  mov %rsp, %rbp\n"
        "  pop %rbp\n"
        "  ret\n"
        ".size bench_work, .-bench_work\n");

double now_ns()
{
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

[[noreturn]] void fail(const std::string& what)
{
    std::fprintf(stderr, "trap_probe: %s\n", what.c_str());
    std::exit(1);
}

// A child process. For each byte that it reads, it calls bench_work() n_calls times, or
// executes n_calls int3 instructions if `traps` is set. It replies with the ns per call
// or per int3.
struct Child {
    pid_t pid = 0;
    int ask[2], answer[2];

    explicit Child(bool traps)
    {
        if (pipe(ask) != 0 || pipe(answer) != 0)
            fail("pipe");
        pid = fork();
        if (pid != 0)
            return;
        close(ask[1]);
        char byte;
        while (read(ask[0], &byte, 1) == 1) {
            double begin = now_ns();
            for (int i = 0; i < n_calls; ++i) {
                if (traps)
                    __asm__ volatile("int3");
                else
                    bench_work();
            }
            double each = (now_ns() - begin) / n_calls;
            if (write(answer[1], &each, sizeof each) != sizeof each)
                _exit(1);
        }
        _exit(0);
    }
    void begin() { (void)!write(ask[1], "x", 1); }
    double result()
    {
        double each = 0;
        if (read(answer[0], &each, sizeof each) != sizeof each)
            fail("the child is gone");
        return each;
    }
    ~Child()
    {
        kill(pid, SIGKILL);
        waitpid(pid, nullptr, __WALL);
        for (int fd : {ask[0], ask[1], answer[0], answer[1]})
            close(fd);
    }
};

// Makes the child execute int3 n_calls times, and continues it after each stop. Returns
// the ns per int3.
double bare_loop(Child& child)
{
    child.begin();
    for (int stops = 0; stops < n_calls;) {
        int status = 0;
        user_regs_struct regs;
        if (waitpid(child.pid, &status, __WALL) != child.pid || !WIFSTOPPED(status))
            fail("the child is gone");
        bool trap = WSTOPSIG(status) == SIGTRAP && status >> 16 == 0;
        ptrace(PTRACE_GETREGS, child.pid, nullptr, &regs);
        ptrace(PTRACE_SETREGS, child.pid, nullptr, &regs);
        ptrace(PTRACE_CONT, child.pid, nullptr, nullptr);
        stops += trap;
    }
    return child.result();
}

struct Arena {
    int program_fd = memfd_create("program", MFD_CLOEXEC);
    int data_fd = memfd_create("data", MFD_CLOEXEC);
    dt_u64 program_bytes = 0, total_bytes = 0;
    void* base = nullptr;

    Arena()
    {
        dt_arena_config config{};
        for (dt_u64& option : config.options)
            option = DT_OPT_UNSET;
        config.n_shards = 2;
        config.max_probes = config.max_ecbs = config.max_clauses = 64;
        config.max_vars = 64;
        config.heap_bytes = 1 << 20;
        config.globals_bytes = config.locals_bytes = 4096;
        dt_arena_layout(&config, &program_bytes, &total_bytes);
        if (ftruncate(program_fd, static_cast<off_t>(program_bytes)) != 0 ||
            ftruncate(data_fd, static_cast<off_t>(total_bytes - program_bytes)) != 0)
            fail("ftruncate");
        base =
            mmap(nullptr, total_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        mmap(base, program_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
             program_fd, 0);
        mmap(static_cast<char*>(base) + program_bytes, total_bytes - program_bytes,
             PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, data_fd, 0);
        dt_arena_init(base, &config);
    }
    std::uint64_t fired() const
    {
        auto* arena = static_cast<dt_arena*>(base);
        std::uint64_t n = 0;
        for (dt_u32 i = 0; i < arena->n_shards; ++i)
            n += static_cast<dt_shard*>(
                     dt_at(base, arena->shards + i * arena->shard_bytes))
                     ->fired;
        return n;
    }
};

dt_u32 load_count(Arena& arena)
{
    Compiler compiler;
    CompileOptions options;
    auto compiled =
        compiler.compile("pid1:a.out:bench_work:entry { @ = count(); }", options);
    if (!std::holds_alternative<Program>(compiled))
        fail(std::get<Diagnostic>(compiled).text);
    std::vector<std::byte> dof = write_dof(std::get<Program>(compiled), 0);
    dt_u32 first = 0, n = 0;
    dt_load_error error{};
    if (dt_load(arena.base, dof.data(), dof.size(), &first, &n, &error) != 0)
        fail(error.text);
    dt_u32 probe = dt_probe_add(arena.base, "pid1", "a.out", "bench_work", "entry");
    if (probe == 0 || dt_ecb_add(arena.base, probe, first) == 0)
        fail("no room for the probe");
    auto* session = static_cast<dt_session*>(
        dt_at(arena.base, static_cast<dt_arena*>(arena.base)->session));
    session->lease_until = ~0ull;
    dt_activity_advance(arena.base, DT_ACTIVITY_INACTIVE, DT_ACTIVITY_WARMUP);
    dt_activity_advance(arena.base, DT_ACTIVITY_WARMUP, DT_ACTIVITY_ACTIVE);
    return probe;
}

struct Spread {
    std::array<double, n_runs> all{};
    double median() const
    {
        auto sorted = all;
        std::sort(sorted.begin(), sorted.end());
        return sorted[n_runs / 2];
    }
    void print(const char* what) const
    {
        auto [least, most] = std::minmax_element(all.begin(), all.end());
        std::printf("%-28s %9.1f ns   %.1f..%.1f\n", what, median(), *least, *most);
    }
};

} // namespace

int main()
{
    auto agent = AgentClient::start();
    if (!agent)
        fail(agent.error().text);
    Arena arena;
    dt_u32 probe = load_count(arena);
    if (auto mapped =
            agent->set_arena(arena.program_fd, arena.program_bytes, arena.data_fd,
                             arena.total_bytes - arena.program_bytes);
        !mapped)
        fail(mapped.error().text);

    Spread plain, bare, probed;
    Child worker(false), trapper(true);
    if (ptrace(PTRACE_SEIZE, trapper.pid, nullptr, nullptr) != 0)
        fail("seize");
    Site site;
    site.at = TargetAddr{reinterpret_cast<std::uint64_t>(&bench_work)};
    site.probe = probe;
    for (int run = 0; run < n_runs; ++run) {
        auto at = static_cast<std::size_t>(run);
        worker.begin();
        plain.all[at] = worker.result();
        bare.all[at] = bare_loop(trapper);

        if (auto grabbed = agent->grab(worker.pid); !grabbed)
            fail(grabbed.error().text);
        auto planted = agent->plant(worker.pid, std::span(&site, 1));
        if (!planted || planted->n_planted != 1)
            fail("the probe was not planted");
        worker.begin();
        probed.all[at] = worker.result();
        if (auto gone = agent->detach(worker.pid); !gone)
            fail(gone.error().text);
    }
    if (arena.fired() != static_cast<std::uint64_t>(n_runs) * n_calls)
        fail("not every call was counted");

    utsname machine;
    uname(&machine);
    std::printf("one call, median and range of %d runs of %d; %s %s, %ld CPUs\n",
                n_runs, n_calls, machine.sysname, machine.release,
                sysconf(_SC_NPROCESSORS_ONLN));
    plain.print("unprobed");
    bare.print("bare ptrace loop");
    probed.print("entry probe, @ = count()");
    std::printf("ratio to the bare loop       %9.2f      asked for: <= 1.25\n",
                probed.median() / bare.median());
    return 0;
}
