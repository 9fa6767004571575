// SPDX-License-Identifier: MIT
// Tests how a session handles a failed step, a target that another tracer holds, and
// the death of the agent.
#include "session.hpp"

#include <cctype>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

ps_prochandle* create(const SessionHandle& session, std::vector<std::string> words)
{
    std::vector<char*> argv;
    for (std::string& word : words)
        argv.push_back(word.data());
    argv.push_back(nullptr);
    ps_prochandle* process =
        dtrace_proc_create(session.get(), argv[0], argv.data(), nullptr, nullptr);
    EXPECT_NE(process, nullptr) << error_of(session);
    return process;
}

const std::string spin = VICTIMS "/spin";

template <class Condition> bool wait_until(Condition holds)
{
    for (int i = 0; i < 30'000; i++) {
        if (holds())
            return true;
        ::usleep(1000);
    }
    return false;
}

// Returns the bytes of the program's executable segment, from memory and from its file.
std::pair<std::string, std::string> text_of(pid_t pid)
{
    std::string proc = "/proc/" + std::to_string(pid);
    std::ifstream maps(proc + "/maps");
    for (std::string line; std::getline(maps, line);) {
        unsigned long from = 0, to = 0, offset = 0;
        char access[5] = {};
        if (std::sscanf(line.c_str(), "%lx-%lx %4s %lx", &from, &to, access, &offset) !=
                4 ||
            access[2] != 'x' || line.find(spin) == std::string::npos)
            continue;
        std::string memory(to - from, '\0'), file(to - from, '\0');
        std::ifstream mem(proc + "/mem", std::ios::binary);
        mem.seekg(static_cast<std::streamoff>(from));
        mem.read(memory.data(), static_cast<std::streamsize>(memory.size()));
        std::ifstream(spin, std::ios::binary)
            .seekg(static_cast<std::streamoff>(offset))
            .read(file.data(), static_cast<std::streamsize>(file.size()));
        return {memory, file};
    }
    ADD_FAILURE() << "no text of " << spin;
    return {};
}

// Leaves only `more` file descriptors free.
class FewDescriptors {
public:
    explicit FewDescriptors(std::size_t more)
    {
        // Another thread may still open and close files, so wait until it has exited.
        EXPECT_TRUE(wait_until([] {
            return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                                 {}) == 1;
        }));
        ::getrlimit(RLIMIT_NOFILE, &before_);
        while (held_.size() < 64) // also uses up free descriptors with low numbers
            held_.push_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        rlimit few = before_;
        few.rlim_cur = static_cast<rlim_t>(held_.back()) + 1;
        for (; more > 0; more--) {
            ::close(held_.back());
            held_.pop_back();
        }
        ::setrlimit(RLIMIT_NOFILE, &few);
    }
    ~FewDescriptors()
    {
        ::setrlimit(RLIMIT_NOFILE, &before_);
        for (int fd : held_)
            ::close(fd);
    }
    FewDescriptors(const FewDescriptors&) = delete;
    FewDescriptors& operator=(const FewDescriptors&) = delete;

private:
    rlimit before_{};
    std::vector<int> held_;
};

bool is_traced(pid_t pid)
{
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    for (std::string line; std::getline(status, line);)
        if (line.rfind("TracerPid:", 0) == 0)
            return line != "TracerPid:\t0";
    return false;
}

pid_t agent_of_this_process()
{
    pid_t found = 0;
    DIR* proc = ::opendir("/proc");
    while (dirent* entry = ::readdir(proc)) {
        if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) == 0)
            continue;
        std::ifstream file(std::string("/proc/") + entry->d_name + "/stat");
        std::string stat{std::istreambuf_iterator<char>(file), {}};
        std::size_t name = stat.find("(ptrace-agent) ");
        int parent = 0;
        if (name != std::string::npos &&
            std::sscanf(stat.c_str() + name + 15, "%*c %d", &parent) == 1 &&
            parent == ::getpid())
            found = std::atoi(entry->d_name);
    }
    ::closedir(proc);
    return found;
}

TEST(Targets, AGoThatFailsAtItsLastStepTakesThePatchesOutAndCanBeRepeated)
{
#ifdef __SANITIZE_ADDRESS__
    // UBSan checks memory with a pipe of its own, but the test leaves no free
    // descriptors.
    GTEST_SKIP() << "lacks: descriptors for UBSan while the test leaves none";
#endif
    SessionHandle session = open_session();
    ps_prochandle* process = create(session, {spin, "50", "1"});
    ASSERT_NE(process, nullptr);
    pid_t pid = dtrace_proc_getpid(session.get(), process);
    dtrace_program_exec(session.get(),
                        compile(session, "pid$target:a.out:work:entry { n++; }"
                                         "tick-1h {}"
                                         "END { printf(\"%d\\n\", n); }"),
                        nullptr);
    {
        FewDescriptors three(3); // enough for the arena, but not for the timer thread
        EXPECT_EQ(dtrace_go(session.get()), -1);
        EXPECT_NE(error_of(session).find("timer thread"), std::string::npos)
            << error_of(session);
    }
    EXPECT_EQ(dtrace_status(session.get()), DTRACE_STATUS_NONE);
    auto [memory, file] = text_of(pid);
    EXPECT_TRUE(memory == file) << "a patch is left behind";

    std::string text;
    take_text(session, text);
    dtrace_setopt(session.get(), "quiet", "");
    ASSERT_EQ(dtrace_go(session.get()), 0) << error_of(session);
    auto [patched, unpatched] = text_of(pid);
    EXPECT_FALSE(patched == unpatched) << "the comparison sees no patch";
    bool ended = false;
    dtrace_handle_proc(
        session.get(),
        [](ps_prochandle*, const char* message, void* arg) {
            *static_cast<bool*>(arg) |= message == nullptr;
        },
        &ended);
    dtrace_proc_continue(session.get(), process);
    work_until(session, [&] { return ended; });
    EXPECT_TRUE(ended);
    dtrace_stop(session.get());
    dtrace_work(session.get(), nullptr, nullptr, nullptr, nullptr);
    EXPECT_EQ(text, "50\n");
}

TEST(Targets, ASecondSessionTracesAProcessOfTheFirst)
{
    SessionHandle first = open_session(), second = open_session();
    ps_prochandle* process = create(first, {spin, "10", "1"});
    ASSERT_NE(process, nullptr);
    pid_t pid = dtrace_proc_getpid(first.get(), process);
    EXPECT_NE(dtrace_proc_grab(second.get(), pid, 0), nullptr) << error_of(second);
    std::string text = "pid" + std::to_string(pid) + ":a.out:work:entry {}";
    EXPECT_NE(dtrace_program_strcompile(second.get(), text.c_str(),
                                        DTRACE_PROBESPEC_NAME, 0, 0, nullptr),
              nullptr)
        << error_of(second);
    second.reset();
    EXPECT_TRUE(is_traced(pid)); // by the first session
}

TEST(Targets, AProcessOfAnotherTracerIsRefusedWithTheNameOfTheTracer)
{
    SessionHandle session = open_session();
    const pid_t pid = fork();
    if (pid == 0) {
        raise(SIGSTOP);
        _exit(0);
    }
    ASSERT_EQ(ptrace(PTRACE_SEIZE, pid, nullptr, nullptr), 0);
    EXPECT_EQ(dtrace_proc_grab(session.get(), pid, 0), nullptr);
    EXPECT_NE(error_of(session).find("traced by process " + std::to_string(getpid())),
              std::string::npos)
        << error_of(session);
    const std::string text = "pid" + std::to_string(pid) + ":::entry {}";
    EXPECT_EQ(dtrace_program_strcompile(session.get(), text.c_str(),
                                        DTRACE_PROBESPEC_NAME, 0, 0, nullptr),
              nullptr);
    EXPECT_NE(error_of(session).find("traced by process"), std::string::npos);
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
}

TEST(Targets, WhenTheAgentDiesTheTargetsAreReportedAndENDStillFires)
{
    SessionHandle session = open_session();
    // No probe is planted, so the target continues after its tracer has been killed.
    ps_prochandle* process = create(session, {spin, "1", "1"});
    ASSERT_NE(process, nullptr);
    dtrace_program_exec(session.get(), compile(session, "END { printf(\"end\\n\"); }"),
                        nullptr);
    std::string text;
    take_text(session, text);
    dtrace_setopt(session.get(), "quiet", "");
    int n_ended = 0;
    dtrace_handle_proc(
        session.get(),
        [](ps_prochandle*, const char* message, void* arg) {
            *static_cast<int*>(arg) += message == nullptr;
        },
        &n_ended);
    ASSERT_EQ(dtrace_go(session.get()), 0) << error_of(session);
    ::kill(agent_of_this_process(), SIGKILL);
    work_until(session, [&] { return n_ended > 0; });
    EXPECT_EQ(n_ended, 1);
    EXPECT_EQ(dtrace_stop(session.get()), 0);
    EXPECT_EQ(dtrace_stop(session.get()), 0);
    EXPECT_EQ(dtrace_work(session.get(), nullptr, nullptr, nullptr, nullptr),
              DTRACE_WORKSTATUS_DONE);
    EXPECT_EQ(text, "end\n");
}

TEST(Targets, WaitingForAnIdleTargetTakesLessThanAHundredthOfACpu)
{
    SessionHandle session = open_session();
    int input[2];
    ASSERT_EQ(::pipe(input), 0);
    pid_t pid = ::fork();
    if (pid == 0) {
        ::dup2(input[0], 0);
        ::close(input[1]);
        ::execl("/bin/cat", "cat", nullptr);
        ::_exit(127);
    }
    ::close(input[0]);
    // The process does not read descriptor 0 until it has become cat(1).
    const std::string reading = std::to_string(SYS_read) + " 0x0 ";
    ASSERT_TRUE(wait_until([&] {
        std::ifstream call("/proc/" + std::to_string(pid) + "/syscall");
        std::string all(std::istreambuf_iterator<char>(call), {});
        return all.starts_with(reading);
    }));
    ASSERT_NE(dtrace_proc_grab(session.get(), pid, 0), nullptr) << error_of(session);
    dtrace_program_exec(
        session.get(),
        compile(session, "pid$target:libc:read:entry {} tick-2s { exit(0); }"),
        nullptr);
    auto cpu_us = [] {
        rusage used{};
        ::getrusage(RUSAGE_SELF, &used);
        return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1'000'000L +
               used.ru_utime.tv_usec + used.ru_stime.tv_usec;
    };
    std::string text;
    take_text(session, text);
    ASSERT_EQ(dtrace_go(session.get()), 0) << error_of(session);
    long before = cpu_us();
    EXPECT_EQ(work_until(session, [] { return false; }), DTRACE_WORKSTATUS_DONE);
    long used = cpu_us() - before;
    RecordProperty("cpu_us", static_cast<int>(used));
#if !defined(__SANITIZE_ADDRESS__)
    EXPECT_LT(used, 2'000'000 / 100 * 3)
        << "of 2 s; a debug build is three times slower";
#endif
    ::close(input[1]);
    session.reset();
    ::waitpid(pid, nullptr, 0);
}

} // namespace
