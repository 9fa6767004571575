// SPDX-License-Identifier: MIT
#include "process/proc_files.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sstream>
#include <sys/syscall.h>
#include <unistd.h>

namespace dt {

std::string proc_path(pid_t pid, std::string_view file)
{
    return "/proc/" + std::to_string(pid) + "/" + std::string(file);
}

std::string read_proc_file(pid_t pid, std::string_view file, std::size_t max)
{
    Fd fd(open(proc_path(pid, file).c_str(), O_RDONLY | O_CLOEXEC));
    std::string text;
    if (!fd)
        return text;
    char buffer[16384];
    while (text.size() < max) {
        ssize_t n = read(fd.get(), buffer, std::min(sizeof buffer, max - text.size()));
        if (n <= 0)
            break;
        text.append(buffer, static_cast<std::size_t>(n));
    }
    return text;
}

std::string read_proc_link(pid_t pid, std::string_view file)
{
    char buffer[4096];
    ssize_t n = readlink(proc_path(pid, file).c_str(), buffer, sizeof buffer);
    return n <= 0 ? std::string() : std::string(buffer, static_cast<std::size_t>(n));
}

std::string status_field(const std::string& status, std::string_view name)
{
    std::string key = std::string(name) + ":";
    std::size_t at = 0;
    while (at < status.size()) {
        std::size_t end = std::min(status.find('\n', at), status.size());
        if (status.compare(at, key.size(), key) == 0) {
            std::size_t value = status.find_first_not_of(" \t", at + key.size());
            return value >= end ? std::string() : status.substr(value, end - value);
        }
        at = end + 1;
    }
    return {};
}

std::uint64_t status_number(const std::string& status, std::string_view name, int n,
                            int base)
{
    std::string text = status_field(status, name);
    const char* at = text.c_str();
    std::uint64_t value = 0;
    for (int i = 0; i <= n; ++i) {
        char* end = nullptr;
        value = std::strtoull(at, &end, base);
        if (end == at)
            return 0;
        at = end;
    }
    return value;
}

pid_t innermost_pid(const std::string& status)
{
    pid_t last = 0;
    for (int i = 0;; ++i) {
        const auto pid = static_cast<pid_t>(status_number(status, "NSpid", i));
        if (pid <= 0)
            return last;
        last = pid;
    }
}

bool is_descendant(pid_t pid, pid_t ancestor)
{
    constexpr int max_depth = 4096;
    for (int depth = 0; pid > 0 && depth < max_depth; depth++) {
        if (pid == ancestor)
            return true;
        pid = static_cast<pid_t>(status_number(read_proc_file(pid, "status"), "PPid"));
    }
    return false;
}

std::uint64_t stat_number(const std::string& stat, int field)
{
    // Field 2, the name, is in parentheses and may itself contain parentheses.
    std::size_t at = stat.rfind(')');
    for (int i = 2; at != std::string::npos && i < field; ++i)
        at = stat.find(' ', at + 1);
    return at == std::string::npos ? 0 : std::strtoull(stat.c_str() + at, nullptr, 10);
}

std::string thread_status(pid_t pid, pid_t tid)
{
    return read_proc_file(pid, "task/" + std::to_string(tid) + "/status");
}

char thread_state(pid_t pid, pid_t tid)
{
    std::string stat =
        read_proc_file(pid, "task/" + std::to_string(tid) + "/stat", 512);
    // The thread's name is in parentheses and may itself contain parentheses.
    std::size_t end = stat.rfind(')');
    return end == std::string::npos || end + 2 >= stat.size() ? '\0' : stat[end + 2];
}

std::uint64_t thread_run_ns(pid_t pid, pid_t tid)
{
    const std::string times =
        read_proc_file(pid, "task/" + std::to_string(tid) + "/schedstat", 128);
    return std::strtoull(times.c_str(), nullptr, 10);
}

std::optional<BlockedCall> blocked_call(pid_t pid, pid_t tid)
{
    const std::string text =
        read_proc_file(pid, "task/" + std::to_string(tid) + "/syscall", 64);
    // The file begins with "running" or -1 if the thread is not blocked in a system
    // call.
    BlockedCall call;
    if (std::sscanf(text.c_str(), "%ld 0x%lx", &call.number, &call.first) != 2 ||
        call.number < 0)
        return std::nullopt;
    return call;
}

std::optional<UserPlace> blocked_place(pid_t pid, pid_t tid)
{
    const std::string text =
        read_proc_file(pid, "task/" + std::to_string(tid) + "/syscall", 256);
    // The last two words are the stack pointer and the pc. The file only says "running"
    // if the thread is not blocked.
    const std::size_t before_pc = text.rfind(' ');
    if (before_pc == std::string::npos || before_pc == 0)
        return std::nullopt;
    const std::size_t before_sp = text.rfind(' ', before_pc - 1);
    if (before_sp == std::string::npos)
        return std::nullopt;
    return UserPlace{TargetAddr{std::strtoull(text.c_str() + before_pc, nullptr, 16)},
                     TargetAddr{std::strtoull(text.c_str() + before_sp, nullptr, 16)}};
}

bool is_in_exec(pid_t pid, pid_t tid)
{
    const auto call = blocked_call(pid, tid);
    return call && (call->number == SYS_execve || call->number == SYS_execveat);
}

// Returns the names in a directory that are positive numbers.
static std::vector<pid_t> numbers_in(const char* path)
{
    std::vector<pid_t> numbers;
    std::unique_ptr<DIR, int (*)(DIR*)> dir(opendir(path), closedir);
    if (!dir)
        return numbers;
    while (dirent* entry = readdir(dir.get())) {
        if (pid_t number = std::atoi(entry->d_name); number > 0)
            numbers.push_back(number);
    }
    return numbers;
}

std::vector<pid_t> threads_of(pid_t pid)
{
    return numbers_in(proc_path(pid, "task").c_str());
}

std::vector<pid_t> pids_in_proc()
{
    return numbers_in("/proc");
}

std::optional<bool> share_memory(pid_t a, pid_t b)
{
    constexpr int kcmp_vm = 1; // KCMP_VM
    const long differ = syscall(SYS_kcmp, a, b, kcmp_vm, 0, 0);
    return differ < 0 ? std::nullopt : std::optional(differ == 0);
}

bool has_shadow_stack(pid_t pid)
{
    for (pid_t tid : threads_of(pid)) {
        // The features are, for example, "shstk wrss". Only "shstk" changes the effect
        // of calls and returns.
        std::istringstream features(
            status_field(thread_status(pid, tid), "x86_Thread_features"));
        for (std::string word; features >> word;)
            if (word == "shstk")
                return true;
    }
    return false;
}

std::optional<std::uint64_t> auxv_value(pid_t pid, std::uint64_t type)
{
    std::string auxv = read_proc_file(pid, "auxv");
    for (std::size_t at = 0; at + 16 <= auxv.size(); at += 16) {
        std::uint64_t pair[2];
        std::memcpy(pair, auxv.data() + at, sizeof pair);
        if (pair[0] == type)
            return pair[1];
    }
    return std::nullopt;
}

} // namespace dt
