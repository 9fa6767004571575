// SPDX-License-Identifier: MIT
// See types_layout.hpp.
#include "libdtrace/compile/types/types_layout.hpp"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

std::uint64_t round_up(std::uint64_t value, std::uint64_t to)
{
    return to == 0 ? value : (value + to - 1) / to * to;
}

} // namespace

void StructLayout::grow(std::uint64_t end_bits)
{
    end_bits_ = std::max(end_bits_, end_bits);
    if (into_.kind == TypeKind::Struct)
        next_bit_ = end_bits;
}

std::uint32_t StructLayout::limited(std::uint32_t align) const
{
    return limit_ == 0 ? align : std::min(align, limit_);
}

void StructLayout::add(std::string name, const Type* type, MemberPlacing placing)
{
    std::uint32_t align =
        limited(std::max(placing.align, placing.packed ? 1 : type->alignment()));
    std::uint64_t at = round_up(next_bit_, align * 8ull);
    align_ = std::max(align_, align);
    into_.members.push_back({std::move(name), type, at, 0});
    grow(at + type->resolve()->size * 8);
}

void StructLayout::add_bitfield(std::string name, const Type* type, std::uint32_t bits,
                                MemberPlacing placing)
{
    std::uint64_t unit = type->resolve()->size * 8;
    if (bits == 0) {
        next_bit_ = round_up(next_bit_, unit);
        return;
    }
    std::uint64_t at = next_bit_;
    if (placing.align != 0)
        at = round_up(at, limited(placing.align) * 8ull);
    bool dense = placing.packed || limit_ != 0;
    if (!dense && at / unit != (at + bits - 1) / unit)
        at = round_up(at, unit);
    if (!name.empty()) {
        std::uint32_t its = limit_ == 0 && placing.packed ? 1 : type->alignment();
        align_ = std::max(align_, limited(std::max(its, placing.align)));
        into_.members.push_back({std::move(name), type, at, bits});
    }
    grow(at + bits);
}

void StructLayout::finish(std::uint32_t align)
{
    into_.align = std::max(align_, align);
    into_.size = round_up(round_up(end_bits_, 8) / 8, into_.align);
    into_.complete = true;
}

} // namespace dt
