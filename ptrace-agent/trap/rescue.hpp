// SPDX-License-Identifier: MIT
// Keeps a target alive when the agent is killed while breakpoints are in its text.
//
//   region   | code | RescueHeader | RescueSlot ... | table A | table B |   r-x
//
// A target with breakpoints has a SIGTRAP handler (rescue_code.S) in this region. While
// the agent lives, the handler passes the program's own SIGTRAPs on to the program's
// handler. After the agent's death, the first hit of a breakpoint restores all
// displaced bytes. TrapSignals installs the handler, and hides it from sigaction().
//
// Invariants
// - A breakpoint is in the table before it is in the text.
// - Only the table that is not in use is written. The header is then switched to it.
// - A slot's record is complete before a thread's pc is in the slot.
// - The agent never reads back the contents of the region.
//
// Not protected
// - a process in which a thread hits a breakpoint while SIGTRAP is blocked in the
//   kernel. The kernel kills the process, and the agent cannot report this case.
//   TrapMask keeps SIGTRAP unblocked, except in the cases that trap_mask.hpp lists
// - a program in which the handler cannot be installed, for example because the program
//   ignores SIGTRAP or runs under seccomp
// - breakpoints after the first max_entries
// - a thread that steps in a slot after the first max_rescue_slots
#pragma once

#include "base/target_addr.hpp"
#include "fasttrap/displaced.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace dt::agent {

class AddressSpace;
class Tracepoint;

// The agent stores this value ("DTrp" in ASCII) in si_errno of a pending SIGTRAP when
// it sets the pc back to the breakpoint. si_addr then contains the breakpoint's
// address.
constexpr std::int32_t hit_magic = 0x44547270;

constexpr std::uint64_t sig_ignore = 1; // the kernel's value for SIG_IGN

struct RescueEntry {
    std::uint64_t at;       // address of the breakpoint
    std::uint64_t original; // the displaced byte
};

// The number of pages of slots (slots.hpp) for which the region has records.
constexpr std::size_t max_rescue_pages = 8;
constexpr std::size_t slots_per_page = 512;
constexpr std::size_t max_rescue_slots = max_rescue_pages * slots_per_page;
struct RescueHeader {
    std::uint64_t table, n;        // address and number of entries of the table in use
    std::uint64_t program_handler; // 0: SIG_DFL, 1: SIG_IGN
    std::uint64_t slot_pages[max_rescue_pages];
    std::uint64_t program_mask; // signals that the program's handler adds to the mask
    // The rest of the program's action for the kernel. The handler does not read it. The
    // next agent restores the action after the agent's death.
    std::uint64_t program_flags, program_restorer, program_own_mask;
};
static_assert(offsetof(RescueHeader, program_handler) == 16);
static_assert(offsetof(RescueHeader, slot_pages) == 24);
static_assert(offsetof(RescueHeader, program_mask) == 88);

// The program's handler for SIGTRAP.
struct ProgramHandler {
    std::uint64_t handler = 0; // 0: SIG_DFL, 1: SIG_IGN
    std::uint64_t mask = 0;    // signals to block while the handler runs
    // The members of the program's action. The restorer is 0 if it is unknown.
    std::uint64_t flags = 0, restorer = 0, own_mask = 0;
};

// The record of a step: how to finish it, or undo it, if the agent dies.
struct RescueSlot {
    enum : std::uint8_t { syscall = 1, access_only = 2, has_mask = 4 };
    std::uint64_t site; // 0: no step is under way
    std::uint64_t next; // address of the next instruction
    std::uint64_t mask; // signal mask to restore
    // Registers that the copy uses as scratch: offsets in struct ucontext (0: none),
    // and the values to restore.
    std::uint32_t spare_at[2];
    std::uint64_t saved[2];
    std::uint8_t copy_length, flags;
    std::uint8_t pad[14];
};
static_assert(sizeof(RescueSlot) == 64 && offsetof(RescueSlot, copy_length) == 48);

class Rescue {
public:
    static constexpr std::size_t max_entries = 65536;
    static std::size_t region_bytes();

    bool installed() const { return at_.value != 0; }
    // Records why the target has no rescue. A note shows the reason to the user.
    void refuse(std::string why) { refusal_ = std::move(why); }
    TargetAddr at() const { return at_; }
    TargetAddr handler() const { return at_; }
    TargetAddr restorer() const;
    bool contains(TargetAddr pc) const;

    // Reads the program's action from the region of a killed agent. Returns nothing if
    // the region does not begin with the code of this version's handler. The target may
    // have forged the contents.
    static std::optional<ProgramHandler> left_at(const AddressSpace& space,
                                                 TargetAddr at);

    // Fills the region, which the target has mapped at `at`, and protects the
    // breakpoints that already exist. Returns false if the region cannot be written.
    bool install(AddressSpace& space, TargetAddr at, ProgramHandler program);
    void forget() { *this = {}; }
    void set_program_handler(AddressSpace& space, ProgramHandler program);
    // Returns whether the program has set a handler, before install() or later. The
    // handler may still be running, and then it may return through restorer().
    bool handler_was_set() const { return handler_was_set_; }
    // Adds breakpoints to the handler's table. Called before they are written.
    void protect(AddressSpace& space, std::span<Tracepoint* const> all);
    void add_slot_page(AddressSpace& space, TargetAddr page);
    // Returns the number of slots that were added since the last call and that the
    // handler does not know. The handler does not know a slot if the slot's page is
    // beyond max_rescue_pages, or if the header could not be written.
    std::size_t take_unknown_slots() { return std::exchange(n_unknown_slots_, 0); }
    // Records a step. Called before the thread's pc is in the slot. `mask` is the
    // signal mask to restore after the step, if the step changes it.
    void begin_step(AddressSpace& space, const Displaced& plan, const SlotRun& run,
                    std::optional<std::uint64_t> mask);
    // Returns notes for the user about breakpoints that would kill the process if the
    // agent were killed. These are the breakpoints that protect() could not add since
    // the last call of take_notes(). If the target has no rescue, they are the
    // breakpoints in `fresh`.
    std::vector<std::string> take_notes(AddressSpace& space,
                                        std::span<Tracepoint* const> fresh);

private:
    void take_handler(ProgramHandler program);
    bool write_header(AddressSpace& space);

    TargetAddr at_;
    RescueHeader header_{};
    bool handler_was_set_ = false;
    bool second_ = false;              // table B is in use
    std::vector<RescueEntry> entries_; // ascending
    std::size_t n_unprotected_ = 0;    // unprotected breakpoints since take_notes()
    std::size_t n_unknown_slots_ = 0;
    std::string refusal_; // empty if refuse() was not called
};

} // namespace dt::agent
