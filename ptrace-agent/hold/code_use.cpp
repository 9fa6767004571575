// SPDX-License-Identifier: MIT
#include "ptrace-agent/hold/code_use.hpp"

#include "process/proc_files.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/inject/rseq.hpp"

#include <algorithm>

namespace dt::agent {

// The limit on the memory that is searched while the target is stopped.
constexpr std::uint64_t max_searched = 128 << 20;
constexpr std::size_t max_stacks = 65536;
constexpr std::uint64_t chunk_bytes = 1 << 20;
// The words of a signal frame (x86-64) that are examined, as distances from the word
// that contains the segment registers. The address to which the handler returns is the
// frame's first word. rsp and rip are those of the interrupted code.
constexpr std::size_t restorer_before = 24, rsp_before = 3, rip_before = 2;

// Returns whether a word of a signal frame contains the segment registers of user code:
// cs, gs, fs and ss, 16 bits each. Some kernels do not save ss.
static bool are_segments(std::uint64_t word)
{
    constexpr std::uint64_t user_cs = 0x33, user_ss = 0x2b;
    return word == user_cs || word == (user_ss << 48 | user_cs);
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
    while (!stacks_.empty()) {
        const TargetAddr from = stacks_.back();
        stacks_.pop_back();
        if (!search(from))
            return false;
    }
    complete_ = true;
    return true;
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
        // Signal frames may begin in the previous chunk, so its last words are kept.
        if (words_.size() > restorer_before)
            words_.erase(words_.begin(), words_.end() - restorer_before);
        for (std::size_t page = 0; page < pages.size();) {
            std::size_t last = page;
            while (last < pages.size() && pages[last].has_content())
                ++last;
            const TargetAddr run = start_of(page);
            const std::uint64_t n = start_of(last) - run;
            const std::size_t n_before = words_.size();
            words_.resize(n_before + n / sizeof(std::uint64_t));
            if (n != 0 &&
                !space_.read_text(
                    run, std::as_writable_bytes(std::span(words_).subspan(n_before))))
                return false;
            n_searched_ += n;
            page = std::max(last, page + 1); // a page without content contains zeros
        }
        if (n_searched_ > max_searched || stacks_.size() > max_stacks)
            return false;
        see_words();
        at = chunk_end;
    }
    return true;
}

// Finds signal frames. A range counts as used if the handler returns to it, or if the
// handler has interrupted code in it. The stack of the interrupted code is searched, too.
void CodeUse::see_words()
{
    for (std::size_t i = restorer_before; i < words_.size(); ++i) {
        if (!are_segments(words_[i]))
            continue;
        mark({words_[i - restorer_before]});
        mark({words_[i - rip_before]});
        const TargetAddr sp{words_[i - rsp_before]};
        const Mapping* stack = find_mapping(mappings_, sp);
        if (stack != nullptr && !stack->shared && !stack->is_file())
            stacks_.push_back(sp);
    }
}

} // namespace dt::agent
