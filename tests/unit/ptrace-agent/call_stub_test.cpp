// SPDX-License-Identifier: MIT
// Tests that a thread continues if its tracer exits during an injected system call.
#include "session.hpp"

#include "process/maps.hpp"
#include "process/proc_files.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/inject/call_stub.hpp"

#include <algorithm>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dt;
using namespace dt::test;

// Returns an unused address for the stub at the end of the victim's text.
static TargetAddr room_in(pid_t pid)
{
    for (const Mapping& m : mappings_of(pid)) {
        if (m.executable && m.path.find("/waiter") != std::string::npos)
            return {(m.end.value - agent::call_stub().size() - 16) & ~15ull};
    }
    return {};
}

static bool write_to(pid_t pid, TargetAddr at, std::span<const std::byte> bytes)
{
    Fd mem(open(proc_path(pid, "mem").c_str(), O_RDWR | O_CLOEXEC));
    return pwrite(mem.get(), bytes.data(), bytes.size(),
                  static_cast<off_t>(at.value)) == static_cast<ssize_t>(bytes.size());
}

static bool stop(pid_t pid)
{
    int status = 0;
    return ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) == 0 &&
           ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr) == 0 &&
           waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status);
}

// Waits until the victim's first thread is in read(2), after it has left the stub.
// Returns false after 5 s.
static bool is_in_read(pid_t pid)
{
    for (int i = 0; i < 5000; ++i) {
        if (read_proc_file(pid, "syscall", 64).rfind("0 ", 0) == 0)
            return true;
        usleep(1000);
    }
    return false;
}

// Makes the thread execute a system call in the stub. Detaches before the call (n_stops
// is 0), inside it (1), or after it (2).
static void call_and_leave(pid_t pid, TargetAddr stub, int n_stops)
{
    ASSERT_TRUE(stop(pid));
    user_regs_struct before;
    std::uint64_t mask = 0;
    ASSERT_TRUE(agent::get_regs(pid, before) && agent::get_mask(pid, mask));
    agent::CallBlock block = agent::block_for(before, mask);
    ASSERT_TRUE(
        write_to(pid, agent::block_of(stub), std::as_bytes(std::span(&block, 1))));
    user_regs_struct call = before;
    call.rip = stub.value;
    call.rax = SYS_getppid;
    call.orig_rax = ~0ull;
    ASSERT_TRUE(agent::set_regs(pid, call));
    ASSERT_TRUE(agent::set_mask(pid, agent::asynchronous_signals));
    for (int i = 0; i < n_stops; ++i) {
        int status = 0;
        ASSERT_EQ(ptrace(PTRACE_SYSCALL, pid, nullptr, nullptr), 0);
        ASSERT_EQ(waitpid(pid, &status, __WALL), pid);
    }
    ASSERT_EQ(ptrace(PTRACE_DETACH, pid, nullptr, nullptr), 0);
}

TEST(CallStub, RestoresTheRegistersOfTheThreadAfterItsTracerHasDetached)
{
    if (agent::call_stub().empty())
        GTEST_SKIP() << "lacks: a stub for this machine";
    FreeVictim victim({dt::test::victim("waiter"), "50"});
    victim.read_line();
    TargetAddr stub = room_in(victim.pid());
    ASSERT_NE(stub.value, 0u);
    ASSERT_TRUE(write_to(victim.pid(), stub, agent::call_stub()));
    std::uint64_t mask = 0;
    ASSERT_TRUE(stop(victim.pid()) && agent::get_mask(victim.pid(), mask));
    ASSERT_EQ(ptrace(PTRACE_DETACH, victim.pid(), nullptr, nullptr), 0);
    for (int i = 0; i < 200 && !HasFatalFailure(); ++i) {
        ASSERT_TRUE(is_in_read(victim.pid()));
        call_and_leave(victim.pid(), stub, i % 3);
    }
    ASSERT_TRUE(is_in_read(victim.pid()));
    std::uint64_t now = 0;
    ASSERT_TRUE(stop(victim.pid()) && agent::get_mask(victim.pid(), now));
    EXPECT_EQ(now, mask) << "the signal mask";
    ASSERT_EQ(ptrace(PTRACE_DETACH, victim.pid(), nullptr, nullptr), 0);
    EXPECT_EQ(victim.finish(), 0);
    EXPECT_GE(number_after(victim.rest, "calls"), 0);
}

// Examines the place for a stub in each text mapping. If `put` is true, writes a stub
// to each unused place, and returns these places. Otherwise returns the places that
// contain a stub.
static std::vector<TargetAddr> stubs_of_dead_agents(pid_t pid, bool put)
{
    std::vector<TargetAddr> places;
    const std::size_t n = agent::call_stub().size();
    Fd mem(open(proc_path(pid, "mem").c_str(), O_RDWR | O_CLOEXEC));
    for (const Mapping& m : mappings_of(pid)) {
        TargetAddr at{(m.end.value - n - 16) & ~15ull};
        std::vector<std::byte> text(n);
        if (!m.executable || m.file.inode == 0 ||
            pread(mem.get(), text.data(), n, static_cast<off_t>(at.value)) !=
                static_cast<ssize_t>(n))
            continue;
        const bool has_room = std::all_of(
            text.begin(), text.end(), [](std::byte b) { return b == std::byte{0}; });
        if (put && has_room && write_to(pid, at, agent::call_stub()))
            places.push_back(at);
        // The block after the code contains the registers of a thread, so it is not
        // compared.
        const auto n_code = static_cast<std::ptrdiff_t>(agent::block_of(at) - at);
        if (!put &&
            std::equal(text.begin(), text.begin() + n_code, agent::call_stub().begin()))
            places.push_back(at);
    }
    return places;
}

// Without the stub, the next agent would inject calls into the program's text. If this
// agent died during such a call, the thread would never return from the call.
TEST(CallStub, OfADeadAgentIsUsedByTheNextAgent)
{
    if (agent::call_stub().empty())
        GTEST_SKIP() << "lacks: a stub for this machine";
    FreeVictim victim({dt::test::victim("waiter"), "4"});
    victim.read_line();
    const std::size_t n_left = stubs_of_dead_agents(victim.pid(), true).size();
    ASSERT_GE(n_left, 2u);
    {
        Session session;
        ASSERT_TRUE(session.agent().grab(victim.pid()));
        session.plant_entry(victim.pid(), "work", 1);
        ASSERT_TRUE(session.agent().detach(victim.pid()));
    }
    // When it detaches, the agent removes the stub that it used.
    EXPECT_LT(stubs_of_dead_agents(victim.pid(), false).size(), n_left);
    EXPECT_EQ(victim.finish(), 0);
}

TEST(CallStub, ResumesAnInterruptedCallWithoutTheKernel)
{
    user_regs_struct before{};
    before.orig_rax = SYS_read;
    before.rax = static_cast<unsigned long long>(-512); // ERESTARTSYS
    before.rip = 0x1002;
    const user_regs_struct after = agent::resumed(before);
    EXPECT_EQ(after.rip, 0x1000u);
    EXPECT_EQ(after.rax, static_cast<unsigned long long>(SYS_read));
    EXPECT_EQ(after.orig_rax, ~0ull); // so that the kernel does not restart the call
}
