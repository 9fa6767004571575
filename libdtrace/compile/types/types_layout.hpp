// SPDX-License-Identifier: MIT
// Computes the layout of structs and unions according to the x86-64 System V ABI,
// section 3.1.2. For types that D can declare, the LP64 ABI of aarch64 has the same
// rules, except that there an unnamed bit-field affects the struct's alignment.
//
// The caller adds the members in the order of their declarations, and each member is
// assigned an offset. finish() sets the size and the alignment of the struct or union.
// The rules are:
//   - a member starts at a multiple of its alignment
//   - a bit-field is inside one naturally aligned storage unit of its declared type;
//     adjacent bit-fields can share the unit
//   - an unnamed bit-field does not affect the struct's alignment; one of width 0 ends
//     the current storage unit
//
// GCC's attributes and #pragma pack change these rules. A packed member starts at the
// next byte (a bit-field at the next bit), unless it has an explicit alignment. The
// limit that #pragma pack sets applies to natural and to explicit alignments.
#pragma once

#include "libdtrace/compile/types/types.hpp"

namespace dt {

// The attributes in a member's declaration that affect its offset.
struct MemberPlacing {
    std::uint32_t align = 0; // minimum alignment in bytes; 0 if not given
    bool packed = false;
};

class StructLayout {
public:
    // Starts the layout of a struct or union, depending on into.kind. In a union, every
    // member starts at offset 0. `limit` is the largest alignment of a member in bytes,
    // which #pragma pack sets. 0 means no limit.
    explicit StructLayout(Type& into, std::uint32_t limit = 0)
        : into_(into), limit_(limit)
    {
    }

    void add(std::string name, const Type* type, MemberPlacing placing = {});
    // Adds a bit-field. `bits` is at most the width of the type, and is 0 only if there
    // is no name.
    void add_bitfield(std::string name, const Type* type, std::uint32_t bits,
                      MemberPlacing placing = {});
    void finish(std::uint32_t align = 1); // align: minimum alignment in bytes

    std::uint64_t size_bits() const { return end_bits_; }

private:
    void grow(std::uint64_t end_bits);
    std::uint32_t limited(std::uint32_t align) const;

    Type& into_;
    std::uint32_t limit_;
    // offset of the first bit after the members added so far; always 0 in a union
    std::uint64_t next_bit_ = 0;
    std::uint64_t end_bits_ = 0;
    std::uint32_t align_ = 1;
};

} // namespace dt
