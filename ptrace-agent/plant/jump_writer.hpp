// SPDX-License-Identifier: MIT
// Tracepoints become jumps: what was planned (jump_plan.hpp) is built, and written.
//
// Trampolines are built and written while the target runs; the jumps to them, and nothing
// else, while all threads stand still. Sites that cannot have a jump are left to the
// breakpoint, with the reason. A site inside a window that stands already has that window
// planned again, both sites together; then everything is done in one stop. A thread that stands
// inside a new window continues in the moved copy, at the instruction that it was about to
// run.
//
// Files: write_jumps.cpp; update_jumps.cpp for probes that change or go.
#pragma once

#include "ptrace-agent/inject/arena_map.hpp"
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

// The result for tracepoints that were planned to have jumps.
struct JumpReport {
    std::string note; // why there are none at all; "" when there are
    std::unordered_map<TargetAddr, std::string> reasons; // of those without one
    std::shared_ptr<void> spent; // freed when the threads run again: that takes a while
};

struct JumpWork {
    std::vector<Tracepoint*> wanted;    // ascending
    std::vector<Tracepoint*> displaced; // that had a jump before
    JumpReport report;
    PatchBuilder builder;
    PeriodicTask periodic;
    std::vector<Tracepoint*> served; // of the window that is being built
};

class JumpWriter {
public:
    JumpWriter(Tracees& tracees, Injector& injector, const ArenaMap& arena,
               RuntimeLoader& loader)
        : tracees_(tracees), injector_(injector), arena_(arena), loader_(loader)
    {
    }

    // Jumps for those of `fresh` that can have one, in one stop; the others stay in it.
    JumpReport plant(StoppedWorld& world, const std::shared_ptr<AddressSpace>& space,
                     std::vector<Tracepoint*>& fresh);
    // Everything but the jumps themselves. Without a world the target runs meanwhile, and
    // no window that stands is over one of the sites. ready: whether the runtime is loaded.
    void prepare(const std::shared_ptr<AddressSpace>& target, StoppedWorld* world,
                 const Result<Ok>& ready, const std::vector<Tracepoint*>& fresh,
                 JumpWork& work);
    // Tracepoints without a jump stay in fresh.
    void write(StoppedWorld& world, std::vector<Tracepoint*>& fresh, JumpWork& work);

    // The list of probes of a tracepoint has changed. False: it has no jump, or the tables
    // of the runtime are full.
    bool update(AddressSpace& space, const Tracepoint& tp);
    void remove(AddressSpace& space, const std::vector<Tracepoint*>& idle);
    void reclaim(AddressSpace& space); // trampolines that no thread is in

private:
    std::unique_ptr<Planted> build(AddressSpace& space, Window& window,
                                   const Taken& taken, JumpWork& work);
    bool claim(AddressSpace& space, std::uint32_t site, Tracepoint& tp);
    void unclaim(AddressSpace& space, const std::vector<Planted*>& odd,
                 JumpReport& report);
    void move_into_copies(AddressSpace& space, std::span<Planted* const> windows);
    Tracepoint* linker_tracepoint(AddressSpace& space);

    Tracees& tracees_;
    Injector& injector_;
    const ArenaMap& arena_;
    RuntimeLoader& loader_;
    std::vector<dt_rt_firing> firings_; // of the site that is being set up
};

// Returns the window that a site is in; null: none. An endbr64 stays in its place: the window
// with its probe begins after it.
Planted* window_over(const AddressSpace& space, const Tracepoint& tp);
// Takes what is empty around a site as its surroundings.
void see_padding(const AddressSpace& space, Tracepoint& tp);

} // namespace dt::agent
