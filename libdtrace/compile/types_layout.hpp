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
#pragma once

#include "libdtrace/compile/types.hpp"

namespace dt {

class StructLayout {
public:
    // A union when into.kind is Union; then every member starts at 0.
    explicit StructLayout(Type& into) : into_(into) {}

    void add(std::string name, const Type* type);
    // The width is in [0, bits of the type]; 0 only without a name.
    void add_bitfield(std::string name, const Type* type, std::uint32_t bits);
    void finish();

    std::uint64_t size_bits() const { return end_bits_; }

private:
    void grow(std::uint64_t end_bits);

    Type& into_;
    std::uint64_t next_bit_ = 0; // where the next member of a struct may start
    std::uint64_t end_bits_ = 0;
    std::uint32_t align_ = 1;
};

} // namespace dt
