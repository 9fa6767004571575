// SPDX-License-Identifier: MIT
// The table that maps (address space, address) to a tracepoint. find() takes no lock
// and runs under RCU. The buckets are a cds_lfht of liburcu.
//
//   TracepointTable::ReadLock rcu;                    // can be nested; do not sleep
//   if (TableEntry* entry = table.find(space, at))    // valid until rcu is destroyed
//
// At the moment only one thread uses the table.
//
// Invariants
//   - An entry is in the buckets if and only if it is in the list of its space.
//   - reclaim() frees a removed entry after the end of each ReadLock that could have
//     found the entry.
//   - The table has no thread of its own. So add() resizes the table, and reclaim()
//     waits for readers.
//
// Locks: only mutex_. A thread that calls add(), reclaim() or the destructor must not
// hold a ReadLock.
#pragma once

#include "base/result.hpp"
#include "base/target_addr.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <urcu/urcu-memb.h>

#include <urcu/rculfhash.h>

namespace dt {

class TableEntry;

// A number for an address space, chosen by the user of the table. A process that execs
// gets a new number, because a child may still use the old space.
using SpaceId = std::uint32_t;

// A node of liburcu's table, with a pointer to the entry that contains the node.
struct TableLink {
    cds_lfht_node node;
    TableEntry* entry;
};

// Base class of the table's entries. The table sets index_ and link_.
class TableEntry {
public:
    TableEntry(SpaceId space, TargetAddr at) : space_(space), at_(at) {}
    TableEntry(const TableEntry&) = delete;
    TableEntry& operator=(const TableEntry&) = delete;
    virtual ~TableEntry() = default;

    SpaceId space() const { return space_; }
    TargetAddr at() const { return at_; }

private:
    friend class TracepointTable;
    SpaceId space_;
    TargetAddr at_;
    std::size_t index_ = 0; // index of the entry in the list of its space
    TableLink link_{};
};

class TracepointTable {
public:
    // Holds the RCU read lock. The first ReadLock of a thread registers the thread with
    // RCU.
    class ReadLock {
    public:
        ReadLock();
        ~ReadLock();
        ReadLock(const ReadLock&) = delete;
        ReadLock& operator=(const ReadLock&) = delete;
    };

    TracepointTable();
    ~TracepointTable();
    TracepointTable(const TracepointTable&) = delete;
    TracepointTable& operator=(const TracepointTable&) = delete;

    // Adds an entry. Returns Code::busy if the table already has an entry with the same
    // space and address.
    Result<Ok> add(std::unique_ptr<TableEntry> entry);

    // Grows the table once, for n_more entries that the caller is going to add.
    void expect(std::size_t n_more);

    // Returns the entry, or null if there is none. If another thread may remove
    // entries, the caller must hold a ReadLock.
    TableEntry* find(SpaceId space, TargetAddr at) const;

    // Removes the entry from the table; reclaim() frees it. Returns false if there is
    // no such entry.
    bool remove(SpaceId space, TargetAddr at);
    std::size_t remove_space(SpaceId space); // returns the number of removed entries

    // Calls visit for each entry of one space, in no particular order, under the mutex.
    // visit must not add or remove entries.
    void for_each(SpaceId space, const std::function<void(TableEntry&)>& visit) const;
    std::size_t size() const;
    std::size_t size(SpaceId space) const;

    // Waits for readers and frees the removed entries.
    void reclaim();

private:
    void unlink(TableEntry& entry); // the caller holds mutex_
    void grow_to(std::size_t n);    // the caller holds mutex_

    cds_lfht* buckets_;
    mutable std::mutex mutex_;
    std::size_t n_entries_ = 0;
    std::size_t n_buckets_;
    std::unordered_map<SpaceId, std::vector<TableEntry*>> by_space_;
    std::vector<std::unique_ptr<TableEntry>> removed_;
};

} // namespace dt
