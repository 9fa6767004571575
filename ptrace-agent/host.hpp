// SPDX-License-Identifier: MIT
// Runs the engine in the agent, for one stopped thread at one tracepoint. After a hit,
// the pc in the registers is the address of the replaced instruction.
//
// The thread's memory is read with process_vm_readv(2), so a page that the program
// cannot read causes a D fault. The engine runs in the agent's only thread, so stops of
// other targets wait until the probe has fired.
#pragma once

#include "dif/engine.h"
#include "fasttrap/registers.hpp"
#include "process/task_vars.hpp"
#include "ptrace-agent/hold/target.hpp"
#include "ptrace-agent/inject/arena_map.hpp"
#include "ptrace-agent/runtime/runtime.h"

#include <span>
#include <string>

namespace dt::agent {

class FiringHost {
public:
    FiringHost(const ArenaMap& arena, Thread& thread, const Registers& regs);
    void fire(const Firing& firing);
    // Fires a probe that has no site. The thread may be at any instruction.
    void fire_at_stop(std::uint32_t probe, std::span<const std::uint64_t> args);

    // host.cpp: memory and time.
    int load(std::uint64_t addr, void* to, std::uint64_t bytes, std::uint64_t* bad);
    std::int64_t load_string(std::uint64_t addr, char* to, std::uint64_t max,
                             std::uint64_t* bad);
    int store(std::uint64_t addr, const void* from, std::uint64_t bytes,
              std::uint64_t* bad);
    std::uint64_t vtimestamp();
    int arg(std::uint32_t n, std::uint64_t* value, std::uint64_t* bad);
    std::int64_t ustack(std::uint64_t* pcs, std::uint32_t max);

    // host_upcall.cpp: serves an upcall that the thread has made in the runtime.
    void answer(dt_rt_upcall& call);

    // host_vars.cpp: variables that describe the process.
    int var(std::uint32_t id, std::uint32_t index, std::uint64_t* value);
    std::uint64_t var_string(std::uint32_t id, std::uint32_t index, char* to,
                             std::uint64_t max);
    int progenyof(std::uint64_t pid);
    int raise(int signal);

private:
    // static_args.cpp
    int static_arg(const dt_operand& operand, std::uint64_t* value, std::uint64_t* bad);
    int errno_of_thread(std::uint64_t* value);

    dt_host host_{}; // host_.self points to this object
    Thread& thread_;
    const Registers& regs_;
    SiteKind kind_ = SiteKind::entry;
    std::span<const dt_operand> operands_; // operands of the static probe that fires
    TaskVars vars_;
};

} // namespace dt::agent
