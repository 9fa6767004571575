// SPDX-License-Identifier: MIT
#include "ptrace-agent/trap/watched_calls.hpp"

#include "process/maps.hpp"
#include "process/proc_files.hpp"
#include "ptrace-agent/plant/call_sites.hpp"
#include "ptrace-agent/plant/linker.hpp"

#include <algorithm>
#include <array>
#include <elf.h>
#include <sys/syscall.h>

namespace dt::agent {

// The system calls that are watched: in a C library the first one, because its
// sigaction() is watched as a function.
constexpr std::uint32_t signal_calls[] = {SYS_rt_sigprocmask, SYS_rt_sigaction};
constexpr std::size_t max_watched = 4096;
// More than the size of getcontext(), setcontext() or swapcontext().
constexpr std::uint64_t max_context_bytes = 512;

// Collects the tracepoints that need a breakpoint.
class Watcher {
public:
    explicit Watcher(AddressSpace& space) : space_(space) {}

    void watch(TargetAddr at, Tracepoint::Purpose purpose)
    {
        std::array<std::byte, max_insn_bytes> text{};
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
    CallSearch calls(space);
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
        const std::span numbers(signal_calls);
        for (const CallSite& site :
             calls.search(m.begin, m.end, own ? numbers : numbers.first(1))) {
            if (site.number == SYS_rt_sigaction)
                watcher.watch(site.call, Tracepoint::sigaction_call);
            else if (!is_in_context(site.call))
                watcher.watch(site.call, Tracepoint::mask_call);
        }
    }
    watcher.write();
    // A program that has just been executed may load its libc later.
    const bool has_linker = auxv_value(space.proc_tid(), AT_BASE).value_or(0) != 0;
    space.watched.signal_calls = any_libc || !has_linker;
}

} // namespace dt::agent
