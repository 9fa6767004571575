// SPDX-License-Identifier: MIT
#include "ptrace-agent/plant/tracer_calls.hpp"

#include "ptrace-agent/address_space.hpp"
#include "ptrace-agent/plant/call_sites.hpp"
#include "ptrace-agent/plant/linker.hpp"

#include <algorithm>
#include <array>
#include <sys/syscall.h>

namespace dt::agent {

constexpr std::uint64_t function_bytes = 128; // clone() and prctl() are shorter

constexpr std::uint32_t watched_calls[] = {SYS_clone, SYS_prctl};
// The functions of C libraries that make these calls.
constexpr const char* watched_functions[] = {"clone", "prctl"};

// Makes the tracepoint before a call watch it. Returns the tracepoint if it is new,
// otherwise null.
static Tracepoint* add(AddressSpace& space, const CallSite& site)
{
    Tracepoint* tp = space.tracepoints.find(site.ready);
    const bool is_new = tp == nullptr;
    if (is_new) {
        std::array<std::byte, max_insn_bytes> text{};
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
        tp->call_number = site.number;
    }
    return is_new ? tp : nullptr;
}

void watch_tracer_calls(AddressSpace& space, std::span<const Mapping> mappings,
                        std::vector<Tracepoint*>& fresh)
{
    if (std::exchange(space.watched.tracer_calls, true))
        return;
    CallSearch calls(space);
    auto watch_in = [&](TargetAddr from, TargetAddr end) {
        for (const CallSite& site : calls.search(from, end, watched_calls)) {
            Tracepoint* tp = site.ready < site.call ? add(space, site) : nullptr;
            if (tp != nullptr)
                fresh.push_back(tp);
        }
    };
    for (const Mapping& m : mappings) {
        if (!m.is_file())
            continue;
        if (!is_libc(m.path)) {
            if (m.executable)
                watch_in(m.begin, m.end);
            continue;
        }
        for (const char* function : watched_functions)
            if (auto at =
                    m.offset == 0 ? symbol_in(space, m.begin, function) : std::nullopt)
                watch_in(*at, *at + function_bytes);
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
