// SPDX-License-Identifier: MIT
#include "libdtrace/session/sampling/program_arguments.hpp"

#include "dif/vars.h"
#include "libdtrace/session/sampling/sampled_stacks.hpp"
#include "process/task_vars.hpp"

#include <algorithm>
#include <iterator>

namespace dt {

static constexpr std::size_t longest = 4096; // as TaskVars::text() reads
// Limits the memory for arguments that take() never removes, because their samples were
// lost.
static constexpr std::size_t most_kept = 65536;

// The stack begins with the number of the arguments and their addresses. The strings are
// one after the other.
std::optional<std::string> arguments_on_stack(const PerfSample& sample)
{
    if (!sample.user)
        return std::nullopt;
    const StackCopy stack(sample);
    const std::uint64_t sp = (*sample.user)[Reg::rsp];
    std::uint64_t n = 0, at = 0;
    std::string all;
    if (!stack.word(sp, n) || !stack.word(sp + sizeof n, at))
        return std::nullopt;
    for (std::uint64_t i = 0; i < n && all.size() < longest; i++) {
        const auto bytes = stack.bytes(at, longest);
        const auto end = std::find(bytes.begin(), bytes.end(), std::byte{0});
        if (end == bytes.end() && bytes.size() < longest)
            return std::nullopt;
        all += i != 0 ? " " : "";
        std::transform(bytes.begin(), end, std::back_inserter(all),
                       [](std::byte each) { return static_cast<char>(each); });
        at += static_cast<std::uint64_t>(end - bytes.begin()) + 1;
    }
    return all;
}

void ProgramArguments::see(const PerfSample& sample, const std::string& path)
{
    if (arguments_on_stack(sample))
        return;
    constexpr std::size_t longest_name = 15; // TASK_COMM_LEN without the NUL
    const TaskVars vars(sample.pid, sample.tid);
    std::string text = vars.text(DIF_VAR_pr_psargs, 0);
    const std::string name = path.substr(path.rfind('/') + 1, longest_name);
    if (text.empty() || vars.text(DIF_VAR_execname, 0) != name)
        return;
    const std::lock_guard lock(lock_);
    if (from_proc_.size() >= most_kept)
        from_proc_.clear();
    from_proc_[{sample.pid, sample.time_ns}] = std::move(text);
}

std::string ProgramArguments::take(const PerfSample& sample)
{
    if (auto found = arguments_on_stack(sample))
        return std::move(*found);
    const std::lock_guard lock(lock_);
    const auto found = from_proc_.extract({sample.pid, sample.time_ns});
    return found.empty() ? "" : std::move(found.mapped());
}

} // namespace dt
