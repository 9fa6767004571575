// SPDX-License-Identifier: MIT
#include "ptrace-agent/inject/memory_limits.hpp"

#include "process/page_map.hpp"
#include "process/proc_files.hpp"

#include <cstdlib>
#include <fcntl.h>
#include <optional>
#include <string_view>
#include <unistd.h>

namespace dt::agent {

static std::uint64_t status_kib(pid_t pid, const char* name)
{
    return static_cast<std::uint64_t>(
        status_number(read_proc_file(pid, "status"), name));
}

// Returns RLIMIT_AS in bytes. Returns nullopt if it is unlimited or unknown. This reads
// a file, because prlimit(2) needs the target's user id or CAP_SYS_RESOURCE.
static std::optional<std::uint64_t> address_space_limit(pid_t pid)
{
    constexpr std::string_view name = "Max address space";
    const std::string limits = read_proc_file(pid, "limits");
    const std::size_t at = limits.find(name);
    if (at == std::string::npos)
        return std::nullopt;
    const char* soft = limits.c_str() + at + name.size();
    char* end = nullptr;
    const std::uint64_t bytes = std::strtoull(soft, &end, 10);
    return end == soft ? std::nullopt : std::optional(bytes); // "unlimited"
}

// The runtime may use at most half of the address space that the program may still map.
std::string address_space_refusal(pid_t pid, std::uint64_t bytes)
{
    const auto limit = address_space_limit(pid);
    if (!limit)
        return {};
    std::uint64_t used = status_kib(pid, "VmSize") << 10;
    std::uint64_t left = *limit > used ? *limit - used : 0;
    if (bytes <= left / 2)
        return {};
    return "the runtime needs " + std::to_string(bytes >> 10) +
           " KiB, more than half of the " + std::to_string(left >> 10) +
           " KiB that the process may still map (RLIMIT_AS)";
}

std::uint64_t locked_kib(pid_t pid)
{
    return status_kib(pid, "VmLck");
}

FutureLocks future_locks(pid_t pid, std::uint64_t locked_before, TargetAddr page)
{
    if (locked_kib(pid) <= locked_before)
        return FutureLocks::none;
    const auto pages = PageMap(pid).pages(page, 1);
    const bool is_absent = !pages.empty() && !pages[0].is_present();
    return is_absent ? FutureLocks::on_fault : FutureLocks::at_once;
}

} // namespace dt::agent
