// SPDX-License-Identifier: MIT
// Provides random instructions, and instructions from binaries.
#pragma once

#include <cstddef>
#include <random>
#include <string>
#include <vector>

namespace dt::test {

using Bytes = std::vector<std::byte>;

// Returns random prefixes, an opcode from X86_OPCODES or from a list of other
// encodings, and 16 random bytes.
Bytes random_instruction(std::mt19937_64& random);

// Returns the instructions in the .text of an ELF file, without duplicates. Empty if
// the file does not exist.
std::vector<Bytes> harvest(const std::string& path, std::size_t at_most);

} // namespace dt::test
