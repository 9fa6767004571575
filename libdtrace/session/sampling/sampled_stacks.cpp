// SPDX-License-Identifier: MIT
#include "libdtrace/session/sampling/sampled_stacks.hpp"

#include "base/clock_ns.hpp"
#include "base/memfd.hpp"
#include "libdtrace/session/unwind_rules.hpp"
#include "ptrace-agent/unwind_rules.hpp"

#include <algorithm>
#include <cstring>
#include <sys/auxv.h>
#include <unistd.h>
#include <utility>

namespace dt {

// The mappings of a process are read at most once in the shorter time, if an address is
// unknown. They are read again after the longer time, because another file may be mapped
// at the same address.
static constexpr std::uint64_t shortest_age_ns = 1'000'000'000,
                               longest_age_ns = 10'000'000'000;
// Rules in memory for all files together; they use 256 MiB.
static constexpr std::size_t max_rules = 1 << 24;

namespace {

struct Frame {
    std::uint64_t pc, sp, bp;
    bool is_exact; // the pc is the next instruction to execute, not a return address
};

} // namespace

std::span<const std::byte> StackCopy::bytes(std::uint64_t at, std::uint64_t n) const
{
    const std::uint64_t offset = at - begin_;
    if (offset >= bytes_.size())
        return {};
    return bytes_.subspan(offset, std::min<std::uint64_t>(n, bytes_.size() - offset));
}

bool StackCopy::word(std::uint64_t at, std::uint64_t& value) const
{
    const auto from = bytes(at, sizeof value);
    if (from.size() != sizeof value)
        return false;
    std::memcpy(&value, from.data(), sizeof value);
    return true;
}

// These functions change the frame to the frame of its caller. They return false if
// there is no caller, or if the caller cannot be found.
static bool step_by_pointer(const StackCopy& stack, Frame& frame)
{
    Frame caller{0, frame.bp + 16, 0, false};
    if (frame.bp - frame.sp > DT_RT_GUESS_REACH || !stack.word(frame.bp, caller.bp) ||
        !stack.word(frame.bp + 8, caller.pc))
        return false;
    frame = caller;
    return true;
}

static bool step_out_of_signal(const StackCopy& stack, Frame& frame)
{
    // Offsets in struct ucontext.
    constexpr std::uint64_t gregs = 40, rbp = gregs + 10 * 8, rsp = gregs + 15 * 8,
                            rip = gregs + 16 * 8;
    const std::uint64_t context = frame.sp;
    frame.is_exact = true;
    return stack.word(context + rbp, frame.bp) && stack.word(context + rsp, frame.sp) &&
           stack.word(context + rip, frame.pc);
}

static bool step_by_rule(const dtk_unwind_rule& rule, const StackCopy& stack,
                         Frame& frame)
{
    if (rule.from == DTK_UNWIND_SIGNAL)
        return step_out_of_signal(stack, frame);
    if (rule.from > DTK_UNWIND_AT_RBP)
        return step_by_pointer(stack, frame);
    dt_rt_rule how{};
    how.cfa = rule.cfa;
    how.rbp = rule.rbp;
    how.from = rule.from;
    how.rbp_from = rule.rbp_from;
    const auto caller =
        agent::caller_by(how, {frame.pc, frame.sp, frame.bp},
                         [&stack](std::uint64_t at, std::uint64_t& value) {
                             return stack.word(at, value);
                         });
    if (!caller || caller->sp <= frame.sp)
        return false;
    frame = {caller->pc, caller->sp, caller->bp, false};
    return true;
}

const SampledStacks::Rules* SampledStacks::vdso_rules()
{
    // All 64-bit processes have the same vDSO as this process.
    if (vdso_)
        return vdso_.get();
    vdso_ = std::make_unique<Rules>();
    for (const Mapping& each : mappings_of(::getpid())) {
        if (each.path != vdso_path)
            continue;
        const std::size_t bytes = each.end - each.begin;
        auto file = make_writable_memfd("dtrace-vdso", bytes);
        if (file && ::pwrite(file->get(), reinterpret_cast<void*>(each.begin.value),
                             bytes, 0) == static_cast<ssize_t>(bytes))
            *vdso_ = compact_rules(unwind_rows(std::move(*file)));
    }
    return vdso_.get();
}

const SampledStacks::Rules* SampledStacks::rules_of(const MappedFiles& files,
                                                    const Mapping& text)
{
    if (text.path == vdso_path)
        return vdso_rules();
    const auto version = text.is_file() ? files.version(text) : std::nullopt;
    if (!version)
        return nullptr;
    const auto known = files_.find(*version);
    if (known != files_.end())
        return known->second.get();
    Fd file = files.take(text);
    if (!file) // the process may have exited; another process may supply the file
        return nullptr;
    auto rules =
        std::make_unique<Rules>(compact_rules(jailed_unwind_rows(std::move(file))));
    std::size_t n_rules = rules->size();
    for (const auto& [file_version, each] : files_)
        n_rules += each->size();
    if (n_rules > max_rules)
        rules->clear();
    return files_.emplace(*version, std::move(rules)).first->second.get();
}

void SampledStacks::read(pid_t pid, Process& process)
{
    process.read_at_ns = monotonic_ns();
    const MappedFiles files(pid);
    std::vector<Text> texts;
    for (const Mapping& each : mappings_of(pid))
        if (each.executable)
            texts.push_back(
                {each.begin.value, each.end.value, each.offset, rules_of(files, each)});
    if (!texts.empty()) // otherwise the process has exited
        process.texts = std::move(texts);
}

const SampledStacks::Text* SampledStacks::find_text(const Process& process,
                                                    std::uint64_t at)
{
    const auto after = std::upper_bound(
        process.texts.begin(), process.texts.end(), at,
        [](std::uint64_t value, const Text& text) { return value < text.begin; });
    return after != process.texts.begin() && at < std::prev(after)->end
               ? &*std::prev(after)
               : nullptr;
}

const SampledStacks::Text* SampledStacks::text_at(pid_t pid, std::uint64_t at)
{
    Process& process = processes_[pid];
    const std::uint64_t age =
        process.read_at_ns != 0 ? monotonic_ns() - process.read_at_ns : UINT64_MAX;
    const Text* text = find_text(process, at);
    if (age > (text != nullptr ? longest_age_ns : shortest_age_ns)) {
        read(pid, process);
        text = find_text(process, at);
    }
    return text;
}

std::uint32_t SampledStacks::walk(const PerfSample& sample, std::uint64_t* pcs,
                                  std::uint32_t max)
{
    if (!sample.user || max == 0)
        return 0;
    const StackCopy stack(sample);
    Frame frame{sample.user->rip, (*sample.user)[Reg::rsp], (*sample.user)[Reg::rbp],
                true};
    std::uint32_t n = 0;
    for (;;) {
        pcs[n++] = frame.pc;
        if (n == max)
            return n;
        const std::uint64_t at = frame.is_exact ? frame.pc : frame.pc - 1;
        const Text* text = text_at(sample.pid, at);
        const dtk_unwind_rule* rule =
            text != nullptr && text->rules != nullptr
                ? find_rule(*text->rules, at - text->begin + text->offset)
                : nullptr;
        if (!(rule != nullptr ? step_by_rule(*rule, stack, frame)
                              : step_by_pointer(stack, frame)) ||
            frame.pc == 0)
            return n;
    }
}

} // namespace dt
