// SPDX-License-Identifier: MIT
// A list, in the target's memory, of the mappings that the agent has created there. If
// the journal is full or cannot be mapped, the agent works without it. If
// the agent is killed, the next agent that attaches to the process finds the list and
// unmaps what is left (hold/left_mappings.hpp).
//
//   journal   | JournalHeader | JournalEntry ... |   r--, private
//
// The list is a write-ahead log, because the agent may be killed at any time:
//
//   unused ──> planned ──> mapped ──> leaving ──> unused
//              before      after      before      after
//              mmap(2)     mmap(2)    munmap(2)   munmap(2)
//
// The next agent recognizes a journal by its size, its protection, and the low bits of
// its address. So it also recognizes a journal to which the killed agent has not written
// anything.
//
// A forked child inherits a copy of the journal, and of the mappings in it. The header
// contains the process for which the journal was written, so that the copy in a child
// can be distinguished.
//
// The agent keeps its own copy of the entries. The target can change the entries in its
// memory.
#pragma once

#include "base/target_addr.hpp"
#include "process/maps.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <sys/types.h>
#include <vector>

namespace dt::agent {

class AddressSpace;

enum class Ours : std::uint32_t {
    runtime = 1,
    session,
    trampolines,
    slots,
    rescue,
    page
};
enum class EntryState : std::uint32_t { unused, planned, mapped, leaving };

struct JournalHeader {
    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t n; // number of entries, used or not
    std::uint64_t pid;
    std::uint64_t start_time; // of the process, in clock ticks since boot
};
struct JournalEntry {
    std::uint64_t at, bytes;
    std::uint64_t n_inherited; // a forked child inherits only these first bytes
    Ours kind;
    EntryState state;
};
static_assert(sizeof(JournalHeader) == 32 && sizeof(JournalEntry) == 32);

constexpr std::uint64_t journal_magic = 0x314c4e524a504d44; // "DMPJRNL1" in ASCII
constexpr std::uint32_t journal_version = 1;
constexpr std::uint64_t journal_bytes = 0x23000;
constexpr std::size_t max_journal_entries =
    (journal_bytes - sizeof(JournalHeader)) / sizeof(JournalEntry);

// Returns whether a mapping has the form of a journal.
bool is_journal(const Mapping& mapping);

// Returns the header of a journal of this process.
JournalHeader journal_header_for(pid_t pid);

class MappingJournal {
public:
    bool is_open() const { return at_.value != 0; }
    TargetAddr at() const { return at_; }
    // Returns whether an attempt to map the journal has failed, so that the agent does not
    // try again.
    bool is_refused() const { return refused_; }
    void refuse() { refused_ = true; }

    // Returns an address for the journal, or nothing if no address is free.
    static std::optional<TargetAddr> find_place(const std::vector<Mapping>& mappings);
    // Begins the journal, which the target has mapped at `at`. Returns false if it
    // cannot be written.
    bool open(AddressSpace& space, TargetAddr at);
    // Adopts the copy of the parent's journal in a forked child.
    bool inherit(AddressSpace& child, const MappingJournal& parent);
    void forget() { *this = {}; }

    // Returns an address for a mapping that may be anywhere. The address was free when
    // the journal was mapped. Returns 0 if there is no such address.
    TargetAddr next_place(std::uint64_t bytes);

    // Adds an entry, or changes the state of the entry that begins at `at`. If the
    // journal is full or not open, nothing is recorded.
    void add(AddressSpace& space, JournalEntry entry);
    void set_state(AddressSpace& space, TargetAddr at, EntryState state);
    bool is_empty() const;

private:
    void write_entry(AddressSpace& space, std::size_t index);
    bool write_header(AddressSpace& space);

    TargetAddr at_;
    bool refused_ = false;
    std::uint64_t next_ = 0; // offset from at_ of the next place
    std::vector<JournalEntry> entries_;
};

} // namespace dt::agent
