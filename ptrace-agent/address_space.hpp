// SPDX-License-Identifier: MIT
// The memory of a target: its bytes and its tracepoints.
//
//   AddressSpace ──< Tracepoint (in the TracepointTable, by space number and address)
//                         └─< Firing: probe, kind, arg0
//
// A process and its vfork children share one address space. An exec creates another
// one. Text is read and written through /proc/PID/mem, which ignores page protections,
// at most one page at a time.
//
// Invariants
//   - A byte of text is written only while it has the expected value: the original one
//     for planting, our breakpoint for restoring. A byte that another debugger has
//     written stays.
//   - Tracepoint::original() is known from before the breakpoint is written until after
//     the byte is restored.
//
// Text may be written only while all threads are stopped. The callers ensure this
// (planter.cpp, releaser.cpp).
#pragma once

#include "base/fd.hpp"
#include "base/result.hpp"
#include "fasttrap/arch/arch.hpp"
#include "fasttrap/further_blocks.hpp"
#include "fasttrap/memory.hpp"
#include "fasttrap/tracepoint_table.hpp"
#include "process/maps.hpp"
#include "process/proc_files.hpp"
#include "ptrace-agent/hold/wait_budget.hpp"
#include "ptrace-agent/inject/call_place.hpp"
#include "ptrace-agent/inject/errno_place.hpp"
#include "ptrace-agent/inject/native_code.hpp"
#include "ptrace-agent/inject/runtime_map.hpp"
#include "ptrace-agent/plant/known_text.hpp"
#include "ptrace-agent/plant/patches.hpp"
#include "ptrace-agent/plant/statics.hpp"
#include "ptrace-agent/plant/watched_functions.hpp"
#include "ptrace-agent/trap/rescue.hpp"
#include "ptrace-agent/trap/slots.hpp"
#include "ptrace-agent/wire/client.hpp"

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace dt::agent {

struct UnwindState;
struct DestroyUnwind {
    void operator()(UnwindState* state) const;
};

struct Firing {
    std::uint32_t probe = 0;
    SiteKind kind = SiteKind::entry;
    std::uint64_t arg0 = 0;
};

class Tracepoint : public TableEntry {
public:
    Tracepoint(SpaceId space, TargetAddr at, const Instruction& insn)
        : TableEntry(space, at), insn(insn)
    {
    }

    // The agent's own use of a hit.
    enum Purpose : std::uint8_t {
        fires,              // none: a hit only fires probes
        library_change,     // the dynamic linker's r_brk
        sigaction_function, // libc's sigaction()
        sigaction_call,     // a program's own rt_sigaction(2)
        once,               // the address to which create() runs the command
    };

    // Returns the byte that the breakpoint replaces.
    std::byte original() const { return insn.bytes[0]; }
    bool serves() const { return !firings.empty() || purpose != fires; }

    Instruction insn;
    std::vector<Firing> firings;
    Purpose purpose = fires;
    bool written = false;           // the breakpoint is in the text
    bool may_be_breakpoint = false; // Site::breakpoint: allowed if no jump is possible
    std::optional<std::uint32_t> site; // its number in the runtime, if it has a jump
    TargetAddr first, end, beyond;     // as in PatchSite, also the next two
    FurtherBlocks further{};
    TargetAddr loop_end;
    bool led_past = false; // a loop that branches back to here does not fire its jump
    bool no_stack = false; // no jump: the bytes below the stack pointer are in use
    bool uses_memory = false;       // its emulation reads or writes the target's memory
    std::optional<TargetAddr> copy; // a copy of the instruction that jumps back
};

// Opens /proc/PID/mem to read and write. Returns an empty Fd if that fails.
Fd open_mem(pid_t pid);

class AddressSpace final : public TargetMemory {
public:
    AddressSpace(pid_t owner, TracepointTable& table);
    ~AddressSpace() override;

    pid_t owner() const { return owner_; }
    Rescue rescue; // restores the text after the agent's death
    // Makes another process the owner. Called when the owner has executed another
    // program, and this process still runs in the memory.
    void hand_over(pid_t to);
    void reopen(); // opens the memory after an exec that was not reported
    // Returns a thread id whose /proc files show this memory: the owner's, or another
    // thread's if the leader exited before its threads.
    pid_t proc_tid();

    // Read and write data, with the program's own access rights. They transfer all
    // bytes, or return false.
    bool read(TargetAddr from, std::span<std::byte> into) override;
    bool write(TargetAddr to, std::span<const std::byte> bytes) override;
    template <class T> bool read_value(TargetAddr from, T& into)
    {
        return read(from, std::as_writable_bytes(std::span(&into, 1)));
    }

    // Read and write despite page protections, by /proc/PID/mem. They return false if
    // the address is not mapped, or if the process has exited.
    bool read_text(TargetAddr from, std::span<std::byte> into) const;
    bool write_text(TargetAddr to, std::span<const std::byte> bytes);
    int mem() const { return mem_.get(); } // /proc/PID/mem
    // Reads text as it was before breakpoints and jumps of ours were written.
    bool read_original(TargetAddr from, std::span<std::byte> into) const;

    Tracepoint* find(TargetAddr at) const; // null if the address has none
    // Adds a tracepoint, without writing its breakpoint. The address must have none
    // yet. The space keeps it until forget().
    Tracepoint& add(const Instruction& insn);
    void expect(std::size_t n_more) { table_.expect(n_more); } // makes add() faster
    std::size_t n_tracepoints() const { return table_.size(id_); }
    std::vector<Tracepoint*> tracepoints() const; // ascending by address
    // Returns the tracepoints that have no jump, ascending by address: breakpoints, and
    // new ones that will become a breakpoint or a jump. Usually they are few. `but`
    // (ascending) is left out.
    std::vector<Tracepoint*> without_jump(std::span<Tracepoint* const> but = {});
    std::vector<Tracepoint*> without_jump(TargetAddr from, TargetAddr end);

    // Write or restore many breakpoints, and set `written`. If a byte in the text is
    // not as expected, it is not changed, and its tracepoint is returned.
    std::vector<Tracepoint*> write_breakpoints(const std::vector<Tracepoint*>& all);
    std::vector<Tracepoint*> restore_originals(const std::vector<Tracepoint*>& all);
    void forget(Tracepoint& tracepoint); // after its text was restored or unmapped

    // Restores the breakpoints in a forked child, which has a copy of this memory.
    void restore_copy(pid_t child) const;
    // Forgets everything in the memory, after the process has executed another program.
    void forget_all();

    Slots slots;
    CallPlace call_place;
    Patches patches;
    Statics statics;
    RuntimeMap runtime;
    NativeCode native;
    KnownText known_text;
    WatchedFunctions watched;
    ErrnoPlace errno_place;
    WaitBudget budget;                                  // for waits for its threads
    std::unique_ptr<UnwindState, DestroyUnwind> unwind; // created by unwind.cpp

private:
    std::vector<Tracepoint*> exchange(std::vector<Tracepoint*> all, bool plant);
    void sort_jumpless();
    void note_jumpless(TargetAddr at);

    SpaceId id_;
    pid_t owner_;
    bool handed_over_ = false; // the owner may exec and leave this memory
    pid_t proc_tid_;
    TracepointTable& table_;
    Fd mem_;
    // The addresses of all tracepoints without a jump, and of some that have a jump now
    // or were removed.
    std::vector<TargetAddr> jumpless_;
    std::size_t n_sorted_ = 0; // the first n_sorted_ of them are sorted
    bool touched_ = false;     // read() or write() was called

public:
    void clear_touched() { touched_ = false; }
    bool touched() const { return touched_; }
};

} // namespace dt::agent
