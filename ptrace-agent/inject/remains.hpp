// SPDX-License-Identifier: MIT
// The mappings that a killed agent has left in a target: runtime, arena, trampolines,
// slots and the handler for breakpoints. The text has been restored, so no thread enters
// them any more. They are unmapped once no thread can return to them.
//
// The target could have changed the lists that this class reads. So a range is unmapped
// only if its mappings are of the kind that an agent creates. A hostile target can make
// the agent unmap only memory of its own.
#pragma once

#include "ptrace-agent/inject/mapped_list.hpp"

#include <vector>

namespace dt::agent {

class Injector;
class StoppedWorld;
class Tracees;

class Remains {
public:
    // Adds what belongs to the runtime at this address. Does nothing if the runtime is
    // of another version or its agent was not killed.
    void add_runtime(AddressSpace& space, TargetAddr image);
    // Adds a handler for breakpoints (trap/rescue.hpp) or a page of slots
    // (trap/slots.hpp). Does nothing if there is none at the address.
    void add_rescue(AddressSpace& space, TargetAddr at);
    void add_slots(AddressSpace& space, TargetAddr page);
    // Unmaps everything, unless a thread can return to it. In that case, a later call
    // tries again.
    void unmap(StoppedWorld& world, const Tracees& tracees, Injector& injector);
    void forget_all() { ranges_.clear(); }

private:
    void add_code(AddressSpace& space, AddressRange range);

    std::vector<AddressRange> ranges_;
};

} // namespace dt::agent
