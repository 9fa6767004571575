// SPDX-License-Identifier: MIT
// Collects the records of one round of draining, and merges them by time.
#include "libdtrace/consume/round.hpp"

#include <algorithm>
#include <cstring>

namespace dt {

std::byte* ByteBuffer::room(std::size_t bytes)
{
    if (capacity_ - used_ < bytes) {
        std::size_t wanted = std::max(used_ + bytes, 2 * capacity_);
        auto* grown = static_cast<std::byte*>(std::realloc(data_.get(), wanted));
        if (!grown)
            return nullptr;
        (void)data_.release();
        data_.reset(grown);
        capacity_ = wanted;
    }
    return data_.get() + used_;
}

static bool earlier(const RoundRecord& a, const RoundRecord& b)
{
    return a.timestamp < b.timestamp;
}

void Round::add_run(std::size_t begin)
{
    auto first = records_.begin() + static_cast<std::ptrdiff_t>(begin);
    if (!std::is_sorted(first, records_.end(), earlier))
        std::stable_sort(first, records_.end(), earlier);
    if (begin < records_.size())
        runs_.push_back(begin);
}

// The maximum difference between the clocks of two hosts. A timestamp that is further
// in the future is forged.
constexpr std::uint64_t skew_ns = 1000000000;

bool Round::collect(std::size_t bytes, std::uint32_t arena, std::uint32_t shard,
                    EcbTable& ecbs, std::uint64_t now)
{
    const std::size_t start = buffer_.used(), begin = records_.size();
    const std::byte* copy = buffer_.data() + start;
    constexpr std::size_t error_bytes = sizeof(dt_rechdr) + sizeof(dt_rec_error);
    bool honest = true;
    for (std::size_t at = 0; bytes - at >= sizeof(dt_rechdr);) {
        dt_rechdr header;
        std::memcpy(&header, copy + at, sizeof header);
        if (header.epid == 0)
            break;
        if (header.timestamp > now && header.timestamp - now > skew_ns)
            header.timestamp = now;
        EcbState* ecb = ecbs.find_in(arena, shard, header.epid);
        std::size_t size = !ecb                          ? 0
                           : header.flags & DT_REC_ERROR ? error_bytes
                                                         : ecb->info.record_bytes;
        if (size < sizeof header || size > bytes - at ||
            ((header.flags & DT_REC_ERROR) == 0 &&
             !holds_constants({copy + at, size}, ecb->constants))) {
            honest = false;
            break;
        }
        records_.push_back({header.timestamp, start + at, ecb,
                            static_cast<std::uint32_t>(size), header.cpu,
                            header.flags});
        at += DT_ALIGN(size, std::size_t{8});
        if (at > bytes)
            break;
    }
    buffer_.use(bytes);
    add_run(begin);
    return honest;
}

// Merges adjacent sorted runs in pairs until one run remains.
void Round::order()
{
    while (runs_.size() > 1) {
        merged_.clear();
        merged_.reserve(records_.size());
        std::vector<std::size_t> runs;
        auto at = [&](std::size_t run) {
            return records_.begin() +
                   static_cast<std::ptrdiff_t>(run < runs_.size() ? runs_[run]
                                                                  : records_.size());
        };
        for (std::size_t run = 0; run < runs_.size(); run += 2) {
            runs.push_back(merged_.size());
            std::merge(at(run), at(run + 1), at(run + 1), at(run + 2),
                       std::back_inserter(merged_), earlier);
        }
        records_.swap(merged_);
        runs_.swap(runs);
    }
}

void Round::hold(std::size_t first)
{
    records_.erase(records_.begin(),
                   records_.begin() + static_cast<std::ptrdiff_t>(first));
    spare_.clear();
    // Copies the held records, so that the old buffer can be reused. If there is no
    // memory for the copy, the old buffer stays in use.
    if (spare_.room(records_.empty() ? 0 : buffer_.used())) {
        for (RoundRecord& record : records_) {
            std::memcpy(spare_.room(record.bytes), buffer_.data() + record.offset,
                        record.bytes);
            record.offset = spare_.used();
            spare_.use(record.bytes);
        }
        std::swap(buffer_, spare_);
    } else if (records_.empty()) {
        buffer_.clear();
    }
    runs_.clear();
    if (!records_.empty())
        runs_.push_back(0);
}

} // namespace dt
