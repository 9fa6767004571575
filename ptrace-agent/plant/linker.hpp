// SPDX-License-Identifier: MIT
// The dynamic linker of a target: when its list of objects changes, and a symbol of an
// object as it lies in memory.
//
// The linker calls an empty function, r_debug.r_brk, before and after it maps or unmaps
// objects, with r_debug.r_state telling which (<link.h>). A tracepoint there is how the
// agent sees dlopen() and dlclose().
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
class Thread;

// A dynamic symbol of the ELF object whose first page is mapped at base.
std::optional<TargetAddr> symbol_in(AddressSpace& space, TargetAddr base,
                                    std::string_view name);

// Where a thread's errno is, from its fs base. None: no libc that we know.
std::optional<std::int64_t> errno_offset(AddressSpace& space);

// An unmapped object took its breakpoints and jumps along; what is mapped there now is not
// ours.
void forget_unmapped(AddressSpace& space);

// Is a mapped file a C library (glibc, musl), by its name?
bool is_libc(const std::string& path);

// Watches the dynamic linkers of targets by a tracepoint in each.
class LinkerWatch {
public:
    LinkerWatch(JumpWriter& jumps, ClientWait& client_wait)
        : jumps_(jumps), client_wait_(client_wait)
    {
    }

    // Returns whether it has begun to watch the linker of this address space. With `later`
    // the caller writes the breakpoint.
    bool watch(StoppedWorld& world, std::vector<Tracepoint*>* later = nullptr);
    // Removes the breakpoint until probes are planted.
    static void forget(AddressSpace& space);
    // A thread is at the linker's report. Returns whether it must wait for the client.
    bool handle_change(Thread& thread);

private:
    JumpWriter& jumps_;
    ClientWait& client_wait_;
};

} // namespace dt::agent
