// SPDX-License-Identifier: MIT
// Upcalls: requests from the runtime in a target to the agent (enum dt_rt_upcall_op).
//
// Addresses in a request are addresses in the target. The target can overwrite the
// request, so every number in it is untrusted, and this file limits the sizes. A session
// without -w sends no signal and stores nothing, even if a target forges such a request or
// overwrites one by mistake.
#include "base/clock_ns.hpp"
#include "dif/arena.h"
#include "process/maps.hpp"
#include "ptrace-agent/host.hpp"
#include "ptrace-agent/runtime/runtime.h"

#include <algorithm>
#include <csignal>
#include <ctime>
#include <vector>

namespace dt::agent {

constexpr std::uint64_t max_frames = 2048;
constexpr std::uint64_t max_string = 64 << 10;
constexpr std::uint64_t max_load = 16 << 20;

static int write_result(AddressSpace& space, std::uint64_t to, const void* from,
                        std::uint64_t n)
{
    auto* bytes = static_cast<const std::byte*>(from);
    return space.write({to}, {bytes, n}) ? 0 : -1;
}

static bool is_destructive(std::uint32_t op)
{
    return op == DT_RT_UP_RAISE || op == DT_RT_UP_STOP || op == DT_RT_UP_STORE;
}

// Reads the option from the arena's program part, which no target can write.
static bool allows_destructive(const dt_arena& arena)
{
    const std::uint64_t allowed = arena.options[DTRACEOPT_destructive];
    return allowed != DT_OPT_UNSET && allowed != 0;
}

void FiringHost::answer(dt_rt_upcall& call)
{
    AddressSpace& space = *thread_.process->space;
    const std::uint32_t op = call.op;
    std::uint64_t value = 0;
    call.result = 0;
    if (is_destructive(op) &&
        !allows_destructive(*static_cast<dt_arena*>(host_.arena))) {
        call.result = -1;
        call.value = 0;
        return;
    }
    switch (op) {
    case DT_RT_UP_VAR:
        call.result = var(static_cast<std::uint32_t>(call.a[0]),
                          static_cast<std::uint32_t>(call.a[1]), &value);
        break;
    case DT_RT_UP_VAR_STRING: {
        std::string text(std::min<std::uint64_t>(call.a[2], max_string), '\0');
        value = var_string(static_cast<std::uint32_t>(call.a[0]),
                           static_cast<std::uint32_t>(call.a[0] >> 32), text.data(),
                           text.size());
        call.result = write_result(space, call.a[1], text.data(), value);
        break;
    }
    case DT_RT_UP_USTACK: {
        // The runtime's list of readable ranges may not contain the stack of a new
        // thread yet. With an updated list, the runtime can walk this stack without an
        // upcall.
        if (!space.runtime.in_ranges({regs_[Reg::rsp]}))
            space.runtime.set_ranges(mappings_of(space.proc_tid()));
        std::vector<std::uint64_t> pcs(std::min<std::uint64_t>(call.a[1], max_frames));
        std::int64_t n = ustack(pcs.data(), static_cast<std::uint32_t>(pcs.size()));
        call.result = n < 0 ? -1
                            : write_result(space, call.a[0], pcs.data(),
                                           static_cast<std::uint64_t>(n) * 8);
        value = static_cast<std::uint64_t>(n);
        break;
    }
    case DT_RT_UP_VTIMESTAMP:
        value = vtimestamp();
        break;
    case DT_RT_UP_PROGENYOF:
        value = static_cast<std::uint64_t>(progenyof(call.a[0]));
        break;
    case DT_RT_UP_RAISE:
        call.result = raise(static_cast<int>(call.a[0]));
        break;
    case DT_RT_UP_STOP:
        call.result = raise(SIGSTOP);
        break;
    case DT_RT_UP_LOAD: {
        std::vector<std::byte> bytes(std::min(call.a[2], max_load));
        call.result = load(call.a[0], bytes.data(), bytes.size(), &value);
        if (call.result == 0)
            call.result = write_result(space, call.a[1], bytes.data(), bytes.size());
        break;
    }
    case DT_RT_UP_STORE: {
        std::vector<std::byte> bytes(std::min(call.a[2], max_load));
        call.result = space.read({call.a[1]}, bytes)
                          ? store(call.a[0], bytes.data(), bytes.size(), &value)
                          : -1;
        break;
    }
    case DT_RT_UP_TID:
        value = host_.thread_key;
        break;
    case DT_RT_UP_TIMESTAMP:
        value = clock_ns(CLOCK_MONOTONIC);
        break;
    case DT_RT_UP_WALLTIME:
        value = clock_ns(CLOCK_REALTIME);
        break;
    default:
        call.result = -1;
    }
    call.value = value;
}

} // namespace dt::agent
