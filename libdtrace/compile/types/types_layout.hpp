// SPDX-License-Identifier: MIT
// Computes the layout of structs and unions (x86-64 System V ABI, section 3.1.2). On
// aarch64, an unnamed bit-field also affects the struct's alignment.
//
// The rules are:
//   - a member starts at a multiple of its alignment
//   - a bit-field is inside one naturally aligned storage unit of its declared type;
//     adjacent bit-fields can share the unit
//   - an unnamed bit-field does not affect the struct's alignment; a bit-field of width
//     0 ends the current storage unit
//
// Attributes can change these rules. A packed member starts at the next byte, unless it
// has an explicit alignment. A packed bit-field starts at the next bit. #pragma pack
// limits natural and explicit alignments.
#pragma once

#include "libdtrace/compile/types/types.hpp"

namespace dt {

// Attributes in a member's declaration.
struct MemberPlacing {
    std::uint32_t align = 0; // minimum alignment in bytes; 0 if not given
    bool packed = false;
};

class StructLayout {
public:
    // `limit` is the largest alignment of a member in bytes, or 0 for no limit.
    explicit StructLayout(Type& into, std::uint32_t limit = 0)
        : into_(into), limit_(limit)
    {
    }

    void add(std::string name, const Type* type, MemberPlacing placing = {});
    // `bits` is at most the width of the type. Only an unnamed bit-field may have 0
    // bits.
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
