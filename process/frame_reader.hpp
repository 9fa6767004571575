// SPDX-License-Identifier: MIT
// Reads numbers from call frame information. After a read beyond the end, all further
// reads return zero, and bad() returns true.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace dt {

class FrameReader {
public:
    explicit FrameReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

    bool bad() const { return bad_; }
    bool at_end() const { return at_ == bytes_.size(); }
    std::size_t at() const { return at_; }
    std::span<const std::uint8_t> rest() const { return bytes_.subspan(at_); }

    template <class T> T fixed()
    {
        T value{};
        if (bytes_.size() - at_ < sizeof value)
            return fail(), T{};
        std::memcpy(&value, bytes_.data() + at_, sizeof value);
        at_ += sizeof value;
        return value;
    }
    std::uint8_t byte() { return fixed<std::uint8_t>(); }
    std::uint64_t uleb() { return leb(nullptr); }
    // The offsets that compilers write are small enough for this conversion.
    std::int64_t uleb_as_signed() { return static_cast<std::int64_t>(uleb()); }
    std::int64_t sleb()
    {
        unsigned n_bits = 0;
        const std::uint64_t value = leb(&n_bits);
        const bool is_negative =
            n_bits != 0 && n_bits < 64 && (value >> (n_bits - 1) & 1) != 0;
        return static_cast<std::int64_t>(
            is_negative ? value | ~std::uint64_t{0} << n_bits : value);
    }
    void skip(std::uint64_t n)
    {
        if (n > bytes_.size() - at_)
            return fail();
        at_ += n;
    }
    // Reads a length n and then n bytes. Returns these bytes.
    std::span<const std::uint8_t> block()
    {
        const std::uint64_t n = uleb();
        const std::size_t begin = at_;
        skip(n);
        return bad_ ? std::span<const std::uint8_t>{} : bytes_.subspan(begin, n);
    }
    std::string_view text()
    {
        const auto left = rest();
        const auto end = std::find(left.begin(), left.end(), 0);
        if (end == left.end())
            return fail(), std::string_view{};
        const auto n = static_cast<std::size_t>(end - left.begin());
        at_ += n + 1;
        return {reinterpret_cast<const char*>(left.data()), n};
    }

private:
    void fail()
    {
        bad_ = true;
        at_ = bytes_.size();
    }
    std::uint64_t leb(unsigned* n_bits)
    {
        std::uint64_t value = 0;
        unsigned shift = 0;
        for (bool more = true; more && !bad_; shift += 7) {
            const std::uint8_t b = byte();
            if (shift < 64)
                value |= std::uint64_t{b & 0x7fU} << shift;
            more = (b & 0x80) != 0;
        }
        if (n_bits != nullptr)
            *n_bits = std::min(shift, 64U);
        return value;
    }

    std::span<const std::uint8_t> bytes_;
    std::size_t at_ = 0;
    bool bad_ = false;
};

} // namespace dt
