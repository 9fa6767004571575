// SPDX-License-Identifier: MIT
// The tracepoints of one address space: the instructions at which the target has a
// breakpoint or a jump.
//
//   Tracepoints ──< Tracepoint (in the TracepointTable, by space number and address)
//                       └─< Firing: session, probe, kind, arg0
//
// Invariants
// - A byte of text is written only while it has the expected value: the original one
//   for planting, our breakpoint for restoring.
// - Tracepoint::original() is known as long as the breakpoint is in the text.
//
// This class writes breakpoints. JumpWriter writes jumps, and sets Tracepoint::site.
#pragma once

#include "base/target_addr.hpp"
#include "fasttrap/arch/arch.hpp"
#include "fasttrap/further_blocks.hpp"
#include "fasttrap/tracepoint_table.hpp"
#include "ptrace-agent/wire/client.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <sys/types.h>
#include <vector>

namespace dt::agent {

class AddressSpace;

struct Firing {
    std::uint32_t probe = 0;
    SiteKind kind = SiteKind::entry;
    std::uint8_t session = 0; // the session to which the probe belongs
    std::uint64_t arg0 = 0;
};

// Returns whether a firing is at a syscall instruction that can make any system call.
constexpr bool is_any_call(const Firing& firing)
{
    return (firing.kind == SiteKind::system_call ||
            firing.kind == SiteKind::system_return) &&
           (firing.arg0 & any_call) != 0;
}

class Tracepoint : public TableEntry {
public:
    Tracepoint(SpaceId space, TargetAddr at, const Instruction& insn)
        : TableEntry(space, at), insn(insn)
    {
    }

    // The agent's own purpose for a tracepoint, in addition to the probes.
    enum Purpose : std::uint8_t {
        fires,              // only fires probes; the agent itself does not need it
        library_change,     // the dynamic linker's r_brk
        sigaction_function, // libc's sigaction()
        sigaction_call,     // a program's own rt_sigaction(2)
        mask_call,          // rt_sigprocmask(2) in the program or in libc
        tracer_call,        // a system call that tracer_calls.hpp describes
        once,               // the address up to which the launcher runs a command
    };

    // Returns the byte that the breakpoint replaces.
    std::byte original() const { return insn.bytes[0]; }
    // Returns whether a jump here makes the thread ask the agent.
    bool is_own() const { return purpose == library_change || purpose == tracer_call; }
    bool serves() const { return !firings.empty() || purpose != fires; }
    bool fires_for(unsigned session) const
    {
        return std::any_of(
            firings.begin(), firings.end(),
            [session](const Firing& each) { return each.session == session; });
    }

    Instruction insn;
    std::vector<Firing> firings;
    Purpose purpose = fires;
    std::uint32_t call_number = 0;  // for tracer_call: the system call
    bool written = false;           // the breakpoint is in the text
    bool may_be_breakpoint = false; // gets a breakpoint if a jump is not possible there
    // The number of the site in the runtime, if this tracepoint has a jump.
    std::optional<std::uint32_t> site;
    // The sites of further sessions. The runtime reaches them after `site`, in this
    // order (DT_RT_LINKS).
    std::vector<std::uint32_t> links;
    // These ranges have the same meaning as in PatchSite.
    TargetAddr first, end, beyond;
    FurtherBlocks further{};
    TargetAddr loop_end;
    // The jump does not fire when a loop branches back to the instruction.
    bool led_past = false;
    bool no_stack = false;    // never gets a jump, because the stack may be full (Go)
    bool only_jump = false;   // never gets a breakpoint (the vDSO's loops)
    bool uses_memory = false; // its emulation reads or writes the target's memory
    std::optional<TargetAddr> copy; // a copy of the instruction, with a jump back
};

class Tracepoints {
public:
    Tracepoints(AddressSpace& space, TracepointTable& table);
    ~Tracepoints();
    Tracepoints(const Tracepoints&) = delete;
    Tracepoints& operator=(const Tracepoints&) = delete;

    Tracepoint* find(TargetAddr at) const; // null if the address has none
    // Adds a tracepoint, without writing its breakpoint. The address must not have a
    // tracepoint yet.
    Tracepoint& add(const Instruction& insn);
    void expect(std::size_t n_more) { table_.expect(n_more); } // makes add() faster
    std::size_t size() const { return table_.size(id_); }
    std::vector<Tracepoint*> all() const; // in ascending order
    // Returns the tracepoints that have no jump and are not in `but`. They have a
    // breakpoint, or are new. The result and `but` are in ascending order.
    std::vector<Tracepoint*> without_jump(std::span<Tracepoint* const> but = {});
    std::vector<Tracepoint*> without_jump(TargetAddr from, TargetAddr end);

    // These functions write or restore many breakpoints, and set `written`. They do not
    // change a byte that is not as expected. They return the tracepoints for which they
    // failed.
    std::vector<Tracepoint*> write_breakpoints(const std::vector<Tracepoint*>& all);
    std::vector<Tracepoint*> restore_originals(const std::vector<Tracepoint*>& all);
    void forget(Tracepoint& tracepoint); // the text must be restored or unmapped first

    // Restores the original bytes in a forked child, which has a copy of this memory.
    void restore_copy(pid_t child) const;
    void forget_all(); // called when this memory is no longer traced
    // Replaces our breakpoints with the original bytes, in bytes that were read from
    // address `from`.
    void overlay_original(TargetAddr from, std::span<std::byte> bytes) const;

private:
    std::vector<Tracepoint*> exchange(std::vector<Tracepoint*> all, bool plant);
    void sort_jumpless();
    void note_jumpless(TargetAddr at);

    AddressSpace& space_;
    SpaceId id_;
    TracepointTable& table_;
    // The addresses of all tracepoints without a jump. May also contain some that have
    // a jump or were removed.
    std::vector<TargetAddr> jumpless_;
    std::size_t n_sorted_ = 0; // elements of jumpless_ that are sorted
};

} // namespace dt::agent
