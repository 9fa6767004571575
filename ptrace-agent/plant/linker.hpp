// SPDX-License-Identifier: MIT
// Detects when a target loads or unloads libraries, and finds symbols in mapped
// objects.
//
// The dynamic linker calls an empty function, r_debug.r_brk, before and after it maps
// or unmaps objects. r_debug.r_state shows what the linker is doing (<link.h>). The
// agent has a tracepoint at that function.
#pragma once

#include "ptrace-agent/address_space.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt::agent {

class ClientWait;
class JumpWriter;
class StoppedWorld;
struct Thread;

// Returns the address of a dynamic symbol of the ELF object whose first page is at
// `base`. Returns nothing if the object does not define the symbol or has no
// DT_GNU_HASH.
std::optional<TargetAddr> symbol_in(AddressSpace& space, TargetAddr base,
                                    std::string_view name);

// Returns whether a mapped file has the name of a C library (glibc or musl).
bool is_libc(const std::string& path);

// Watches the dynamic linkers of targets. Each linker has a tracepoint at r_brk.
class LinkerWatch {
public:
    LinkerWatch(JumpWriter& jumps, ClientWait& client_wait)
        : jumps_(jumps), client_wait_(client_wait)
    {
    }

    // Begins to watch the linker of this address space. Returns false if it is already
    // watched, or cannot be watched. If `later` is not null, the tracepoint is added to
    // `later`, and the caller plants it.
    bool watch(StoppedWorld& world, std::vector<Tracepoint*>* later = nullptr);
    // Removes the breakpoint in the linker. The next planting sets it again.
    static void forget(AddressSpace& space);
    // Handles a thread that has reached r_brk. Returns whether the thread must wait
    // until the consumer resumes it.
    bool handle_change(Thread& thread);
    // The same for a thread that has mapped a file as executable.
    bool handle_new_text(Thread& thread);

private:
    JumpWriter& jumps_;
    ClientWait& client_wait_;
};

} // namespace dt::agent
