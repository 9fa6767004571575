// SPDX-License-Identifier: MIT
#include "fasttrap/tracepoint_table.hpp"

#include <bit>
#include <cassert>
#include <cstdint>

namespace dt {

namespace {

constexpr std::size_t first_buckets = 1024;

// Registers a thread as a reader, from its first ReadLock until it exits.
struct ReaderThread {
    ReaderThread() { urcu_memb_register_thread(); }
    ~ReaderThread() { urcu_memb_unregister_thread(); }
};

struct Key {
    SpaceId space;
    TargetAddr at;
};

// Maps neighbouring addresses to neighbouring buckets. Tracepoints are added in address
// order, so this avoids cache misses. A bucket covers 8 bytes of text.
unsigned long hash_of(SpaceId space, TargetAddr at)
{
    constexpr std::uint64_t odd = 0x9e3779b97f4a7c15ULL;
    return (at.value >> 3) + (static_cast<std::uint64_t>(space) * odd >> 32);
}

} // namespace

TracepointTable::ReadLock::ReadLock()
{
    thread_local ReaderThread registered;
    urcu_memb_read_lock();
}

TracepointTable::ReadLock::~ReadLock()
{
    urcu_memb_read_unlock();
}

TracepointTable::TracepointTable()
    : buckets_(cds_lfht_new_flavor(first_buckets, first_buckets, 0, 0,
                                   &urcu_memb_flavor, nullptr)),
      n_buckets_(first_buckets)
{
    assert(buckets_ != nullptr);
}

TracepointTable::~TracepointTable()
{
    std::vector<SpaceId> spaces;
    for (const auto& [space, entries] : by_space_)
        spaces.push_back(space);
    for (SpaceId space : spaces)
        remove_space(space);
    reclaim();
    [[maybe_unused]] int failed = cds_lfht_destroy(buckets_, nullptr);
    assert(failed == 0);
}

static TableEntry* entry_of(cds_lfht_node* node)
{
    // `node` is the first member of TableLink.
    return reinterpret_cast<TableLink*>(node)->entry;
}

static int matches(cds_lfht_node* node, const void* key)
{
    const auto* wanted = static_cast<const Key*>(key);
    const TableEntry* entry = entry_of(node);
    return entry->space() == wanted->space && entry->at() == wanted->at ? 1 : 0;
}

static TableEntry* look_up(cds_lfht* buckets, SpaceId space, TargetAddr at)
{
    Key key{space, at};
    cds_lfht_iter iter;
    cds_lfht_lookup(buckets, hash_of(space, at), matches, &key, &iter);
    cds_lfht_node* node = cds_lfht_iter_get_node(&iter);
    return node == nullptr ? nullptr : entry_of(node);
}

void TracepointTable::grow_to(std::size_t n)
{
    if (n <= n_buckets_)
        return;
    n_buckets_ = std::bit_ceil(n);
    cds_lfht_resize(buckets_, n_buckets_);
}

void TracepointTable::expect(std::size_t n_more)
{
    std::lock_guard lock(mutex_);
    grow_to(n_entries_ + n_more);
}

Result<Ok> TracepointTable::add(std::unique_ptr<TableEntry> entry)
{
    std::lock_guard lock(mutex_);
    TableEntry* added = entry.get();
    Key key{added->space_, added->at_};
    {
        ReadLock rcu;
        cds_lfht_node_init(&added->link_.node);
        added->link_.entry = added;
        if (cds_lfht_add_unique(buckets_, hash_of(key.space, key.at), matches, &key,
                                &added->link_.node) != &added->link_.node)
            return Error{Code::busy, "add a tracepoint: the address already has one"};
    }
    std::vector<TableEntry*>& own = by_space_[added->space_];
    added->index_ = own.size();
    own.push_back(entry.release());
    if (++n_entries_ > n_buckets_)
        grow_to(4 * n_buckets_);
    return Ok{};
}

TableEntry* TracepointTable::find(SpaceId space, TargetAddr at) const
{
    ReadLock rcu; // nests in the caller's ReadLock
    return look_up(buckets_, space, at);
}

void TracepointTable::unlink(TableEntry& entry)
{
    {
        ReadLock rcu;
        [[maybe_unused]] int failed = cds_lfht_del(buckets_, &entry.link_.node);
        assert(failed == 0);
    }
    auto own = by_space_.find(entry.space_);
    TableEntry* last = own->second.back();
    own->second[entry.index_] = last;
    last->index_ = entry.index_;
    own->second.pop_back();
    if (own->second.empty())
        by_space_.erase(own);
    --n_entries_;
    removed_.emplace_back(&entry);
}

bool TracepointTable::remove(SpaceId space, TargetAddr at)
{
    std::lock_guard lock(mutex_);
    TableEntry* entry = find(space, at);
    if (entry == nullptr)
        return false;
    unlink(*entry);
    return true;
}

std::size_t TracepointTable::remove_space(SpaceId space)
{
    std::lock_guard lock(mutex_);
    std::size_t n_removed = 0;
    for (auto own = by_space_.find(space); own != by_space_.end();
         own = by_space_.find(space)) {
        unlink(*own->second.back());
        ++n_removed;
    }
    return n_removed;
}

void TracepointTable::for_each(SpaceId space,
                               const std::function<void(TableEntry&)>& visit) const
{
    std::lock_guard lock(mutex_);
    auto own = by_space_.find(space);
    if (own == by_space_.end())
        return;
    for (TableEntry* entry : own->second)
        visit(*entry);
}

std::size_t TracepointTable::size() const
{
    std::lock_guard lock(mutex_);
    return n_entries_;
}

std::size_t TracepointTable::size(SpaceId space) const
{
    std::lock_guard lock(mutex_);
    auto own = by_space_.find(space);
    return own == by_space_.end() ? 0 : own->second.size();
}

void TracepointTable::reclaim()
{
    std::vector<std::unique_ptr<TableEntry>> freed;
    {
        std::lock_guard lock(mutex_);
        freed.swap(removed_);
    }
    if (!freed.empty())
        urcu_memb_synchronize_rcu();
}

} // namespace dt
