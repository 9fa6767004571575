// SPDX-License-Identifier: MIT
// Decides which sites get a jump, which form each jump has, and where its trampoline
// is. write_jumps.cpp writes the jumps. A listing (dtrace -lv) only reports them
// (dry_run.cpp).
#pragma once

#include "fasttrap/patch.hpp"
#include "process/maps.hpp"
#include "ptrace-agent/address_space.hpp"
#include "ptrace-agent/plant/periodic_task.hpp"

#include <string>
#include <unordered_map>
#include <vector>

namespace dt::agent {

// Memory for trampolines in a target. For a listing, it is only recorded and not
// mapped.
class Room {
public:
    enum class Holds { trampolines, stubs };

    virtual ~Room() = default;
    virtual std::vector<Mapping> mappings() = 0;
    // Maps exactly this range. If that is impossible, maps nothing and returns false.
    virtual bool map(TargetAddr at, std::uint64_t bytes, Holds holds) = 0;
};

// The place of a window's trampoline.
struct Taken {
    Placement place;
    std::size_t n_bytes = 0; // size of the trampoline, or 0 if there is no room
};

struct JumpPlan {
    // In ascending order. WindowInsn::site is an index in `wanted` of plan_jumps().
    std::vector<Window> windows;
    std::vector<Taken> taken; // one for each window
    // The reason why a site has no jump, by the site's address.
    std::unordered_map<TargetAddr, std::string> refused;
};

inline constexpr const char* no_room = "no free address space is within a jump's reach";

// Plans jumps for the tracepoints in `wanted`, and allocates room for each window in
// the TrampolineSpace. `wanted` is in ascending order. can_jump() (site_extents.hpp) is
// true for each tracepoint, and no existing window covers it.
JumpPlan plan_jumps(AddressSpace& space, Room& room,
                    const std::vector<Tracepoint*>& wanted, PeriodicTask& periodic);
// Builds the patch of a planned window. Returns the errors of PatchBuilder::build().
Result<Patch> build_patch(AddressSpace& space, const Window& window,
                          const Placement& place, PatchBuilder& builder);

} // namespace dt::agent
