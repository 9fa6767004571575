// SPDX-License-Identifier: MIT
// The flags register, conditions, and operations on numbers of 1, 2, 4 and 8 bytes.
#pragma once

#include <cstdint>

namespace dt::x86 {

inline constexpr std::uint64_t cf = 1 << 0;
inline constexpr std::uint64_t pf = 1 << 2;
inline constexpr std::uint64_t af = 1 << 4;
inline constexpr std::uint64_t zf = 1 << 6;
inline constexpr std::uint64_t sf = 1 << 7;
inline constexpr std::uint64_t df = 1 << 10;
inline constexpr std::uint64_t of = 1 << 11;
inline constexpr std::uint64_t rf = 1 << 16;
inline constexpr std::uint64_t vm = 1 << 17;
inline constexpr std::uint64_t arithmetic_flags = cf | pf | af | zf | sf | of;

inline std::uint64_t mask_of(unsigned size)
{
    return size == 8 ? ~0ULL : (1ULL << size * 8) - 1;
}

inline std::uint64_t sign_bit(unsigned size)
{
    return 1ULL << (size * 8 - 1);
}

inline std::int64_t sign_extend(std::uint64_t value, unsigned size)
{
    unsigned shift = 64 - size * 8;
    return static_cast<std::int64_t>(value << shift) >> shift;
}

inline std::uint64_t sign_extend_57(std::uint64_t address)
{
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(address << 7) >> 7);
}

inline bool holds(unsigned condition, std::uint64_t flags)
{
    bool truth = false;
    bool less = ((flags & sf) != 0) != ((flags & of) != 0);
    switch (condition >> 1) {
    case 0:
        truth = (flags & of) != 0;
        break;
    case 1:
        truth = (flags & cf) != 0;
        break;
    case 2:
        truth = (flags & zf) != 0;
        break;
    case 3:
        truth = (flags & (cf | zf)) != 0;
        break;
    case 4:
        truth = (flags & sf) != 0;
        break;
    case 5:
        truth = (flags & pf) != 0;
        break;
    case 6:
        truth = less;
        break;
    default:
        truth = less || (flags & zf) != 0;
        break;
    }
    return truth != ((condition & 1) != 0);
}

} // namespace dt::x86
