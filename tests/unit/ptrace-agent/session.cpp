// SPDX-License-Identifier: MIT
#include "session.hpp"

#include "dif/arena.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dt::test {

using Clock = std::chrono::steady_clock;

std::string victim(const std::string& name)
{
    return std::string(VICTIMS "/") + name;
}

Session::Session()
{
    output_ = memfd_create("output", MFD_CLOEXEC);
    program_fd_ = memfd_create("program", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    data_fd_ = memfd_create("data", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    EXPECT_EQ(ftruncate(program_fd_, program_bytes), 0);
    EXPECT_EQ(ftruncate(data_fd_, data_bytes), 0);
    dt_arena arena{};
    arena.version = DT_ARENA_VERSION;
    EXPECT_EQ(pwrite(program_fd_, &arena, sizeof arena, 0), ssize_t{sizeof arena});
    for (int fd : {program_fd_, data_fd_})
        EXPECT_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    notes_ = static_cast<Notebook*>(
        mmap(nullptr, data_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, data_fd_, 0));
    fflush(nullptr);
    int own_stdout = fcntl(1, F_DUPFD_CLOEXEC, 10);
    dup2(output_, 1);
    auto started = AgentClient::start();
    dup2(own_stdout, 1);
    close(own_stdout);
    EXPECT_TRUE(started);
    agent_.emplace(std::move(*started));
    auto mapped = agent_->set_arena(program_fd_, program_bytes, data_fd_, data_bytes);
    EXPECT_TRUE(mapped) << mapped.error().text;
}

Session::~Session()
{
    agent_.reset();
    munmap(notes_, data_bytes);
    for (int fd : {output_, program_fd_, data_fd_})
        close(fd);
}

pid_t Session::create(const std::vector<std::string>& argv, EvalTime evaltime,
                      const std::vector<EnvChange>& env)
{
    auto target = agent_->create(argv, env, evaltime);
    EXPECT_TRUE(target) << target.error().text;
    // No process has this pid. With pid 0, a kill() would signal the test's own process
    // group.
    return target ? target->pid : 0x3fffffff;
}

void Session::plant(pid_t pid, const std::vector<Site>& sites)
{
    ASSERT_FALSE(sites.empty());
    auto report = agent_->plant(pid, sites);
    ASSERT_TRUE(report) << report.error().text;
    EXPECT_EQ(report->n_planted, sites.size());
    for (const Refusal& refusal : report->refused)
        ADD_FAILURE() << refusal.site << " refused: " << refusal.reason;
}

static std::string program_of(pid_t pid)
{
    char path[4096];
    ssize_t n =
        readlink(("/proc/" + std::to_string(pid) + "/exe").c_str(), path, sizeof path);
    return n < 0 ? std::string() : std::string(path, static_cast<std::size_t>(n));
}

Site entry_site(pid_t pid, const std::string& function, std::uint32_t probe,
                const std::string& object)
{
    auto functions = functions_of(pid, object.empty() ? program_of(pid) : object);
    EXPECT_EQ(functions.count(function), 1u) << function;
    Site site;
    site.at = functions[function].at;
    site.probe = probe;
    return site;
}

void Session::plant_entry(pid_t pid, const std::string& function, std::uint32_t probe,
                          const std::string& object)
{
    plant(pid, {entry_site(pid, function, probe, object)});
}

void Session::plant_return(pid_t pid, const std::string& function, std::uint32_t probe)
{
    auto functions = functions_of(pid, program_of(pid));
    ASSERT_EQ(functions.count(function), 1u) << function;
    plant(pid, return_sites(functions[function], probe));
}

std::optional<AgentEvent> Session::event(int timeout_ms)
{
    auto until = Clock::now() + std::chrono::milliseconds(timeout_ms);
    for (;;) {
        auto next = agent_->next_event();
        if (!next) {
            ADD_FAILURE() << next.error().text;
            return std::nullopt;
        }
        if (*next)
            return *next;
        auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
        if (left.count() <= 0)
            return std::nullopt;
        pollfd wait{agent_->fd(), POLLIN, 0};
        poll(&wait, 1, static_cast<int>(left.count()));
    }
}

int Session::run_to_end(pid_t pid)
{
    auto resumed = agent_->resume(pid);
    EXPECT_TRUE(resumed || resumed.error().code == Code::gone) << resumed.error().text;
    while (auto next = event(30000)) {
        if (next->kind == AgentEvent::exited && next->pid == pid)
            return next->status;
        if (next->kind == AgentEvent::libraries_changed)
            (void)agent_->resume_after_library_change(next->pid, next->status);
        if (next->kind == AgentEvent::agent_gone)
            break;
        others.push_back(*next);
    }
    ADD_FAILURE() << "process " << pid << " does not end";
    ::kill(pid, SIGKILL);
    return -1;
}

std::string Session::output()
{
    std::string text(65536, '\0');
    ssize_t n = pread(output_, text.data(), text.size(), 0);
    text.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
    return text;
}

long number_after(const std::string& text, const std::string& word)
{
    std::size_t at = text.find(word + " ");
    return at == std::string::npos ? -1 : std::atol(&text[at + word.size() + 1]);
}

long Session::printed(const std::string& word)
{
    return number_after(output(), word);
}

FreeVictim::FreeVictim(const std::vector<std::string>& argv, const char* env)
{
    int in[2], out[2];
    EXPECT_EQ(pipe2(in, O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(out, O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        if (env != nullptr)
            setenv(env, "1", 1);
        std::vector<char*> args;
        for (const std::string& arg : argv)
            args.push_back(const_cast<char*>(arg.c_str()));
        args.push_back(nullptr);
        execv(args[0], args.data());
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    in_ = in[1];
    out_ = out[0];
}

FreeVictim::~FreeVictim()
{
    if (pid_ != 0) {
        ::kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    if (in_ >= 0)
        close(in_);
    close(out_);
}

std::string FreeVictim::read_line()
{
    std::string line;
    char c;
    while (read(out_, &c, 1) == 1 && c != '\n')
        line += c;
    return line;
}

void FreeVictim::say(const char* text)
{
    EXPECT_EQ(write(in_, text, strlen(text)), static_cast<ssize_t>(strlen(text)));
}

int FreeVictim::finish()
{
    close(in_);
    in_ = -1;
    char buffer[4096];
    ssize_t n;
    while ((n = read(out_, buffer, sizeof buffer)) > 0)
        rest.append(buffer, static_cast<std::size_t>(n));
    int status = -1;
    waitpid(pid_, &status, 0);
    pid_ = 0;
    return status;
}

} // namespace dt::test
