// SPDX-License-Identifier: MIT
// Builds the jumps that plan_jumps() has planned, and writes them into the target.
//
//   prepare():  plan ──▶ build ──▶ write trampolines     usually while the target runs
//   write():    write jumps to the trampolines           while all threads are stopped
//
// JumpReport says why sites have no jump. The tracepoints of these sites stay in the
// list `fresh` and need a breakpoint.
//
// If an existing window covers a new site, that window is removed, and its sites are
// planned again. In that case prepare() and write() run in one stop. A thread with its
// pc inside a new window continues in the trampoline.
//
// Files: write_jumps.cpp plants jumps; update_jumps.cpp handles probes that change or
// are removed.
#pragma once

#include "ptrace-agent/inject/injector.hpp"
#include "ptrace-agent/inject/runtime_loader.hpp"
#include "ptrace-agent/plant/jump_plan.hpp"
#include "ptrace-agent/plant/periodic_task.hpp"

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace dt::agent {

// Why tracepoints have no jump.
struct JumpReport {
    std::string note; // why jumps are impossible, or empty if they are possible
    std::unordered_map<TargetAddr, std::string> reasons; // key: address
    // The memory of the plan. Freeing it takes a long time, so it is freed after the
    // threads have been resumed.
    std::shared_ptr<void> spent;
};

// The state while jumps are planted for one request.
struct JumpWork {
    std::vector<Tracepoint*> wanted;    // tracepoints to plan, in ascending order
    std::vector<Tracepoint*> displaced; // tracepoints of removed windows
    JumpReport report;
    PatchBuilder builder;
    PeriodicTask periodic;
    std::vector<Tracepoint*> served; // tracepoints of the window that is being built
};

class JumpWriter {
public:
    JumpWriter(Tracees& tracees, Injector& injector, RuntimeLoader& loader)
        : tracees_(tracees), injector_(injector), loader_(loader)
    {
    }

    // Plans and writes jumps for the tracepoints in `fresh`, in one stop. Only
    // tracepoints without a jump remain in `fresh`.
    JumpReport plant(StoppedWorld& world, const std::shared_ptr<AddressSpace>& space,
                     std::vector<Tracepoint*>& fresh);
    // Plans and builds jumps, and writes their trampolines. If `world` is null, the
    // target is running, and no existing window may cover a site. `ready` is an error
    // if the runtime could not be loaded.
    void prepare(const std::shared_ptr<AddressSpace>& target, StoppedWorld* world,
                 const Result<Ok>& ready, const std::vector<Tracepoint*>& fresh,
                 JumpWork& work);
    // Writes the prepared jumps. Afterwards `fresh` contains only tracepoints without a
    // jump, including those that have lost their jump.
    void write(StoppedWorld& world, std::vector<Tracepoint*>& fresh, JumpWork& work);

    // Passes the changed list of probes of a tracepoint to the runtime. Adds sites for
    // further sessions. Returns false if the tracepoint has no jump, or if the runtime's
    // tables are full.
    bool update(AddressSpace& space, Tracepoint& tp);
    // Updates the tracepoints at which threads ask the agent. While the agent is kept
    // out (AwayState), they do not ask.
    void update_own(AddressSpace& space);
    // Updates the tracepoints at instructions that can make any system call.
    void update_calls(AddressSpace& space);
    // Removes the jumps that no probe needs any more. The tracepoints in `idle` have
    // just lost their probes.
    void remove(AddressSpace& space, const std::vector<Tracepoint*>& idle);
    // Frees the trampolines of removed jumps, unless a thread might be in one of them.
    void reclaim(AddressSpace& space);
    // Removes the sites of a session that no longer has probes. Another session must use
    // the runtime, and may_use_session() must be false for all threads.
    void drop_session(AddressSpace& space, unsigned session);

private:
    std::unique_ptr<Planted> build(AddressSpace& space, Window& window,
                                   const Taken& taken, JumpWork& work);
    bool claim(AddressSpace& space, std::uint32_t site, TargetAddr tail,
               Tracepoint& tp);
    bool update_session(AddressSpace& space, Tracepoint& tp, unsigned session);
    void unclaim(AddressSpace& space, const std::vector<Planted*>& unwritten,
                 JumpReport& report);
    void move_into_copies(AddressSpace& space, std::span<Planted* const> windows);
    Tracepoint* linker_tracepoint(AddressSpace& space);

    Tracees& tracees_;
    Injector& injector_;
    RuntimeLoader& loader_;
    std::vector<dt_rt_firing> firings_; // buffer of update()
};

constexpr const char* tables_full = "the tables of the runtime in the target are full";

// Separates a tracepoint from its sites in the runtime, because its jump is removed.
// The sites of the trampoline itself are freed with the window.
void disconnect(AddressSpace& space, Tracepoint& tp);
// Returns the sessions that have probes at the tracepoint.
SessionSet sessions_at(const Tracepoint& tp);
// Returns the session that the first site of a jump belongs to. If the tracepoint has no
// probes, this is any session except `ended`, because the agent itself uses the jump.
unsigned first_session(const AddressSpace& space, const Tracepoint& tp,
                       unsigned ended = max_sessions);
// Returns the window that covers a site, or null. An endbr64 is never moved, so the
// window of a site at an endbr64 begins after it. The window of a site at a system call
// ends before it.
Planted* window_over(const AddressSpace& space, const Tracepoint& tp);
// Sets the extent of a tracepoint. The extent consists of the tracepoint's instruction,
// and of the padding and return instructions after it.
void see_padding(const AddressSpace& space, Tracepoint& tp);

} // namespace dt::agent
