// SPDX-License-Identifier: MIT
// One round of draining: copies the records of all shards, checks them and sorts them
// by time.
//
//   collect()  checks the headers of one shard's records, and stores the time, offset
//              and ECB of each record
//   order()    merges the records of all shards in chronological order
//   records()  returns the merged records
//   hold()     keeps the unprocessed records for the next round
//
// Targets cannot write to the copy. If a record matches no clause, the rest of its
// shard's copy is discarded.
#pragma once

#include "libdtrace/consume/ecb_table.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

namespace dt {

struct RoundRecord {
    std::uint64_t timestamp;
    std::uint64_t offset; // in the round's buffer
    EcbState* ecb;
    std::uint32_t bytes;
    std::uint16_t cpu;
    std::uint16_t flags; // DT_REC_*
};

// Memory that grows without being zeroed.
class ByteBuffer {
public:
    // Returns the address of at least `bytes` free bytes, or null if out of memory.
    std::byte* room(std::size_t bytes);
    void use(std::size_t bytes) { used_ += bytes; }
    void clear() { used_ = 0; }
    std::size_t used() const { return used_; }
    std::byte* data() { return data_.get(); }

private:
    struct Free {
        void operator()(std::byte* p) const { std::free(p); }
    };
    std::unique_ptr<std::byte, Free> data_;
    std::size_t used_ = 0, capacity_ = 0;
};

class Round {
public:
    // Returns the place for the next shard's records, or null if out of memory.
    std::byte* room(std::size_t bytes) { return buffer_.room(bytes); }
    // Adds the records that were copied to room() at the time `now`. Returns false if a
    // record is invalid. A timestamp far in the future becomes `now`, because its
    // record would otherwise wait forever.
    bool collect(std::size_t bytes, std::uint32_t arena, std::uint32_t shard,
                 EcbTable& ecbs, std::uint64_t now);
    void order();

    std::span<const RoundRecord> records() const { return records_; }
    std::size_t held_bytes() const { return buffer_.used(); }
    std::span<const std::byte> bytes(const RoundRecord& record)
    {
        return {buffer_.data() + record.offset, record.bytes};
    }
    // Forgets the records before `first`, and keeps the rest for the next round.
    void hold(std::size_t first);

private:
    void add_run(std::size_t begin);

    ByteBuffer buffer_, spare_;
    std::vector<RoundRecord> records_, merged_;
    std::vector<std::size_t> runs_; // start of each sorted run
};

} // namespace dt
