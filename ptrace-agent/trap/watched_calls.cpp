// SPDX-License-Identifier: MIT
#include "ptrace-agent/trap/watched_calls.hpp"

#include "process/maps.hpp"
#include "process/proc_files.hpp"
#include "ptrace-agent/plant/linker.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <elf.h>
#include <sys/syscall.h>

namespace dt::agent {

constexpr std::uint64_t max_scanned_bytes = 64 << 20; // in all mappings
constexpr std::size_t max_watched = 4096;
// More than the size of getcontext(), setcontext() or swapcontext().
constexpr std::uint64_t max_context_bytes = 512;

struct SignalCall {
    std::uint8_t number;
    TargetAddr at; // address of the syscall instruction
};

// Returns the address of the syscall instruction among the first four instructions.
// `text` begins with `mov $number,%eax`. Returns nothing if there is no syscall, or if a
// jump or call comes first.
static std::optional<TargetAddr> syscall_after(std::span<const std::byte> text,
                                               TargetAddr at)
{
    for (int i = 0; i < 4; ++i) {
        auto insn = x86_64.decode(text, at);
        if (!insn || insn->length > text.size())
            return std::nullopt;
        if (insn->flow == ControlFlow::syscall)
            return at;
        if (insn->flow != ControlFlow::next)
            return std::nullopt;
        text = text.subspan(insn->length);
        at = at + insn->length;
    }
    return std::nullopt;
}

// Returns the rt_sigaction(2) and rt_sigprocmask(2) calls in a mapping that begin with
// `mov $number,%eax`. Returns an empty list if the mapping cannot be read, or has more
// than `n_left` bytes. Subtracts the bytes of the mapping from `n_left`.
static std::vector<SignalCall>
signal_calls(const AddressSpace& space, const Mapping& mapping, std::uint64_t& n_left)
{
    static constexpr std::size_t load_bytes = 5;
    std::vector<SignalCall> found;
    const std::uint64_t bytes = mapping.end - mapping.begin;
    if (bytes > n_left)
        return found;
    n_left -= bytes;
    std::vector<std::byte> text(bytes);
    if (!space.read_original(mapping.begin, text))
        return found;
    const std::byte* const begin = text.data();
    const std::byte* const end = begin + text.size();
    for (const std::byte* at = begin; end - at >= std::ptrdiff_t{load_bytes}; ++at) {
        at = static_cast<const std::byte*>(
            std::memchr(at, 0xb8, static_cast<std::size_t>(end - at)));
        if (at == nullptr || end - at < std::ptrdiff_t{load_bytes})
            break;
        std::uint32_t number = 0;
        std::memcpy(&number, at + 1, sizeof number);
        if (number != SYS_rt_sigaction && number != SYS_rt_sigprocmask)
            continue;
        const auto offset = static_cast<std::size_t>(at - begin);
        if (auto call =
                syscall_after(std::span(text).subspan(offset), mapping.begin + offset))
            found.push_back({static_cast<std::uint8_t>(number), *call});
    }
    return found;
}

// Collects the tracepoints that need a breakpoint.
class Watcher {
public:
    explicit Watcher(AddressSpace& space) : space_(space) {}

    void watch(TargetAddr at, Tracepoint::Purpose purpose)
    {
        std::array<std::byte, 15> text{};
        Tracepoint* tp = space_.tracepoints.find(at);
        if (tp == nullptr && at != space_.call_place.insn() &&
            space_.patches.covering(at) == nullptr && fresh_.size() < max_watched &&
            space_.read_original(at, text)) {
            auto insn = x86_64.decode(text, at);
            if (!insn || x86_64.plan_displaced(*insn).how == Displaced::refused)
                return;
            tp = &space_.tracepoints.add(*insn);
            fresh_.push_back(tp);
        }
        if (tp != nullptr && tp->purpose == Tracepoint::fires)
            tp->purpose = purpose;
    }

    void write()
    {
        for (Tracepoint* unwritten : space_.tracepoints.write_breakpoints(fresh_))
            space_.tracepoints.forget(*unwritten);
    }

private:
    AddressSpace& space_;
    std::vector<Tracepoint*> fresh_;
};

void watch_signal_calls(StoppedWorld& world)
{
    AddressSpace& space = world.space();
    if (space.watched.signal_calls)
        return;
    const std::string program = read_proc_link(space.proc_tid(), "exe");
    Watcher watcher(space);
    std::vector<TargetAddr> contexts; // the functions that are not watched
    auto is_in_context = [&contexts](TargetAddr at) {
        return std::ranges::any_of(contexts, [at](TargetAddr function) {
            return at - function < max_context_bytes;
        });
    };
    std::uint64_t n_left = max_scanned_bytes;
    bool any_libc = false;
    for (const Mapping& m : mappings_of(space.proc_tid())) {
        const bool libc = is_libc(m.path);
        any_libc = any_libc || libc;
        if (m.offset == 0 && libc) {
            if (auto function = symbol_in(space, m.begin, "sigaction"))
                watcher.watch(*function, Tracepoint::sigaction_function);
            for (const char* name : {"getcontext", "setcontext", "swapcontext"})
                if (auto function = symbol_in(space, m.begin, name))
                    contexts.push_back(*function);
        }
        const bool own = m.kernel_path() == program;
        if (!m.executable || (!own && !libc))
            continue;
        for (const SignalCall& call : signal_calls(space, m, n_left)) {
            if (call.number == SYS_rt_sigprocmask && !is_in_context(call.at))
                watcher.watch(call.at, Tracepoint::mask_call);
            if (call.number == SYS_rt_sigaction && own)
                watcher.watch(call.at, Tracepoint::sigaction_call);
        }
    }
    watcher.write();
    // A program that has just been executed may load its libc later.
    const bool has_linker = auxv_value(space.proc_tid(), AT_BASE).value_or(0) != 0;
    space.watched.signal_calls = any_libc || !has_linker;
}

} // namespace dt::agent
