// SPDX-License-Identifier: MIT
// Finds the location of each argument at a function's entry: the number N of its argN,
// or a word of the stack. Implements the rules for x86-64 (System V psABI, 3.2.3).
//
// arg0 to arg5 are the six integer registers. arg6, arg7 and so on are the words on the
// stack above the return address. argN never denotes a floating-point register.
#pragma once

#include "libdtrace/compile/types/types.hpp"

#include <optional>
#include <vector>

namespace dt {

struct ArgumentPlace {
    enum class Kind {
        Value,     // argN is the argument
        Address,   // argN is the argument's address
        Stack,     // on the stack at word n; word 0 is just above the return address
        Float,     // in a floating-point register
        Registers, // a struct, union or wide integer, by value in registers
        // a struct or union that is passed by value to a function of the kernel
        ByValue,
        Nowhere, // no bytes are passed: void or an empty struct
        Unknown, // compilers differ in how they pass this argument or an earlier one
    };
    Kind kind = Kind::Value;
    unsigned n = 0;
    bool operator==(const ArgumentPlace&) const = default;
};

// Returns the places of all parameters. ArgumentPlace::n may be larger than 9, although
// D has only arg0 to arg9.
std::vector<ArgumentPlace> argument_places(const std::vector<const Type*>& parameters,
                                           const Type* result);

// Returns the places of the parameters of a kernel function. A struct or union has the
// place ByValue, because the kernel's stack is never read.
std::vector<ArgumentPlace>
kernel_argument_places(const std::vector<const Type*>& parameters, const Type* result);

// Returns the place of a function's result at a return probe. arg1 is the register of
// an integer result.
ArgumentPlace result_place(const Type* result);

} // namespace dt
