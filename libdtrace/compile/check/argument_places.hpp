// SPDX-License-Identifier: MIT
// Where a function's arguments are when it is entered, in terms of argN and of the stack:
// the calling convention of x86-64 (System V psABI, 3.2.3).
//
// arg0 to arg5 are the six integer registers; arg6 and on the words of the stack above the
// return address. Floating-point registers are not among them.
#pragma once

#include "libdtrace/compile/types/types.hpp"

#include <optional>
#include <vector>

namespace dt {

struct ArgumentPlace {
    enum class Kind {
        Value,     // argN is it
        Address,   // argN is its address
        Stack,     // it lies in the stack, from word n above the return address on
        Float,     // in a floating-point register
        Registers, // by value in registers, some of which are not among argN
        ByValue, // a struct or union that travels as its bytes, to the kernel's functions
        Nowhere, // without a byte
        Unknown, // this one or one before it goes by rules that we do not know
    };
    Kind kind = Kind::Value;
    unsigned n = 0;
    bool operator==(const ArgumentPlace&) const = default;
};

// Of all parameters. Of arguments beyond arg9 n is just larger.
std::vector<ArgumentPlace> argument_places(const std::vector<const Type*>& parameters,
                                           const Type* result);

// The same of the kernel's functions, whose stacks are not looked at.
std::vector<ArgumentPlace>
kernel_argument_places(const std::vector<const Type*>& parameters, const Type* result);

// What a function returned, when arg1 is the integer register for that.
ArgumentPlace result_place(const Type* result);

} // namespace dt
