// SPDX-License-Identifier: MIT
// One round of draining: records of all shards, copied out, checked, in order of time.
//
//   collect()  shard by shard: copy, check each header, note (time, place, ECB)
//   order()    merge the shards' runs by time
//   records()  those below the watermark; the rest waits in hold() for the next round
//
// The copy is ours, so a header is checked and used without a target in between. What a
// shard's copy holds after the first record that fits no clause is thrown away.
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
    std::uint64_t offset; // in the round's bytes
    EcbState* ecb;
    std::uint32_t bytes;
    std::uint16_t cpu;
    std::uint16_t flags; // DT_REC_*
};

// Memory that grows without being zeroed; pages that nothing was drained into cost
// nothing.
class ByteBuffer {
public:
    // At least this much room after used().
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
    // Where the next shard's records are to be copied; null: no memory.
    std::byte* room(std::size_t bytes) { return buffer_.room(bytes); }
    // The next shard's copy is there, made at `now`. False: it held a record that cannot
    // be. A time far in the future is taken as now: it would be held back forever.
    bool collect(std::size_t bytes, std::uint32_t shard, EcbTable& ecbs,
                 std::uint64_t now);
    void order();

    std::span<const RoundRecord> records() const { return records_; }
    std::size_t held_bytes() const { return buffer_.used(); } // of all records
    std::span<const std::byte> bytes(const RoundRecord& record)
    {
        return {buffer_.data() + record.offset, record.bytes};
    }
    // Keeps records from this one on for the next round, forgets the others.
    void hold(std::size_t first);

private:
    void add_run(std::size_t begin);

    ByteBuffer buffer_, spare_;
    std::vector<RoundRecord> records_, merged_;
    std::vector<std::size_t> runs_; // where each sorted run begins
};

} // namespace dt
