// SPDX-License-Identifier: MIT
// See types_layout.hpp.
#include "libdtrace/compile/types_layout.hpp"

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

void StructLayout::add(std::string name, const Type* type)
{
    const Type* real = type->resolve();
    std::uint64_t at = round_up(next_bit_, real->align * 8ull);
    align_ = std::max(align_, real->align);
    into_.members.push_back({std::move(name), type, at, 0});
    grow(at + real->size * 8);
}

void StructLayout::add_bitfield(std::string name, const Type* type, std::uint32_t bits)
{
    std::uint64_t unit = type->resolve()->size * 8;
    if (bits == 0) {
        next_bit_ = round_up(next_bit_, unit);
        return;
    }
    std::uint64_t at = next_bit_;
    if (at / unit != (at + bits - 1) / unit)
        at = round_up(at, unit);
    if (!name.empty()) {
        align_ = std::max(align_, type->resolve()->align);
        into_.members.push_back({std::move(name), type, at, bits});
    }
    grow(at + bits);
}

void StructLayout::finish()
{
    into_.align = align_;
    into_.size = round_up(round_up(end_bits_, 8) / 8, align_);
    into_.complete = true;
}

} // namespace dt
