// SPDX-License-Identifier: MIT
// The registers of one stopped thread, as far as emulating an instruction needs them.
//
// Plain values in encoding order (rax rcx rdx rbx rsp rbp rsi rdi r8..r15), so that a
// register number read from an instruction is an index. How they come from and go back
// to the kernel's struct is fasttrap/arch/x86_64/user_regs.hpp.
//
// The vector, x87 and segment registers are not here: no emulated instruction reads or
// writes them, and an instruction that runs out of line uses the real ones.
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
