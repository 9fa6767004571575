// SPDX-License-Identifier: MIT
// A set of addresses in a range, with one bit for each address.
#pragma once

#include "base/target_addr.hpp"

#include <cstdint>
#include <vector>

namespace dt {

struct CodeRange {
    TargetAddr begin, end;
};

class AddressSet {
public:
    AddressSet(TargetAddr begin, std::uint64_t n_bytes);
    bool covers(TargetAddr at) const { return at - begin_ < n_bytes_; }
    TargetAddr begin() const { return begin_; }
    TargetAddr end() const { return begin_ + n_bytes_; }
    void add(TargetAddr at)
    {
        std::uint64_t bit = at - begin_;
        if (bit < n_bytes_)
            words_[bit / 64] |= std::uint64_t{1} << bit % 64;
    }
    bool has(TargetAddr at) const
    {
        std::uint64_t bit = at - begin_;
        return bit < n_bytes_ && (words_[bit / 64] >> bit % 64 & 1) != 0;
    }
    // These functions add or remove the part of `range` that is in [begin(), end()).
    void add_all(CodeRange range);
    void remove_all(CodeRange range);
    // Returns the first member at or after `from`, or end() if there is none.
    TargetAddr next(TargetAddr from) const;
    // Returns the first address at or after `from` that is not a member. The result is
    // at most min(to, end()).
    TargetAddr next_missing(TargetAddr from, TargetAddr to) const;
    // Returns the first member at or after `from` that is not a member of `other`. The
    // result is at most min(to, end()). `other` has the same range.
    TargetAddr next_without(TargetAddr from, TargetAddr to,
                            const AddressSet& other) const;
    // Returns the last member at or before `to`, or begin() if there is none.
    TargetAddr last(TargetAddr to) const;
    void join(const AddressSet& other);      // other has the same range
    void intersect(const AddressSet& other); // other has the same range
    void subtract(const AddressSet& other);  // other has the same range

private:
    template <class Change> void each_word(CodeRange range, Change change);
    template <class Word>
    TargetAddr find(TargetAddr from, TargetAddr to, Word word) const;

    TargetAddr begin_;
    std::uint64_t n_bytes_;
    std::vector<std::uint64_t> words_;
};

} // namespace dt
