// SPDX-License-Identifier: MIT
// Constant folding. Every result equals the result of dif/exec.c for the same operands.
// Shifts use the low six bits of the count, and INT64_MIN / -1 wraps.
#include "libdtrace/compile/check/fold.hpp"

namespace dt {

namespace {

using S = std::int64_t;
using U = std::uint64_t;

U divide(U a, U b, bool is_signed)
{
    if (!is_signed)
        return a / b;
    return b == ~U{0} ? U{0} - a
                      : static_cast<U>(static_cast<S>(a) / static_cast<S>(b));
}

U remainder(U a, U b, bool is_signed)
{
    if (!is_signed)
        return a % b;
    return b == ~U{0} ? 0 : static_cast<U>(static_cast<S>(a) % static_cast<S>(b));
}

bool less(U a, U b, bool is_signed)
{
    return is_signed ? static_cast<S>(a) < static_cast<S>(b) : a < b;
}

} // namespace

std::optional<U> fold_binary(Op op, U a, U b, bool is_signed)
{
    constexpr U shift_mask = 63;
    // clang-format off
    switch (op) {
    case Op::Add: return a + b;
    case Op::Sub: return a - b;
    case Op::Mul: return a * b;
    case Op::Div: return b == 0 ? std::nullopt : std::optional(divide(a, b, is_signed));
    case Op::Mod: return b == 0 ? std::nullopt : std::optional(remainder(a, b, is_signed));
    case Op::Shl: return a << (b & shift_mask);
    case Op::Shr:
        return is_signed ? static_cast<U>(static_cast<S>(a) >> (b & shift_mask))
                         : a >> (b & shift_mask);
    case Op::And: return a & b;
    case Op::Or: return a | b;
    case Op::Xor: return a ^ b;
    case Op::Lt: return less(a, b, is_signed);
    case Op::Le: return !less(b, a, is_signed);
    case Op::Gt: return less(b, a, is_signed);
    case Op::Ge: return !less(a, b, is_signed);
    case Op::Eq: return a == b;
    case Op::Ne: return a != b;
    case Op::LogAnd: return a != 0 && b != 0;
    case Op::LogOr: return a != 0 || b != 0;
    case Op::LogXor: return (a != 0) != (b != 0);
    default: return std::nullopt;
    }
    // clang-format on
}

std::optional<U> fold_unary(Op op, U a)
{
    // clang-format off
    switch (op) {
    case Op::Not: return a == 0;
    case Op::BitNot: return ~a;
    case Op::Neg: return U{0} - a;
    case Op::Plus: return a;
    default: return std::nullopt;
    }
    // clang-format on
}

std::uint64_t narrow(std::uint64_t value, std::uint64_t size_bytes, bool is_signed)
{
    if (size_bytes == 0 || size_bytes >= 8)
        return value;
    unsigned unused_bits = 64 - static_cast<unsigned>(size_bytes) * 8;
    U high = value << unused_bits;
    return is_signed ? static_cast<U>(static_cast<S>(high) >> unused_bits)
                     : high >> unused_bits;
}

} // namespace dt
