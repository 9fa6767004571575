// SPDX-License-Identifier: MIT
// Layout of structs and unions by the x86-64 System V ABI (section 3.1.2, which the
// LP64 ABI of aarch64 shares for what D can declare).
//
// Members are added in order and get their offset; finish() sets size and alignment.
//   - a member starts at a multiple of its alignment
//   - a bit-field lies inside one naturally aligned storage unit of its declared type,
//     and shares it with its neighbours
//   - an unnamed bit-field has no influence on the struct's alignment; one of width 0
//     ends the current storage unit
//
// GCC's attributes and #pragma pack change that: what is packed starts at the next byte
// (a bit-field at the next bit), unless an alignment was said for it; a limit of #pragma
// pack is above all of them.
#pragma once

#include "libdtrace/compile/types/types.hpp"

namespace dt {

// What a declaration says of where a member lies.
struct MemberPlacing {
    std::uint32_t align = 0; // at least so; 0: nothing was said
    bool packed = false;
};

class StructLayout {
public:
    // A union when into.kind is Union; then every member starts at 0. limit: the largest
    // alignment of a member; 0: none.
    explicit StructLayout(Type& into, std::uint32_t limit = 0)
        : into_(into), limit_(limit)
    {
    }

    void add(std::string name, const Type* type, MemberPlacing placing = {});
    // The width is in [0, bits of the type]; 0 only without a name.
    void add_bitfield(std::string name, const Type* type, std::uint32_t bits,
                      MemberPlacing placing = {});
    void finish(std::uint32_t align = 1); // at least

    std::uint64_t size_bits() const { return end_bits_; }

private:
    void grow(std::uint64_t end_bits);
    std::uint32_t limited(std::uint32_t align) const;

    Type& into_;
    std::uint32_t limit_;
    std::uint64_t next_bit_ = 0; // where the next member of a struct may start
    std::uint64_t end_bits_ = 0;
    std::uint32_t align_ = 1;
};

} // namespace dt
