// SPDX-License-Identifier: MIT
// The memory of a target: its bytes, its tracepoints and the slots for copies.
//
//   AddressSpace ──< Tracepoint (in the TracepointTable, by number of the space, address)
//        │                └─< Firing: probe, kind, arg0
//        └── slots: an r-x page mapped in the target, one slot of slot_bytes per thread
//
// A process and its vfork children share one; an exec gets a new one. Text is read and
// written through /proc/PID/mem, which passes page protections, a page's worth at once.
//
// Invariants
//   - A byte is written only while it is what we think it is: the original when
//     planting, our breakpoint when restoring. Another debugger's byte stays.
//   - Tracepoint::original is set from before the breakpoint is written until after the
//     restore.
//   - A pc in a slot is never shown to the program: whoever stops a thread there moves
//     it out before anything else (Agent::leave_copy(), Agent::end_step()).
// Writing text wants all threads stopped; the callers (planter.cpp, releaser.cpp) see to
// it.
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
#include "ptrace-agent/inject/native_code.hpp"
#include "ptrace-agent/inject/runtime_map.hpp"
#include "ptrace-agent/plant/patches.hpp"
#include "ptrace-agent/plant/statics.hpp"
#include "ptrace-agent/trap/rescue.hpp"
#include "ptrace-agent/wire/client.hpp"

#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace dt::agent {

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

    // What a hit means to the agent itself.
    enum Purpose : std::uint8_t {
        fires,              // nothing else
        library_change,     // the dynamic linker's r_brk
        sigaction_function, // libc's sigaction()
        sigaction_call,     // a program's own rt_sigaction(2)
        once,               // create() runs the command to here
    };

    std::byte original() const { return insn.bytes[0]; }
    bool serves() const { return !firings.empty() || purpose != fires; }

    Instruction insn;
    std::vector<Firing> firings;
    Purpose purpose = fires;
    bool written = false;              // the breakpoint stands in the text
    bool may_be_breakpoint = false;    // Site::breakpoint: if no jump is possible
    std::optional<std::uint32_t> site; // a jump stands for it: number in the runtime
    TargetAddr first, end, beyond;     // how far its surroundings may be moved
    FurtherBlocks further{};
    TargetAddr loop_end;      // PatchSite::loop_end
    bool led_past = false;    // its jump makes branches back to here skip the head
    bool no_stack = false;    // nothing may be written below the stack pointer: no jump
    bool uses_memory = false; // its emulation reads or writes the target's memory
    TargetAddr copy;          // where the instruction itself stands, 0: nowhere
};

Fd open_mem(pid_t pid); // /proc/PID/mem, to read and write; closed: it cannot be had

class AddressSpace final : public TargetMemory {
public:
    AddressSpace(pid_t owner, TracepointTable& table);
    ~AddressSpace() override;

    pid_t owner() const { return owner_; }
    Rescue rescue;         // restores the text after the agent's death
    bool given_up = false; // it kept the agent waiting (deadlines.cpp)
    WaitBudget budget;     // for its threads
    // Its owner runs another program now, and this process lives on in here.
    void hand_over(pid_t to);
    bool let_fire(bool on); // in this process, not in its forked children
    void end_rseq(); // compiled code uses no restartable sequences in here, for good
    void reopen();   // after an exec that nobody was told of
    // A thread id whose /proc files show this memory: the owner's, or another thread's
    // when the leader ended before its threads.
    pid_t proc_tid();

    // Data, as the program could reach it itself. All or nothing.
    bool read(TargetAddr from, std::span<std::byte> into) override;
    bool write(TargetAddr to, std::span<const std::byte> bytes) override;
    template <class T> bool read_value(TargetAddr from, T& into)
    {
        return read(from, std::as_writable_bytes(std::span(&into, 1)));
    }

    // Through protections, by /proc/PID/mem. false: not mapped, or the process is gone.
    bool read_text(TargetAddr from, std::span<std::byte> into) const;
    bool write_text(TargetAddr to, std::span<const std::byte> bytes);
    int mem() const { return mem_.get(); } // /proc/PID/mem
    // Without our breakpoints.
    bool read_original(TargetAddr from, std::span<std::byte> into) const;

    Tracepoint* find(TargetAddr at) const;
    // Not yet written. The space's own, as Tracepoint::written says.
    Tracepoint& add(const Instruction& insn);
    void expect(std::size_t n_more) { table_.expect(n_more); } // adding is faster then
    std::size_t n_tracepoints() const { return table_.size(id_); }
    std::vector<Tracepoint*> tracepoints() const; // ascending by address
    // Those that have no jump, ascending: breakpoints, and what was added to become one or
    // the other. They are few where jumps can be.
    // but: of these, ascending, it is not asked.
    std::vector<Tracepoint*> without_jump(std::span<Tracepoint* const> but = {});
    std::vector<Tracepoint*> without_jump(TargetAddr from, TargetAddr end);

    // Writes or restores many breakpoints; sets written. Those whose byte is not as
    // expected are returned and left alone.
    std::vector<Tracepoint*> write_breakpoints(const std::vector<Tracepoint*>& all);
    std::vector<Tracepoint*> restore_originals(const std::vector<Tracepoint*>& all);
    void forget(Tracepoint& tracepoint); // restored or unmapped

    // Restores in a copy of this memory (a forked child): same bytes, other process.
    void restore_copy(pid_t child) const;
    // The process has another program now: nothing of ours is in it.
    void forget_all();

    // Slots. A page is added by the caller, who can make system calls in the target.
    void add_slot_page(TargetAddr page, std::size_t bytes);
    bool has_free_slot(pid_t tid) const;
    TargetAddr slot_of(pid_t tid); // has_free_slot() said yes
    void free_slot(pid_t tid);
    bool in_slots(TargetAddr at) const;

    // Copies that need no stop: the instruction, then a jump to the next one. Kept until
    // the slots go; false when no slot is free.
    bool make_copy(Tracepoint& tp);
    const Instruction* copy_at(TargetAddr at) const; // whose copy begins there
    std::vector<std::pair<TargetAddr, std::size_t>> slot_pages;

    Patches patches;
    Statics statics;
    RuntimeMap runtime;
    NativeCode native;
    // fs_bases that several threads may share.
    struct SharedBase {
        std::vector<pid_t> tids;
        std::uint32_t n_asked = 0; // upcalls for an identity
    };
    std::unordered_map<std::uint64_t, SharedBase> shared_bases;
    std::set<TargetAddr> common_areas; // text whose windows have one area
    std::string no_runtime;            // why it cannot be put into it; "" when it can
    std::string no_injection; // why no system call can be made in it; "" when it can
    TargetAddr stub;          // where call_stub() was written, 0: nowhere
    void remove_stub();       // the zeros again
    void remove_stub_in(pid_t child) const;
    TargetAddr syscall_insn;   // an existing `syscall` instruction, 0: not looked for
    TargetAddr link_debug;     // the dynamic linker's struct r_debug, 0: none
    TargetAddr linker_stop;    // its r_brk, as far as it was watched
    std::size_t text_seen = 0; // text_mappings() when the target was grabbed
    std::vector<Mapping> text_known;       // as forget_unmapped() saw it
    std::vector<ForgottenProbe> forgotten; // no event has told of them yet
    bool sigaction_watched = false;
    bool errno_sought = false;
    std::optional<std::int64_t> errno_at; // from the thread's fs base
    void* unwind = nullptr; // struct Unwinder's state, owned by unwind.cpp

private:
    std::vector<Tracepoint*> exchange(std::vector<Tracepoint*> all, bool plant);
    void sort_jumpless();
    void note_jumpless(TargetAddr at);

    SpaceId id_;
    pid_t owner_;
    bool handed_over_ = false; // the speaker's memory may be another one day
    pid_t proc_tid_;
    TracepointTable& table_;
    Fd mem_;
    std::vector<TargetAddr> free_slots_;
    std::unordered_map<pid_t, TargetAddr> slots_;
    std::unordered_map<TargetAddr, Instruction> copies_; // by slot
    std::unordered_map<TargetAddr, TargetAddr> copied_;  // site to slot
    // Addresses of tracepoints without a jump, and of some that got one or went.
    std::vector<TargetAddr> jumpless_;
    std::size_t n_sorted_ = 0; // of them
    bool touched_ = false;     // by read() or write()

public:
    void clear_touched() { touched_ = false; }
    bool touched() const { return touched_; }
};

} // namespace dt::agent
