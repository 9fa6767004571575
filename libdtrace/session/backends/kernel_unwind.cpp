// SPDX-License-Identifier: MIT
#include "libdtrace/session/backends/kernel_unwind.hpp"

#include "base/clock_ns.hpp"
#include "libdtrace/session/debug.hpp"
#include "libdtrace/session/unwind_rules.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

namespace dt {

std::uint32_t KernelUnwind::table_of(const MappedFiles& files, const Mapping& text)
{
    auto version = files.version(text);
    if (!version)
        return 0;
    auto [known, is_new] = tables_.try_emplace(*version, 0);
    if (!is_new)
        return known->second;
    Fd file = files.take(text);
    if (!file) { // the process may have exited; another process may supply the file
        tables_.erase(known);
        return 0;
    }
    const auto rules = compact_rules(jailed_unwind_rows(std::move(file)));
    if (rules.empty())
        return 0;
    auto given = device_.add_table(rules);
    debug("%s: %zu unwinding rules%s%s", text.path.c_str(), rules.size(),
          given ? "" : ": ", given ? "" : given.error().text.c_str());
    if (given)
        return known->second = *given;
    if (given.error().sys == EINTR || given.error().sys == ENOMEM)
        tables_.erase(known); // so that the next request tries again
    return 0;
}

void KernelUnwind::pass_maps(pid_t pid)
{
    auto mapped = ProcessMaps::read(pid);
    if (!mapped)
        return; // the process has exited
    const MappedFiles files(pid);
    std::vector<dtk_unwind_map> maps;
    for (const Mapping& each : mapped->all())
        if (each.executable &&
            each.begin.value >> 63 == 0) // not [vsyscall], which has a kernel address
            maps.push_back({each.begin.value, each.end.value, each.offset,
                            each.is_file() ? table_of(files, each) : 0, 0});
    if (auto given = device_.set_maps(pid, maps); !given)
        debug("process %d: its stacks are unwound with frame pointers: %s", pid,
              given.error().text.c_str());
}

void KernelUnwind::pass_unknown(std::uint64_t now_ns)
{
    constexpr std::uint64_t every_ns = 50'000'000, at_most_ns = 200'000'000;
    if (now_ns - polled_at_ < every_ns)
        return;
    polled_at_ = now_ns;
    std::array<std::uint32_t, 64> unknown{};
    auto n = device_.take_unknown(unknown);
    for (std::size_t i = 0; n && i < *n; i++)
        if (std::find(pending_.begin(), pending_.end(), pid_t(unknown[i])) ==
            pending_.end())
            pending_.push_back(static_cast<pid_t>(unknown[i]));
    while (!pending_.empty() && monotonic_ns() - now_ns < at_most_ns) {
        pass_maps(pending_.front());
        pending_.pop_front();
    }
}

} // namespace dt
