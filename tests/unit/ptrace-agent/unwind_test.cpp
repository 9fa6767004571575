// SPDX-License-Identifier: MIT
// Tests that a walk with frame rules finds the same frames as libunwind.
#include "session.hpp"

#include "fasttrap/arch/x86_64/user_regs.hpp"
#include "ptrace-agent/unwind.hpp"
#include "ptrace-agent/unwind_rules.hpp"

#include <csignal>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <fcntl.h>
#include <gelf.h>
#include <gnu/libc-version.h>
#include <gtest/gtest.h>
#include <random>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dt;
using namespace dt::agent;
using namespace dt::test;

namespace {

constexpr std::uint32_t max_frames = 64;
using Pcs = std::vector<std::uint64_t>;

std::uint64_t cpu_ns(pid_t pid)
{
    clockid_t clock = 0;
    timespec used{};
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0)
        return 0;
    return static_cast<std::uint64_t>(used.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(used.tv_nsec);
}

// Returns the rule for an address. Waits until the process that reads the file has
// replied.
std::optional<dt_rt_rule> wait_for_rule(RuleReader& reader, UnwindRules& rules,
                                        TargetAddr at)
{
    (void)rules.rule_at(at);
    EXPECT_TRUE(wait_until([&] { return !reader.exchange(); }));
    return rules.rule_at(at);
}

// A program that the test traces with ptrace and stops at random moments.
class Sampled {
public:
    explicit Sampled(const std::vector<std::string>& argv)
    {
        pid_ = fork();
        if (pid_ == 0) {
            int nowhere = open("/dev/null", O_RDWR);
            for (int fd : {0, 1, 2})
                dup2(nowhere, fd);
            std::vector<char*> args;
            for (const std::string& arg : argv)
                args.push_back(const_cast<char*>(arg.c_str()));
            args.push_back(nullptr);
            execvp(args[0], args.data());
            _exit(127);
        }
        // After this much CPU time, the program's libraries are mapped and its loop
        // runs.
        constexpr std::uint64_t start_ns = 100'000'000;
        EXPECT_TRUE(wait_until([this] { return cpu_ns(pid_) >= start_ns; }));
        ptrace(PTRACE_SEIZE, pid_, nullptr, nullptr);
        process_.pid = pid_;
        process_.space = std::make_shared<AddressSpace>(pid_, table_);
    }
    ~Sampled()
    {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, __WALL);
    }

    template <class See> void sample(int n_bursts, int n_steps, See see)
    {
        std::mt19937 random(7);
        for (int burst = 0; burst < n_bursts; ++burst) {
            usleep(random() % 500);
            int status = 0;
            ptrace(PTRACE_INTERRUPT, pid_, nullptr, nullptr);
            ASSERT_EQ(waitpid(pid_, &status, __WALL), pid_);
            std::size_t mapped = text_mappings(pid_);
            if (mapped != mapped_) {
                forget_unwind(*process_.space);
                rules.emplace(pid_, reader_);
            }
            mapped_ = mapped;
            for (int i = 0; i < n_steps; ++i) {
                user_regs_struct user;
                ASSERT_EQ(ptrace(PTRACE_GETREGS, pid_, nullptr, &user), 0);
                see(from_user_regs(user));
                ptrace(PTRACE_SINGLESTEP, pid_, nullptr, nullptr);
                ASSERT_EQ(waitpid(pid_, &status, __WALL), pid_);
                ASSERT_TRUE(WIFSTOPPED(status));
            }
            ptrace(PTRACE_CONT, pid_, nullptr, nullptr);
        }
    }

    Pcs by_libunwind(const Registers& regs)
    {
        Pcs pcs(max_frames);
        pcs.resize(static_cast<std::size_t>(
            unwind_user_stack(process_, regs, pcs.data(), max_frames)));
        return pcs;
    }
    // Walks the stack with the rules. Returns nullopt if a rule fails, or if there is
    // only one frame.
    std::optional<Pcs> by_rules(const Registers& regs)
    {
        auto read = [this](std::uint64_t at, std::uint64_t& value) {
            return process_.space->read_value({at}, value);
        };
        StackPlace place{regs.rip, regs[Reg::rsp], regs[Reg::rbp]};
        Pcs pcs;
        while (place.pc != 0) {
            pcs.push_back(place.pc);
            if (pcs.size() == max_frames)
                break;
            auto rule =
                wait_for_rule(reader_, *rules, {place.pc - (pcs.size() == 1 ? 0 : 1)});
            auto caller = rule ? caller_by(*rule, place, read) : std::nullopt;
            if (!caller)
                return std::nullopt;
            place = *caller;
        }
        return pcs.size() == 1 ? std::nullopt : std::optional(pcs);
    }

    std::optional<UnwindRules> rules;

private:
    pid_t pid_ = 0;
    RuleReader reader_;
    std::size_t mapped_ = 0;
    TracepointTable table_;
    Process process_;
};

struct Program {
    const char* name;
    std::vector<std::string> argv;
};

class RulesOf : public testing::TestWithParam<Program> {};

} // namespace

TEST_P(RulesOf, LeadToTheFramesThatLibunwindFinds)
{
    const Program& program = GetParam();
    if (access(program.argv[0].c_str(), X_OK) != 0)
        GTEST_SKIP() << program.argv[0] << " is not installed";
    Sampled sampled(program.argv);
    int n_walked = 0, n_asked = 0;
    sampled.sample(60, 25, [&](const Registers& regs) {
        auto walked = sampled.by_rules(regs);
        n_walked += walked ? 1 : 0;
        n_asked += walked ? 0 : 1;
        if (walked) {
            ASSERT_EQ(*walked, sampled.by_libunwind(regs));
        }
    });
    RecordProperty("walked", n_walked);
    RecordProperty("asked", n_asked);
    EXPECT_GE(n_walked, 1000) << n_asked << " stacks had a place without a rule";
}

static std::uint64_t restorer;

TEST(Rules, DoNotExistForSignalFrames)
{
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP()
        << "the handler returns to AddressSanitizer's handler, not to a signal frame";
#endif
    struct sigaction action {};
    action.sa_handler = [](int) {
        restorer = reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
    };
    sigaction(SIGUSR1, &action, nullptr);
    raise(SIGUSR1);
    ASSERT_NE(restorer, 0u);
    RuleReader reader;
    UnwindRules own(getpid(), reader);
    EXPECT_FALSE(wait_for_rule(reader, own, {restorer}));
    EXPECT_FALSE(wait_for_rule(reader, own, {restorer - 1}));
}

TEST(Rules, ForTextWithoutAFileGuessByTheFramePointer)
{
    void* page =
        mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(page, MAP_FAILED);
    RuleReader reader;
    UnwindRules own(getpid(), reader);
    auto guess = wait_for_rule(reader, own, {reinterpret_cast<std::uint64_t>(page)});
    ASSERT_TRUE(guess);
    EXPECT_EQ(guess->from, DT_RT_FROM_GUESS);
    EXPECT_FALSE(wait_for_rule(reader, own, {0}));
    munmap(page, 4096);
}

// A PLT entry of libc is `jmp *slot; push $n; jmp plt0`. The instructions have six,
// five and five bytes. One unwind expression describes all three.
TEST(Rules, OfAPltEntryIncludeTheWordThatItPushes)
{
    Dl_info libc{};
    ASSERT_NE(dladdr(reinterpret_cast<void*>(&gnu_get_libc_version), &libc), 0);
    elf_version(EV_CURRENT);
    int fd = open(libc.dli_fname, O_RDONLY | O_CLOEXEC);
    Elf* elf = elf_begin(fd, ELF_C_READ, nullptr);
    std::size_t names = 0;
    ASSERT_EQ(elf_getshdrstrndx(elf, &names), 0);
    std::uint64_t plt = 0;
    for (Elf_Scn* section = nullptr;
         (section = elf_nextscn(elf, section)) != nullptr;) {
        GElf_Shdr header;
        gelf_getshdr(section, &header);
        if (std::string(elf_strptr(elf, names, header.sh_name)) == ".plt")
            plt = reinterpret_cast<std::uint64_t>(libc.dli_fbase) + header.sh_addr;
    }
    elf_end(elf);
    close(fd);
    if (plt == 0)
        GTEST_SKIP() << libc.dli_fname << " has no .plt";
    RuleReader reader;
    UnwindRules own(getpid(), reader);
    for (auto [offset, cfa] : {std::pair{16, 8}, {22, 8}, {27, 16}}) {
        auto rule = wait_for_rule(reader, own, {plt + static_cast<unsigned>(offset)});
        ASSERT_TRUE(rule) << offset;
        EXPECT_EQ(rule->from, DT_RT_FROM_RSP) << offset;
        EXPECT_EQ(rule->cfa, cfa) << offset;
        EXPECT_EQ(rule->rbp_from, DT_RT_FROM_NONE) << offset;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Programs, RulesOf,
    testing::Values(
        Program{"python3",
                {"/usr/bin/python3", "-S", "-c",
                 "import json,re\nwhile 1: re.sub('a+b','x',json.dumps([1,'aab']*9))"}},
        Program{"openssl", {"/usr/bin/openssl", "speed", "-seconds", "60", "sha256"}},
        Program{"perl", {"/usr/bin/perl", "-e", "while(1){@a=sort map{$_*7%5}0..99;}"}},
        Program{"frame_pointers", {std::string(VICTIMS) + "/frames_fp"}},
        Program{"no_frame_pointers", {std::string(VICTIMS) + "/frames_no_fp"}},
        Program{"gawk",
                {"/usr/bin/gawk", "BEGIN{while(1)s=sprintf(\"%d%s\",n++,\"x\")}"}}),
    [](const auto& info) { return info.param.name; });
