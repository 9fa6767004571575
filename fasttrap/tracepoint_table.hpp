// SPDX-License-Identifier: MIT
// The table from (address space, address) to tracepoint.
//
// Firing looks a tracepoint up without a lock, under RCU; adding and removing take the
// table's mutex. The buckets are liburcu's cds_lfht; beside it stands a list per
// space, so that a fork, an exec or an exit walks that space's tracepoints only.
//
//   TracepointTable::ReadLock rcu;                  // cheap, nests, must not be slept
//   in if (TableEntry* entry = table.find(space, at))    // valid until rcu goes away
//
// Invariants
//   - An entry is in the buckets exactly when it is in its space's list.
//   - A removed entry is freed by reclaim(), after every ReadLock that could see it is
//     gone. Nothing here starts a thread: liburcu's own resize and call_rcu workers
//     would live in every user of this library, so add() resizes and reclaim() waits.
// Locks: mutex_ only. No ReadLock may be held when calling add(), reclaim() or ~.
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

// Whoever uses the table numbers its spaces. A process that execs has another one: the old
// one may live on in a child.
using SpaceId = std::uint32_t;

// From liburcu's node to the entry around it, without assuming the entry's layout.
struct TableLink {
    cds_lfht_node node;
    TableEntry* entry;
};

// Base of whatever a table holds. Key and links belong to the table.
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
    std::size_t index_ = 0; // in its space's list
    TableLink link_{};
};

class TracepointTable {
public:
    // Registers the thread with RCU on its first use.
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

    // Code::busy when the address has one already.
    Result<Ok> add(std::unique_ptr<TableEntry> entry);

    // So many more are coming: the buckets grow once.
    void expect(std::size_t n_more);

    // Under a ReadLock, or where nobody removes. Null when there is none.
    TableEntry* find(SpaceId space, TargetAddr at) const;

    // False when there is none. The entry lives on until reclaim().
    bool remove(SpaceId space, TargetAddr at);
    std::size_t remove_space(SpaceId space); // how many

    // Every entry of one space, in no order, under the mutex: visit must not add or
    // remove. To remove while walking, collect first.
    void for_each(SpaceId space, const std::function<void(TableEntry&)>& visit) const;
    std::size_t size() const;
    std::size_t size(SpaceId space) const;

    // Waits for readers and frees what was removed.
    void reclaim();

private:
    void unlink(TableEntry& entry); // mutex_ held
    void grow_to(std::size_t n);    // mutex_ held

    cds_lfht* buckets_;
    mutable std::mutex mutex_;
    std::size_t n_entries_ = 0;
    std::size_t n_buckets_;
    std::unordered_map<SpaceId, std::vector<TableEntry*>> by_space_;
    std::vector<std::unique_ptr<TableEntry>> removed_;
};

} // namespace dt
