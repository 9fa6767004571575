// SPDX-License-Identifier: MIT
// Instructions to test with: drawn from the opcode tables, and harvested from binaries.
#pragma once

#include <cstddef>
#include <random>
#include <string>
#include <vector>

namespace dt::test {

using Bytes = std::vector<std::byte>;

// Random prefixes, an opcode of a random row of X86_OPCODES or of the list of encodings
// that are not modelled, and 16 random bytes behind it.
Bytes random_instruction(std::mt19937_64& random);

// The instructions of an ELF file's .text, as linear decoding finds them, each once.
// Empty when the file is not there.
std::vector<Bytes> harvest(const std::string& path, std::size_t at_most);

} // namespace dt::test
