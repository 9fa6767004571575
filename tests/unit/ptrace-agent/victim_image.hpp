// SPDX-License-Identifier: MIT
// Where the functions of a victim are, by its symbol table, and whether a process' text
// is that of its files.
#pragma once

#include "ptrace-agent/wire/client.hpp"

#include <map>
#include <string>
#include <vector>

namespace dt::test {

struct Function {
    TargetAddr at; // in the process
    std::uint64_t bytes = 0;
    std::vector<std::byte> text; // as in the file
};

// Of the program or library whose path ends in name, as mapped in the process.
std::map<std::string, Function> functions_of(pid_t pid, const std::string& name);

std::vector<std::byte> text_at(pid_t pid, TargetAddr at, std::size_t n);

// Every return site of a function, with the probe's id.
std::vector<Site> return_sites(const Function& function, std::uint32_t probe);

// "" when all file-backed text that cannot be written equals the files; else where not.
std::string text_difference(pid_t pid);

// The process has a thread that is stopped or traced.
bool is_traced(pid_t pid);
bool has_private_code(pid_t pid); // executable memory that belongs to no file

} // namespace dt::test
