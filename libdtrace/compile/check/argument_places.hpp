// SPDX-License-Identifier: MIT
// Locates a function's arguments at its entry, in terms of argN and of the stack. The
// rules are the calling convention of x86-64 (System V psABI, 3.2.3).
//
// arg0 to arg5 are the six integer registers. arg6 and later ones are the words of the
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
        Stack,     // on the stack, from word n above the return address
        Float,     // in a floating-point register
        Registers, // by value in registers, some of which have no argN
        // a struct or union whose bytes are passed by value, for the kernel's functions
        ByValue,
        Nowhere, // has no bytes
        Unknown, // this argument or an earlier one follows rules that we do not know
    };
    Kind kind = Kind::Value;
    unsigned n = 0;
    bool operator==(const ArgumentPlace&) const = default;
};

// Returns the places of all parameters. For arguments beyond arg9, n continues to
// count.
std::vector<ArgumentPlace> argument_places(const std::vector<const Type*>& parameters,
                                           const Type* result);

// Returns the same for a function of the kernel, whose stack is never read.
std::vector<ArgumentPlace>
kernel_argument_places(const std::vector<const Type*>& parameters, const Type* result);

// Returns the place of a function's result, if arg1 is the integer register for
// results.
ArgumentPlace result_place(const Type* result);

} // namespace dt
