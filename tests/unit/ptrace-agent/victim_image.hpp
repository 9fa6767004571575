// SPDX-License-Identifier: MIT
// Finds the functions of a victim, and compares the text of a process with its files.
#pragma once

#include "ptrace-agent/wire/client.hpp"

#include <map>
#include <string>
#include <vector>

namespace dt::test {

struct Function {
    TargetAddr at; // its address in the process
    std::uint64_t bytes = 0;
    std::vector<std::byte> text; // its text in the file
};

// Returns the symbols of the mapped program or library whose path ends in `name`.
std::map<std::string, Function> functions_of(pid_t pid, const std::string& name);

std::vector<std::byte> text_at(pid_t pid, TargetAddr at, std::size_t n);

// Returns the site of each return of a function. Each site has the given probe id.
std::vector<Site> return_sites(const Function& function, std::uint32_t probe);

// Compares all read-only text of the process with its files. Returns "" or the first
// difference.
std::string text_difference(pid_t pid);

// Returns whether a thread of the process is stopped or traced.
bool is_traced(pid_t pid);
// Returns whether the process has executable memory that belongs to no file.
bool has_private_code(pid_t pid);

} // namespace dt::test
