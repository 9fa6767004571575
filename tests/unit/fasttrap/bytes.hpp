// SPDX-License-Identifier: MIT
// Helpers for machine code in tests.
#pragma once

#include "fasttrap/arch/arch.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace dt::test {

// Copies bytes into a type that tests can compare and print.
inline std::vector<std::byte> copy_of(std::span<const std::byte> bytes)
{
    return {bytes.begin(), bytes.end()};
}

inline std::vector<std::byte> bytes_of(const std::string& hex)
{
    std::vector<std::byte> out;
    for (std::size_t i = 0; i < hex.size(); i += hex[i] == ' ' ? 1 : 2) {
        if (hex[i] != ' ')
            out.push_back(static_cast<std::byte>(
                std::strtoul(hex.substr(i, 2).c_str(), nullptr, 16)));
    }
    return out;
}

inline Instruction instruction(const std::string& hex, std::uint64_t at = 0x401000)
{
    Result<Instruction> insn = x86_64.decode(bytes_of(hex), TargetAddr{at});
    EXPECT_TRUE(insn) << hex << ": " << (insn ? "" : insn.error().text);
    return insn ? *insn : Instruction{};
}

// The memory of a target in which only a few bytes are mapped.
class SmallMemory : public TargetMemory {
public:
    void map(std::uint64_t at, std::vector<std::byte> bytes)
    {
        for (std::size_t i = 0; i < bytes.size(); ++i)
            bytes_[at + i] = bytes[i];
    }
    void map_word(std::uint64_t at, std::uint64_t value)
    {
        for (unsigned i = 0; i < 8; ++i)
            bytes_[at + i] = static_cast<std::byte>(value >> i * 8);
    }
    std::uint64_t word(std::uint64_t at)
    {
        std::uint64_t value = 0;
        for (unsigned i = 0; i < 8; ++i)
            value |= static_cast<std::uint64_t>(bytes_.at(at + i)) << i * 8;
        return value;
    }
    bool read(TargetAddr from, std::span<std::byte> into) override
    {
        if (!mapped(from.value, into.size()))
            return false;
        for (std::size_t i = 0; i < into.size(); ++i)
            into[i] = bytes_[from.value + i];
        return true;
    }
    bool write(TargetAddr to, std::span<const std::byte> bytes) override
    {
        if (!mapped(to.value, bytes.size()))
            return false;
        for (std::size_t i = 0; i < bytes.size(); ++i)
            bytes_[to.value + i] = bytes[i];
        return true;
    }

private:
    bool mapped(std::uint64_t at, std::size_t n) const
    {
        for (std::size_t i = 0; i < n; ++i) {
            if (bytes_.count(at + i) == 0)
                return false;
        }
        return true;
    }
    std::map<std::uint64_t, std::byte> bytes_;
};

} // namespace dt::test
