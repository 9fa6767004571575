// SPDX-License-Identifier: MIT
// Reads and writes the memory of a target. A process and its vfork children share one
// address space. An exec creates another one.
//
// An address space also owns everything with the same lifetime as the memory, for
// example the tracepoints and the runtime.
//
// Text may be written only while all threads are stopped. The callers ensure this
// (planter.cpp, releaser.cpp).
#pragma once

#include "base/fd.hpp"
#include "fasttrap/memory.hpp"
#include "ptrace-agent/hold/away_state.hpp"
#include "ptrace-agent/hold/wait_budget.hpp"
#include "ptrace-agent/inject/call_place.hpp"
#include "ptrace-agent/inject/errno_place.hpp"
#include "ptrace-agent/inject/mapping_journal.hpp"
#include "ptrace-agent/inject/native_code.hpp"
#include "ptrace-agent/inject/runtime_map.hpp"
#include "ptrace-agent/plant/known_text.hpp"
#include "ptrace-agent/plant/patches.hpp"
#include "ptrace-agent/plant/statics.hpp"
#include "ptrace-agent/plant/tracepoints.hpp"
#include "ptrace-agent/plant/watched_functions.hpp"
#include "ptrace-agent/trap/call_notes.hpp"
#include "ptrace-agent/trap/rescue.hpp"
#include "ptrace-agent/trap/slots.hpp"

#include <memory>
#include <span>
#include <sys/types.h>

namespace dt::agent {

// Whether the agent traces the threads that use an address space (hold/attendance.hpp).
enum class Presence : std::uint8_t {
    attached,
    away,    // the agent has detached; the jumps fire probes without it
    dormant, // the process has executed another program since the agent detached
};

struct UnwindState; // libunwind's state for this memory
struct DestroyUnwind {
    void operator()(UnwindState* state) const;
};

// Opens /proc/PID/mem for reading and writing. Returns an empty Fd if that fails.
Fd open_mem(pid_t pid);

class AddressSpace final : public TargetMemory {
public:
    AddressSpace(pid_t owner, TracepointTable& table);
    ~AddressSpace() override;

    pid_t owner() const { return owner_; }
    // Makes the process `to` the owner. Called when the previous owner has executed
    // another program while `to`, for example a vfork child, still runs in this memory.
    void hand_over(pid_t to);
    void reopen(); // reopens /proc/PID/mem after an exec that was not reported
    // Returns a thread id whose /proc files show this memory. This is usually the
    // owner's pid. If the main thread of that process has exited, it is the id of
    // another thread.
    pid_t proc_tid();

    // These functions respect page protections, except after hand_over() or after the
    // owner's exit. They return false if they have not transferred all bytes.
    bool read(TargetAddr from, std::span<std::byte> into) override;
    bool write(TargetAddr to, std::span<const std::byte> bytes) override;
    template <class T> bool read_value(TargetAddr from, T& into)
    {
        return read(from, std::as_writable_bytes(std::span(&into, 1)));
    }

    // These functions use /proc/PID/mem, which ignores page protections. They return
    // false if the address is not mapped, or if the process has exited.
    bool read_text(TargetAddr from, std::span<std::byte> into) const;
    bool write_text(TargetAddr to, std::span<const std::byte> bytes);
    int mem() const { return mem_.get(); } // /proc/PID/mem
    // Reads text as it was before the agent wrote breakpoints and jumps into it.
    bool read_original(TargetAddr from, std::span<std::byte> into) const;

    // Discards all information about this memory, for example after an exec.
    void forget_all();

    void clear_touched() { touched_ = false; }
    // Returns whether read() or write() was called since clear_touched().
    bool touched() const { return touched_; }

    // The objects that the agent has put into the target's memory.
    Tracepoints tracepoints;
    Patches patches;
    Statics statics;
    Slots slots;
    CallPlace call_place;
    MappingJournal journal;
    Rescue rescue;
    RuntimeMap runtime;
    NativeCode native;
    CallNotes calls{*this};

    // Facts about the program in this memory.
    KnownText known_text;
    WatchedFunctions watched;
    ErrnoPlace errno_place;
    std::unique_ptr<UnwindState, DestroyUnwind> unwind; // created by unwind.cpp

    // Whether the threads stop at PTRACE_EVENT_EXIT (TaskEvents).
    bool reports_exits = false;

    // What LeftMappings has found out about killed agents: whether the text contains
    // none of their patches, and whether some of their memory is still mapped.
    bool text_was_original = false;
    bool has_left_mappings = false;

    Presence presence = Presence::attached;
    AwayState away; // used only by Attendance

    WaitBudget budget; // shared by all waits for threads in this memory

private:
    pid_t owner_;
    // Whether hand_over() was called. If so, read() and write() use mem_, which refers
    // to this memory even if the new owner executes another program.
    bool handed_over_ = false;
    pid_t proc_tid_;
    Fd mem_;
    bool touched_ = false;
};

} // namespace dt::agent
