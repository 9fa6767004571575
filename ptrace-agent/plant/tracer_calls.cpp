// SPDX-License-Identifier: MIT
#include "ptrace-agent/plant/tracer_calls.hpp"

#include "ptrace-agent/address_space.hpp"
#include "ptrace-agent/plant/call_sites.hpp"
#include "ptrace-agent/plant/linker.hpp"

#include <algorithm>
#include <array>
#include <sys/syscall.h>

namespace dt::agent {

constexpr std::uint64_t max_watched_bytes = 64 << 20;
constexpr std::uint64_t function_bytes = 128; // clone() and prctl() are shorter

struct WatchedCall {
    std::uint32_t number;
    const char* function; // in C libraries
};
constexpr WatchedCall watched_calls[] = {{SYS_clone, "clone"}, {SYS_prctl, "prctl"}};

// Makes the tracepoint before a call watch it. Returns the tracepoint if it is new,
// otherwise null.
static Tracepoint* add(AddressSpace& space, const CallSite& site, std::uint32_t number)
{
    Tracepoint* tp = space.tracepoints.find(site.ready);
    const bool is_new = tp == nullptr;
    if (is_new) {
        std::array<std::byte, 15> text{};
        auto insn = space.read_original(site.ready, text)
                        ? x86_64.decode(text, site.ready)
                        : Result<Instruction>(Error{Code::gone, "unmapped"});
        if (!insn)
            return nullptr;
        tp = &space.tracepoints.add(*insn);
        tp->first = site.load;
        tp->end = site.call;
    }
    if (tp->purpose == Tracepoint::fires) {
        tp->purpose = Tracepoint::tracer_call;
        tp->call_number = number;
    }
    return is_new ? tp : nullptr;
}

void watch_tracer_calls(AddressSpace& space, std::span<const Mapping> mappings,
                        std::vector<Tracepoint*>& fresh)
{
    if (std::exchange(space.watched.tracer_calls, true))
        return;
    std::uint64_t left_bytes = max_watched_bytes;
    auto watch_in = [&](std::span<const std::byte> text, TargetAddr from,
                        const WatchedCall& call) {
        for (const CallSite& site : call_sites(text, from, call.number)) {
            Tracepoint* tp =
                site.ready < site.call ? add(space, site, call.number) : nullptr;
            if (tp != nullptr)
                fresh.push_back(tp);
        }
    };
    for (const Mapping& m : mappings) {
        if (!m.is_file())
            continue;
        if (is_libc(m.path)) {
            for (const WatchedCall& call : watched_calls) {
                auto at = m.offset == 0 ? symbol_in(space, m.begin, call.function)
                                        : std::nullopt;
                if (!at)
                    continue;
                watch_in(
                    original_text_of(space, *at, *at + function_bytes, function_bytes),
                    *at, call);
            }
        } else if (m.executable) {
            const auto text = original_text_of(space, m.begin, m.end, left_bytes);
            left_bytes -= text.size();
            for (const WatchedCall& call : watched_calls)
                watch_in(text, m.begin, call);
        }
    }
}

void leave_tracer_calls_without_jump(AddressSpace& space,
                                     std::vector<Tracepoint*>& fresh)
{
    std::erase_if(fresh, [&](Tracepoint* tp) {
        if (tp->purpose != Tracepoint::tracer_call || tp->site)
            return false;
        if (!tp->firings.empty()) {
            tp->purpose = Tracepoint::fires;
            tp->call_number = 0;
            return false;
        }
        space.tracepoints.forget(*tp);
        return true;
    });
}

} // namespace dt::agent
