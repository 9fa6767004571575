// SPDX-License-Identifier: MIT
// The text mappings that the agent knows in one address space. A changed mapping may no
// longer contain the breakpoint or jump of a tracepoint. A uprobe of another tracer may
// have changed a jump. In both cases the agent forgets the tracepoint, and reports its
// probes in an event.
#pragma once

#include "base/target_addr.hpp"
#include "process/maps.hpp"
#include "ptrace-agent/wire/client.hpp"

#include <cstddef>
#include <sys/types.h>
#include <vector>

namespace dt::agent {

class AddressSpace;
class Tracepoint;

class KnownText {
public:
    // Records the mappings when the target is grabbed, before the client examines them.
    // `tid` is AddressSpace::proc_tid().
    void record_grab(pid_t tid);
    // Returns whether text was mapped or unmapped since record_grab(). Returns false if
    // the target was not grabbed.
    bool changed_since_grab(pid_t tid) const;

    // Forgets the breakpoints and jumps in text that was unmapped. Does not write to
    // text that is mapped there now.
    void forget_unmapped(AddressSpace& space);
    // The jumps that forget_changed() has removed.
    struct Changed {
        std::size_t n_by_uprobes = 0; // changed as uprobes change text
        std::size_t n_by_program = 0; // changed in another way
        bool linker = false;          // one of them was at the dynamic linker's r_brk
    };
    // Removes the jumps that no longer have exactly our bytes, and forgets their probes.
    // All threads must be stopped.
    Changed forget_changed(AddressSpace& space);
    // Returns the session's probes that were forgotten since the last call. The caller
    // reports them in an event.
    std::vector<ForgottenProbe> take_forgotten(unsigned session);
    bool has_forgotten() const { return !forgotten_.empty(); }

    // Called when this memory is no longer traced.
    void forget_all();

private:
    void forget(AddressSpace& space, Tracepoint& tp);
    void forget_gone_in(AddressSpace& space, TargetAddr from, TargetAddr end);
    void forget_probes_of(AddressSpace& space, const std::vector<TargetAddr>& windows);

    std::size_t at_grab_ = 0;       // text_mappings() at the grab, or 0 if not grabbed
    std::vector<Mapping> mappings_; // as forget_unmapped() last found them
    std::vector<ForgottenProbe> forgotten_;
};

} // namespace dt::agent
