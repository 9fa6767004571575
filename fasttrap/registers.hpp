// SPDX-License-Identifier: MIT
// The registers of a stopped thread that emulation needs, in encoding order (rax rcx
// rdx rbx rsp rbp rsi rdi r8..r15). A register's number in an instruction is its index
// here.
//
// Vector, x87 and segment registers are missing, because no emulated instruction uses
// them.
#pragma once

#include <array>
#include <cstdint>

namespace dt {

enum class Reg : std::uint8_t {
    rax,
    rcx,
    rdx,
    rbx,
    rsp,
    rbp,
    rsi,
    rdi,
    r8,
    r9,
    r10,
    r11,
    r12,
    r13,
    r14,
    r15,
    none = 0xff,
};

struct Registers {
    std::array<std::uint64_t, 16> general{};
    std::uint64_t rip = 0;
    std::uint64_t rflags = 0;
    std::uint64_t fs_base = 0;
    std::uint64_t gs_base = 0;

    std::uint64_t& operator[](Reg reg)
    {
        return general[static_cast<std::size_t>(reg)];
    }
    std::uint64_t operator[](Reg reg) const
    {
        return general[static_cast<std::size_t>(reg)];
    }
    bool operator==(const Registers&) const = default;
};

} // namespace dt
