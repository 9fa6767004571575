// SPDX-License-Identifier: MIT
// Reads and runs the cases in tests/dif/*.dif. Each case has a program, its input and
// its expected result. The format of a file:
//
//   # The first comment of a file says what it asserts.
//   case a sentence about what this case shows
//   without float                 the host has no floating point
//   args 1 -1                     arg0, arg1 ...
//   target "bytes at 0x10000"     the traced process's memory
//   var global 0x500 x string     SCOPE, id, name and TYPE of a variable
//   array thread 0x501 a int      SCOPE, id, name and TYPE of an array
//   number pid 42                 the value that the host returns
//   string execname "csh"
//   frames 0x10 0x20              the stack that the host returns
//   option destructive 1
//   returns string                the TYPE of the result
//   text
//     setx #5, %r1
//     ret  %r1
//   expect 5                      or: "text", fault NAME [value], refused "why" [at N]
//   after target "bytes"          the target's memory afterwards
//
// SCOPE is global, thread or local. TYPE is string, int N, bytes N or ubytes N (bytes
// in the target's memory). N is 8 if it is omitted.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/unit/dif/dof_builder.hpp"

namespace dif_test {

struct Case {
    std::string file, title;
    unsigned line = 0;
    Difo difo;
    std::vector<std::uint64_t> args, frames;
    std::string target;
    bool has_target = false, has_float = true;
    std::map<unsigned, std::uint64_t> numbers;
    std::map<unsigned, std::string> strings;
    std::map<unsigned, std::uint64_t> options;

    std::optional<std::uint64_t> value;
    std::optional<std::string> text, refused, after_target;
    std::optional<unsigned> fault;
    std::optional<std::uint64_t> fault_value, refused_at;
};

// Throws std::runtime_error with the file and the line of the error.
std::vector<Case> read_cases(const std::string& path);

// Returns a description of the difference from the expected outcome, or "" if the
// outcome is as expected.
std::string run_case(const Case& c);

} // namespace dif_test
