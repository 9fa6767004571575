// SPDX-License-Identifier: MIT
#include "ptrace-agent/inject/code_users.hpp"

#include "base/clock_ns.hpp"
#include "process/maps.hpp"
#include "ptrace-agent/hold/tracing.hpp"

#include <algorithm>
#include <cstddef>
#include <unordered_map>

namespace dt::agent {

namespace {

constexpr std::uint64_t search_ns = 100'000'000;
constexpr std::size_t chunk_words = 8192;
constexpr std::size_t max_stacks = 64; // of one thread

// A signal frame (x86-64): the return address, the kernel's struct ucontext, and the
// first member of siginfo_t.
struct SignalFrame {
    std::uint64_t restorer, flags, link;
    std::uint64_t alternate_stack, alternate_flags, alternate_bytes; // uc_stack
    std::uint64_t registers[15];
    std::uint64_t rsp, rip, eflags, segments; // segments: cs, gs, fs and ss
    std::uint64_t other[13];
    std::uint64_t mask;
    std::int32_t signal, pad;
};
constexpr std::size_t rsp_in_frame = offsetof(SignalFrame, rsp) / 8; // in words
static_assert(rsp_in_frame == 21 && offsetof(SignalFrame, signal) == 312);

// Returns whether four consecutive words can be rsp, rip, flags and segments of a
// signal frame. A 64-bit program has the cs 0x33. Bit 1 of the flags is always set.
bool can_be_frame(std::span<const std::uint64_t> words)
{
    constexpr std::uint64_t user_cs = 0x33, always_set = 2, any_flag = 0x3fffff;
    return (words[3] & 0xffff) == user_cs && (words[2] & always_set) != 0 &&
           words[2] <= any_flag;
}
constexpr std::size_t n_frame_words = 4;

class Search {
public:
    Search(AddressSpace& space, std::span<const AddressRange> ranges)
        : space_(space), ranges_(ranges), mappings_(mappings_of(space.proc_tid())),
          ends_(monotonic_ns() + search_ns)
    {
    }

    // Returns whether a thread with these registers and this signal mask uses the
    // ranges.
    bool finds(const user_regs_struct& user, std::uint64_t mask)
    {
        if (in_ranges(user.rip) || in_ranges(user.rsp))
            return true;
        mask_ = mask;
        stacks_.assign(1, user.rsp);
        for (std::size_t i = 0; i < stacks_.size(); ++i)
            if (i == max_stacks || !is_unused_in(TargetAddr{stacks_[i] & ~7ull}))
                return true;
        return false;
    }

private:
    bool in_ranges(std::uint64_t address) const
    {
        return std::any_of(ranges_.begin(), ranges_.end(),
                           [address](const AddressRange& range) {
                               return address - range.first.value < range.second;
                           });
    }

    const Mapping* mapping_at(TargetAddr at) const
    {
        auto after = std::upper_bound(mappings_.begin(), mappings_.end(), at,
                                      [](TargetAddr address, const Mapping& mapping) {
                                          return address < mapping.begin;
                                      });
        if (after == mappings_.begin() || !std::prev(after)->contains(at))
            return nullptr;
        return &*std::prev(after);
    }

    // Searches a stack, except for the part that was searched before. Returns whether
    // no signal frame on it leads to the ranges. Returns false if the stack cannot be
    // read, or if there is no time left. Adds the stacks to which signal frames lead.
    bool is_unused_in(TargetAddr from)
    {
        const Mapping* stack = mapping_at(from);
        if (stack == nullptr || !stack->readable)
            return true; // a thread cannot return through it
        if (stack->is_file() && !stack->path.starts_with("/memfd:"))
            return false; // reading a file could block
        auto [searched, is_new] = searched_.try_emplace(stack, stack->end);
        const TargetAddr end = searched->second;
        searched->second = std::min(end, from);
        for (TargetAddr at = from; at < end;) {
            const std::uint64_t n_left = (end - at) / 8;
            words_.resize(std::min<std::uint64_t>(n_left, chunk_words));
            if (words_.size() < n_frame_words)
                return true;
            if (monotonic_ns() > ends_ ||
                !space_.read_text(at, std::as_writable_bytes(std::span(words_))) ||
                !are_unused(at, from))
                return false;
            // A frame may extend into the next chunk.
            at = at + (words_.size() - (n_frame_words - 1)) * 8;
        }
        return true;
    }

    // Handles the signal frames in words_, which were read from the address `at`.
    // `stack` is the stack pointer with which the search of this stack began.
    bool are_unused(TargetAddr at, TargetAddr stack)
    {
        const std::span<const std::uint64_t> words(words_);
        for (std::size_t i = 0; i + n_frame_words <= words.size(); ++i) {
            if (!can_be_frame(words.subspan(i)))
                continue;
            const std::uint64_t rsp = words[i], rip = words[i + 1];
            if (has_returned(at + i * 8, stack))
                continue;
            if (in_ranges(rip) || in_ranges(rsp))
                return false;
            const Mapping* interrupted = mapping_at({rsp});
            auto searched = searched_.find(interrupted);
            if (interrupted != nullptr &&
                (searched == searched_.end() || rsp < searched->second.value))
                stacks_.push_back(rsp);
        }
        return true;
    }

    // Returns whether the handler of a signal frame has certainly returned, so that the
    // thread cannot return through the frame. This is the case if the frame is on an
    // alternate stack that the thread does not use, and if the thread does not block
    // the signal. Go runs all handlers on alternate stacks, which are in its heap.
    bool has_returned(TargetAddr rsp_at, TargetAddr stack)
    {
        SignalFrame frame;
        const TargetAddr at{rsp_at.value - rsp_in_frame * 8};
        if (!space_.read_text(at, std::as_writable_bytes(std::span(&frame, 1))))
            return false;
        auto on_alternate = [&frame](TargetAddr address) {
            return address.value - frame.alternate_stack < frame.alternate_bytes;
        };
        return on_alternate(at) && !on_alternate(stack) && frame.signal > 0 &&
               frame.signal <= 64 && (mask_ & signal_bit(frame.signal)) == 0;
    }

    AddressSpace& space_;
    std::span<const AddressRange> ranges_;
    std::vector<Mapping> mappings_;
    std::uint64_t ends_; // deadline (monotonic ns)
    std::vector<std::uint64_t> words_;
    // The address from which each mapping has been searched to its end.
    std::unordered_map<const Mapping*, TargetAddr> searched_;
    // The thread that is examined: its signal mask, and the stack pointers from which
    // its stacks are searched.
    std::uint64_t mask_ = 0;
    std::vector<std::uint64_t> stacks_;
};

} // namespace

bool are_in_use(const StoppedWorld& world, const Tracees& tracees,
                std::span<const AddressRange> ranges)
{
    Search search(world.space(), ranges);
    for (const Thread* thread : tracees.threads_in(world.space())) {
        user_regs_struct user;
        std::uint64_t mask = 0;
        if (!thread->is_stopped() || !get_regs(thread->tid, user) ||
            !get_mask(thread->tid, mask) || search.finds(user, mask))
            return true;
    }
    return false;
}

} // namespace dt::agent
