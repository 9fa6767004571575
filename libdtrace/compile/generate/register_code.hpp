// SPDX-License-Identifier: MIT
// Emits instructions on values that are already in registers: integer arithmetic,
// narrowing, truth values, and floating point (register_float.cpp).
#pragma once

#include "libdtrace/compile/ast.hpp"
#include "libdtrace/compile/generate/assembler.hpp"
#include "libdtrace/compile/generate/regalloc.hpp"

#include <cstdint>

namespace dt {

class RegisterCode {
public:
    RegisterCode(Assembler& code, RegisterFile& registers)
        : code_(code), registers_(registers)
    {
    }

    // Loads a constant into a new register.
    Register integer(std::uint64_t value, Place at);
    // left = left op right
    void arithmetic(Op op, int left, int right, bool is_signed, Place at);
    void scale(int reg, std::uint64_t by, Place at);      // reg *= by
    void add_offset(int reg, std::uint64_t by, Place at); // reg += by
    // Converts a value to an integer type: keeps the low bits and extends them to 64
    // bits. For bool, acts like truth(). Does nothing if the type is not an integer.
    void narrow(int reg, const Type* to, Place at);
    // Sign- or zero-extends the low bits of a register to 64 bits.
    void extend_from(int reg, unsigned bits, bool is_signed, Place at);
    // Replaces a value other than 0 with 1.
    void truth(int reg);
    // Sets `into` to 1 if the branch `if_true` would be taken after the last
    // comparison, else to 0. Returns `into`.
    Register truth_by_branch(dif_op if_true, Register into);
    // size = min(size, strlen(from) + 1)
    void limit_to_string(int size, int from, Place at);

    // Converts a value of an arithmetic type in a register to a double, and back.
    void to_double(int reg, const Type* from);
    void from_double(int reg, const Type* to, Place at);
    // left = left op right; both are doubles.
    void float_arithmetic(Op op, int left, int right, Place at);
    // Compares two doubles. The result is 0 or 1. All comparisons with a NaN are false,
    // except !=.
    Register float_comparison(Op op, Register left, Register right, Place at);
    void negate_float(int reg, Place at);
    // value = value op right, in the type of the lvalue; right is a double.
    void modify_float(Op op, int value, int right, const Node& lvalue);

private:
    Assembler& code_;
    RegisterFile& registers_;
};

// Returns the bits that represent a floating-point value of this type in a register. A
// null type means double.
std::uint64_t float_bits(double value, const Type* type);

} // namespace dt
