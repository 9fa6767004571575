// SPDX-License-Identifier: MIT
#include "fasttrap/address_set.hpp"

#include <algorithm>
#include <bit>

namespace dt {

AddressSet::AddressSet(TargetAddr begin, std::uint64_t n_bytes)
    : begin_(begin), n_bytes_(n_bytes), words_(n_bytes / 64 + 1)
{
}

template <class Change> void AddressSet::each_word(CodeRange range, Change change)
{
    TargetAddr from = std::max(range.begin, begin());
    TargetAddr to = std::min(range.end, end());
    if (from >= to)
        return;
    std::uint64_t bit = from - begin_;
    std::uint64_t limit = to - begin_;
    while (bit < limit) {
        std::uint64_t n = std::min(64 - bit % 64, limit - bit);
        change(words_[bit / 64], ~std::uint64_t{0} >> (64 - n) << bit % 64);
        bit += n;
    }
}

void AddressSet::add_all(CodeRange range)
{
    each_word(range, [](std::uint64_t& word, std::uint64_t bits) { word |= bits; });
}

void AddressSet::remove_all(CodeRange range)
{
    each_word(range, [](std::uint64_t& word, std::uint64_t bits) { word &= ~bits; });
}

// Returns the first address in [from, to) whose bit is set, or min(to, end()). word(i)
// returns word i of a bitmap with one bit for each address.
template <class Word>
TargetAddr AddressSet::find(TargetAddr from, TargetAddr to, Word word) const
{
    to = std::min(to, end());
    std::uint64_t bit = from < begin_ ? 0 : from - begin_;
    if (begin_ + bit >= to)
        return to;
    std::uint64_t limit = to - begin_;
    std::uint64_t found = word(bit / 64) >> bit % 64;
    if (found == 0) {
        std::size_t i = bit / 64 + 1;
        while (i * 64 < limit && (found = word(i)) == 0)
            ++i;
        bit = i * 64;
    }
    if (found != 0)
        bit += static_cast<unsigned>(std::countr_zero(found));
    return begin_ + std::min(bit, limit);
}

TargetAddr AddressSet::next(TargetAddr from) const
{
    return find(from, end(), [this](std::size_t i) { return words_[i]; });
}

TargetAddr AddressSet::next_missing(TargetAddr from, TargetAddr to) const
{
    return find(from, to, [this](std::size_t i) { return ~words_[i]; });
}

TargetAddr AddressSet::next_without(TargetAddr from, TargetAddr to,
                                    const AddressSet& other) const
{
    return find(from, to, [&](std::size_t i) { return words_[i] & ~other.words_[i]; });
}

TargetAddr AddressSet::last(TargetAddr to) const
{
    if (n_bytes_ == 0 || to < begin_)
        return begin_;
    std::uint64_t bit = std::min(to - begin_, n_bytes_ - 1);
    std::uint64_t word = words_[bit / 64] << (63 - bit % 64);
    if (word != 0)
        return begin_ + (bit - static_cast<unsigned>(std::countl_zero(word)));
    for (std::size_t i = bit / 64; i-- > 0;)
        if (words_[i] != 0)
            return begin_ +
                   (i * 64 + 63 - static_cast<unsigned>(std::countl_zero(words_[i])));
    return begin_;
}

void AddressSet::join(const AddressSet& other)
{
    for (std::size_t i = 0; i < words_.size() && i < other.words_.size(); ++i)
        words_[i] |= other.words_[i];
}

void AddressSet::intersect(const AddressSet& other)
{
    for (std::size_t i = 0; i < words_.size() && i < other.words_.size(); ++i)
        words_[i] &= other.words_[i];
}

void AddressSet::subtract(const AddressSet& other)
{
    for (std::size_t i = 0; i < words_.size() && i < other.words_.size(); ++i)
        words_[i] &= ~other.words_[i];
}

} // namespace dt
