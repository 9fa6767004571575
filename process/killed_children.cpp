// SPDX-License-Identifier: MIT
#include "process/killed_children.hpp"

#include "base/clock_ns.hpp"

#include <mutex>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace dt {

namespace {

std::mutex killed_mutex;
std::vector<pid_t> killed;

} // namespace

std::optional<int> reap_within(pid_t child, std::uint64_t longest_ns)
{
    constexpr useconds_t pause_us = 100;
    const std::uint64_t end = monotonic_ns() + longest_ns;
    int status = 0;
    pid_t reaped = 0;
    while ((reaped = ::waitpid(child, &status, WNOHANG)) == 0 && monotonic_ns() < end)
        ::usleep(pause_us);
    if (reaped == child)
        return status;
    reap_later(child);
    return std::nullopt;
}

void reap_later(pid_t child)
{
    std::lock_guard lock(killed_mutex);
    killed.push_back(child);
}

void reap_killed_children()
{
    std::lock_guard lock(killed_mutex);
    std::erase_if(killed,
                  [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; });
}

} // namespace dt
