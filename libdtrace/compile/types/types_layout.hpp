// SPDX-License-Identifier: MIT
// Layout of structs and unions by the x86-64 System V ABI (section 3.1.2, which the
// LP64 ABI of aarch64 shares for what D can declare).
//
// Members are added in order and get their offsets. finish() sets size and alignment.
//   - a member starts at a multiple of its alignment
//   - a bit-field is inside one naturally aligned storage unit of its declared type,
//     which its neighbours share
//   - an unnamed bit-field does not affect the struct's alignment; one of width 0 ends
//     the current storage unit
//
// GCC's attributes and #pragma pack change that. A packed member starts at the next
// byte (a bit-field at the next bit), unless it has an explicit alignment. The limit of
// #pragma pack overrides both.
#pragma once

#include "libdtrace/compile/types/types.hpp"

namespace dt {

// Attributes of a member's declaration that affect its placement.
struct MemberPlacing {
    std::uint32_t align = 0; // minimum; 0: not given
    bool packed = false;
};

class StructLayout {
public:
    // Lays out a union if into.kind is Union: every member then starts at 0. limit: the
    // largest alignment of a member; 0: no limit.
    explicit StructLayout(Type& into, std::uint32_t limit = 0)
        : into_(into), limit_(limit)
    {
    }

    void add(std::string name, const Type* type, MemberPlacing placing = {});
    // The width is in [0, bits of the type]. It is 0 only if there is no name.
    void add_bitfield(std::string name, const Type* type, std::uint32_t bits,
                      MemberPlacing placing = {});
    void finish(std::uint32_t align = 1); // align: minimum alignment

    std::uint64_t size_bits() const { return end_bits_; }

private:
    void grow(std::uint64_t end_bits);
    std::uint32_t limited(std::uint32_t align) const;

    Type& into_;
    std::uint32_t limit_;
    std::uint64_t next_bit_ = 0; // first free bit for the next member of a struct
    std::uint64_t end_bits_ = 0;
    std::uint32_t align_ = 1;
};

} // namespace dt
