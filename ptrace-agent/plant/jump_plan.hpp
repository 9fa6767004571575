// SPDX-License-Identifier: MIT
// Which sites get a jump, of which form, and where its trampoline stands: what planting
// does then, and what a listing only tells (update_jumps.cpp, planter.cpp).
#pragma once

#include "fasttrap/patch.hpp"
#include "process/maps.hpp"
#include "ptrace-agent/address_space.hpp"
#include "ptrace-agent/plant/periodic_task.hpp"

#include <string>
#include <unordered_map>
#include <vector>

namespace dt::agent {

// Memory of a target for trampolines: mapped in it, or only thought of.
class Room {
public:
    enum class Holds { trampolines, stubs };

    virtual ~Room() = default;
    virtual std::vector<Mapping> mappings() = 0;
    // There or not at all.
    virtual bool map(TargetAddr at, std::uint64_t bytes, Holds holds) = 0;
};

struct Taken {
    Placement place;
    std::size_t n_bytes = 0; // for the trampoline; 0: no place was found
};

struct JumpPlan {
    std::vector<Window> windows; // ascending; sites have the indices of what was wanted
    std::vector<Taken> taken;    // for each window
    std::unordered_map<TargetAddr, std::string> refused; // by site: why it has no jump
};

inline constexpr const char* no_room = "no room within a jump's reach";

bool can_jump(const Tracepoint& tp);
// wanted: ascending, each can_jump(), no window stands over one. Takes room of the space's
// TrampolineSpace for each window.
JumpPlan plan_jumps(AddressSpace& space, Room& room,
                    const std::vector<Tracepoint*>& wanted, PeriodicTask& periodic);
Result<Patch> build_patch(AddressSpace& space, const Window& window,
                          const Placement& place, PatchBuilder& builder);

} // namespace dt::agent
