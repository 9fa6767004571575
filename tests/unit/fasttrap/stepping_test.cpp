// SPDX-License-Identifier: MIT
// Runs copies of displaced instructions in another process, as the ptrace-agent does.
#include "corpus.hpp"
#include "differential.hpp"
#include "fasttrap/arch/x86_64/user_regs.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "tests/unit/n_cases.hpp"

using namespace dt;
using namespace dt::test;

namespace {

// A stopped child with a copy of this process's memory. It runs only in run() and
// run_plan().
class Tracee {
public:
    Tracee()
    {
        pid_ = fork();
        if (pid_ == 0) {
            ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
            raise(SIGSTOP);
            _exit(0);
        }
        int status = 0;
        waitpid(pid_, &status, 0);
        alive_ = WIFSTOPPED(status);
        ptrace(PTRACE_SETOPTIONS, pid_, nullptr, PTRACE_O_EXITKILL);
        memory_ = Fd(open(("/proc/" + std::to_string(pid_) + "/mem").c_str(), O_RDWR));
        ptrace(PTRACE_GETREGS, pid_, nullptr, &user_);
    }
    ~Tracee()
    {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    Tracee(const Tracee&) = delete;
    Tracee& operator=(const Tracee&) = delete;

    bool alive() const { return alive_; }
    void write(std::uint64_t at, std::span<const std::byte> bytes)
    {
        ASSERT_EQ(
            pwrite(memory_.get(), bytes.data(), bytes.size(), static_cast<off_t>(at)),
            static_cast<ssize_t>(bytes.size()));
    }
    void read(std::uint64_t at, std::span<std::byte> into)
    {
        ASSERT_EQ(
            pread(memory_.get(), into.data(), into.size(), static_cast<off_t>(at)),
            static_cast<ssize_t>(into.size()));
    }
    // Continues or single-steps the child until it stops. Returns the signal, or 0 if
    // the child has ended.
    int run(Registers& regs, bool to_trap)
    {
        user_regs_struct user = user_;
        to_user_regs(regs, user);
        user.orig_rax = ~0ULL;
        ptrace(PTRACE_SETREGS, pid_, nullptr, &user);
        ptrace(to_trap ? PTRACE_CONT : PTRACE_SINGLESTEP, pid_, nullptr, nullptr);
        int status = 0;
        waitpid(pid_, &status, 0);
        if (!WIFSTOPPED(status)) {
            alive_ = false;
            return 0;
        }
        ptrace(PTRACE_GETREGS, pid_, nullptr, &user);
        regs = from_user_regs(user);
        return WSTOPSIG(status);
    }
    // Runs one instruction according to its plan. Returns the last signal, or -1 if the
    // instruction is not finished after 100 runs.
    int run_plan(const Displaced& plan, std::uint64_t slot, Registers& regs,
                 SlotEnd& end)
    {
        write(slot, plan.copy_text());
        for (int n = 0; n < 100; ++n) {
            SlotRun run = prepare_out_of_line(plan, TargetAddr{slot}, regs);
            int signal = this->run(regs, plan.run_to_trap);
            end = finish_out_of_line(plan, run, regs);
            if (signal != SIGTRAP || end != SlotEnd::unfinished)
                return signal;
        }
        return -1;
    }

private:
    pid_t pid_ = -1;
    bool alive_ = false;
    Fd memory_;
    user_regs_struct user_{};
};

// Returns whether insn uses only general registers. The test does not set the child's
// vector and x87 registers.
bool general_registers_only(const Instruction& insn)
{
    unsigned op = insn.opcode;
    if (insn.encoding != Encoding::legacy || insn.opcode_map > 1)
        return false;
    if (insn.opcode_map == 0)
        return op < 0xd8 || op > 0xdf;
    return (op >= 0x40 && op < 0x50) || (op >= 0x80 && op < 0xc2) || op == 0x1f ||
           (op >= 0xc8 && op < 0xd0);
}

// Returns whether an address is canonical. On some machines, the kernel cannot resume a
// thread whose rsp is not canonical: the thread gets SIGSEGV before its instruction.
bool is_canonical(std::uint64_t address)
{
    const std::uint64_t high = address >> 47;
    return high == 0 || high == (1u << 17) - 1;
}

// The ID flag of RFLAGS. ptrace does not write it, so the child keeps its own value.
constexpr std::uint64_t id_flag = 1 << 21;

TEST(Stepping, CopiesRunInAnotherProcessAsTheOriginalsWould)
{
    if (!native_supported())
        GTEST_SKIP() << "the processor lacks XSAVE";
    Differential differential(7);
    Tracee tracee;
    ASSERT_TRUE(tracee.alive());
    std::vector<Bytes> found =
        harvest("/usr/lib/x86_64-linux-gnu/libc.so.6", test::n_cases(400000));
    const std::uint64_t slot = Sandbox::address(differential.sandbox().slot());
    const std::uint64_t data = Sandbox::address(differential.sandbox().data().data());
    std::vector<std::byte> seen(Sandbox::data_bytes);
    unsigned n_done = 0;
    unsigned n_faults = 0;
    for (unsigned i = 0; n_done < 5000 && i < 100000 && !HasFatalFailure(); ++i) {
        bool from_table = found.empty() || differential.pick(70);
        std::optional<Case> c = differential.arrange(
            from_table ? random_instruction(differential.random())
                       : found[differential.random()() % found.size()]);
        if (!c || c->insn.flow != ControlFlow::next || !general_registers_only(c->insn))
            continue;
        if (!is_canonical(c->start.regs[Reg::rsp]))
            continue;
        Displaced plan = x86_64.plan_displaced(c->insn);
        if (plan.how == Displaced::refused)
            continue;
        if (plan.how == Displaced::emulate)
            plan = x86_64.plan_after_fault(c->insn, {});
        Outcome native = differential.run_native(*c);

        NativeState ours = c->start;
        tracee.write(data, c->data);
        SlotEnd end = SlotEnd::elsewhere;
        int signal = tracee.run_plan(plan, slot, ours.regs, end);
        ASSERT_TRUE(tracee.alive());
        ASSERT_NE(signal, -1);
        tracee.read(data, seen);
        std::copy(seen.begin(), seen.end(), differential.sandbox().data().begin());
        ours.signal = signal == SIGTRAP ? 0 : signal;
        ours.fault_address = native.state.fault_address;
        n_faults += ours.signal != 0 ? 1 : 0;
        ++n_done;
        ASSERT_TRUE(differential.same(*c, native, ours, id_flag, false))
            << differential.report();
        ASSERT_EQ(end,
                  native.state.signal == 0 ? SlotEnd::finished : SlotEnd::unfinished);
    }
    std::printf("stepped: %u copies, %u of them faulted alike\n", n_done, n_faults);
    EXPECT_EQ(n_done, 5000U);
}

class SyscallCopy : public testing::Test {
protected:
    int run(Registers& regs, SlotEnd& end, bool to_trap)
    {
        const std::vector<std::byte> text = {std::byte{0x0f}, std::byte{0x05}};
        Result<Instruction> insn = x86_64.decode(text, TargetAddr{0x1000});
        Displaced plan = x86_64.plan_displaced(*insn);
        plan.run_to_trap = to_trap;
        regs.rip = 0x1000;
        regs.rflags = 0x246;
        regs.fs_base = own_fs_base();
        return tracee_.run_plan(plan, Sandbox::address(sandbox_.slot()), regs, end);
    }
    Sandbox sandbox_;
    Tracee tracee_;
};

TEST_F(SyscallCopy, ReturnsToTheOriginalWithItsAddressInRcxAndNoTrapFlagInR11)
{
    for (bool to_trap : {true, false}) {
        Registers regs;
        regs[Reg::rax] = SYS_getpid;
        SlotEnd end = SlotEnd::elsewhere;
        EXPECT_EQ(run(regs, end, to_trap), SIGTRAP);
        EXPECT_EQ(end, SlotEnd::finished);
        EXPECT_EQ(regs.rip, 0x1002U);
        EXPECT_EQ(regs[Reg::rcx], 0x1002U);
        EXPECT_EQ(regs[Reg::r11], 0x246U);
        EXPECT_GT(static_cast<std::int64_t>(regs[Reg::rax]), 0);
    }
}

TEST_F(SyscallCopy, ThatFailsSaysSoInRax)
{
    Registers regs;
    regs[Reg::rax] = SYS_close;
    regs[Reg::rdi] = 12345;
    SlotEnd end = SlotEnd::elsewhere;
    EXPECT_EQ(run(regs, end, true), SIGTRAP);
    EXPECT_EQ(end, SlotEnd::finished);
    EXPECT_EQ(static_cast<std::int64_t>(regs[Reg::rax]), -EBADF);
}

} // namespace
