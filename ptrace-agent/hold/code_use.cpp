// SPDX-License-Identifier: MIT
#include "ptrace-agent/hold/code_use.hpp"

#include "process/proc_files.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/inject/rseq.hpp"

#include <algorithm>
#include <csignal>
#include <span>

namespace dt::agent {

// The limit on the memory that is searched while the target is stopped.
constexpr std::uint64_t max_searched = 128 << 20;
constexpr std::size_t max_stacks = 65536;
constexpr std::uint64_t chunk_bytes = 1 << 20;
// The words of a signal frame (x86-64) that are examined, as distances from the word
// that contains the segment registers. The address to which the handler returns is the
// frame's first word. rsp and rip are those of the interrupted code.
constexpr std::size_t restorer_before = 24, rsp_before = 3, rip_before = 2;
// The alternate signal stack (stack_t) at the time of the signal.
constexpr std::size_t ss_sp_before = 21, ss_flags_before = 20, ss_size_before = 19;
constexpr std::size_t uc_flags_before = 23, uc_link_before = 22;
// The number of alternate stacks that may be nested.
constexpr int max_nested = 64;

// Returns whether a word is the word with the segment registers (cs, gs, fs and ss, 16
// bits each) in the signal frame of a 64-bit program. The kernel writes no other values
// into the tested words (Linux 4.6 and later). The number 0x33 alone is common on
// stacks, next to zeros or data of ours.
static bool is_in_signal_frame(std::span<const std::uint64_t> words, std::size_t i)
{
    constexpr std::uint64_t user_cs = 0x33, user_ss = 0x2b;
    // UC_SIGCONTEXT_SS and UC_STRICT_RESTORE_SS, with or without UC_FP_XSTATE
    constexpr std::uint64_t uc_flags = 6, uc_fp_xstate = 1;
    constexpr std::uint32_t autodisarm = 1u << 31;
    if (words[i] != (user_ss << 48 | user_cs) || words[i - uc_link_before] != 0 ||
        (words[i - uc_flags_before] & ~uc_fp_xstate) != uc_flags)
        return false;
    // The kernel does not write the upper half of this word.
    const auto flags = static_cast<std::uint32_t>(words[i - ss_flags_before]);
    return (flags & ~autodisarm) <= SS_DISABLE;
}

void CodeUse::mark(TargetAddr address)
{
    auto after = std::upper_bound(
        ranges_.begin(), ranges_.end(), address,
        [](TargetAddr at, const Range& range) { return at < range.begin; });
    if (after == ranges_.begin())
        return;
    Range& range = *std::prev(after);
    if (address < range.end)
        range.used = true;
}

bool CodeUse::is_used(TargetAddr begin, TargetAddr end) const
{
    return !complete_ ||
           std::any_of(ranges_.begin(), ranges_.end(), [&](const Range& range) {
               return range.used && range.begin < end && begin < range.end;
           });
}

bool CodeUse::examine()
{
    std::sort(ranges_.begin(), ranges_.end(),
              [](const Range& a, const Range& b) { return a.begin < b.begin; });
    for (const Thread* thread : tracees_.threads_in(space_))
        if (!examine(*thread))
            return false;
    for (int i = 0; i < max_nested; ++i) {
        while (!stacks_.empty()) {
            const TargetAddr from = stacks_.back();
            stacks_.pop_back();
            ends_.push_back(from);
            if (ends_.size() > max_stacks || !search(from))
                return false;
        }
        if (!use_frames_in_use()) {
            complete_ = true;
            return true;
        }
    }
    return false;
}

// Returns whether a stack in use ends below a frame, on the same alternate stack.
bool CodeUse::is_in_use(const Frame& frame) const
{
    auto end = std::lower_bound(ends_.begin(), ends_.end(), frame.alternate_stack);
    return end != ends_.end() && *end <= frame.at;
}

// Uses the frames on alternate stacks that have turned out to be in use. Returns whether
// there were any.
bool CodeUse::use_frames_in_use()
{
    std::sort(ends_.begin(), ends_.end());
    const auto first =
        std::partition(unused_.begin(), unused_.end(),
                       [this](const Frame& frame) { return !is_in_use(frame); });
    const std::vector<Frame> in_use(first, unused_.end());
    unused_.erase(first, unused_.end());
    for (const Frame& frame : in_use)
        use(frame);
    return !in_use.empty();
}

bool CodeUse::examine(const Thread& thread)
{
    UserPlace place;
    user_regs_struct user;
    if (thread.is_stopped() && get_regs(thread.tid, user)) {
        place = {{user.rip}, {user.rsp}};
        const auto sequence = armed_sequence(space_, thread.tid);
        if (!sequence)
            return false;
        mark(*sequence);
    } else {
        const char state = thread_state(thread.process->pid, thread.tid);
        if (state == 'Z' || state == 'X' || state == '\0')
            return true; // it will run no more code of the program
        const auto blocked = blocked_place(thread.process->pid, thread.tid);
        if (!blocked)
            return false;
        place = *blocked;
    }
    mark(place.pc);
    mark(place.sp);
    stacks_.push_back(place.sp);
    return true;
}

// Searches a stack from the address to the end of its mapping, except the part that has
// already been searched.
bool CodeUse::search(TargetAddr from)
{
    const Mapping* stack = find_mapping(mappings_, from);
    // Pages of a file cannot be searched, because they may have to be read from a file
    // system that does not reply.
    if (stack == nullptr || stack->shared || stack->is_file())
        return false;
    from = TargetAddr{from.value & ~7ull};
    TargetAddr& lowest = searched_.try_emplace(stack->begin, stack->end).first->second;
    const TargetAddr end = lowest;
    if (from >= end)
        return true;
    lowest = from;
    return search_pages(from, end);
}

bool CodeUse::search_pages(TargetAddr from, TargetAddr end)
{
    words_.clear();
    for (TargetAddr at = from; at < end;) {
        const TargetAddr chunk_end =
            end - at > chunk_bytes
                ? TargetAddr{(at.value & ~(page_bytes - 1)) + chunk_bytes}
                : end;
        const auto pages = pages_.pages(at, chunk_end - at);
        if (pages.empty())
            return false;
        const TargetAddr first{at.value & ~(page_bytes - 1)};
        auto start_of = [&](std::size_t page) {
            return std::clamp(first + page * page_bytes, at, chunk_end);
        };
        for (std::size_t page = 0, last = 0; page < pages.size(); page = last) {
            last = page + 1;
            if (!pages[page].has_content())
                continue;
            while (last < pages.size() && pages[last].has_content())
                ++last;
            const TargetAddr run = start_of(page);
            const std::uint64_t n = start_of(last) - run;
            // A signal frame may begin at the end of the previous words. Pages without
            // content contain zeros, so no frame extends over them.
            if (words_at_ + words_.size() * sizeof(std::uint64_t) != run)
                words_.clear();
            const std::size_t n_kept = std::min(words_.size(), restorer_before);
            words_.erase(words_.begin(),
                         words_.end() - static_cast<std::ptrdiff_t>(n_kept));
            words_at_ = TargetAddr{run.value - n_kept * sizeof(std::uint64_t)};
            const std::size_t n_before = words_.size();
            words_.resize(n_before + n / sizeof(std::uint64_t));
            if (!space_.read_text(
                    run, std::as_writable_bytes(std::span(words_).subspan(n_before))))
                return false;
            n_searched_ += n;
            see_words();
            if (n_searched_ > max_searched || stacks_.size() > max_stacks ||
                unused_.size() > max_stacks)
                return false;
        }
        at = chunk_end;
    }
    return true;
}

// Finds signal frames.
void CodeUse::see_words()
{
    for (std::size_t i = restorer_before; i < words_.size(); ++i) {
        if (!is_in_signal_frame(words_, i))
            continue;
        Frame frame;
        frame.at = words_at_ + i * sizeof(std::uint64_t);
        frame.restorer = {words_[i - restorer_before]};
        frame.pc = {words_[i - rip_before]};
        frame.sp = {words_[i - rsp_before]};
        const TargetAddr alternate{words_[i - ss_sp_before]};
        if (frame.at - alternate >= words_[i - ss_size_before]) {
            use(frame);
            continue;
        }
        frame.alternate_stack = alternate;
        unused_.push_back(frame);
    }
}

// A range counts as used if the handler returns to it, or if the handler has interrupted
// code in it. The stack of the interrupted code is searched, too.
void CodeUse::use(const Frame& frame)
{
    mark(frame.restorer);
    mark(frame.pc);
    const Mapping* stack = find_mapping(mappings_, frame.sp);
    if (stack != nullptr && !stack->shared && !stack->is_file())
        stacks_.push_back(frame.sp);
}

} // namespace dt::agent
