// SPDX-License-Identifier: MIT
// Runs an instruction on the processor, in this process, with any register contents.
//
// A pad is a jump back to the test. One pad is located after the instruction, and
// another pad at the instruction's branch target. The run ends when it reaches a pad or
// raises a signal. The signal handler has its own stack, so rsp may have any value.
// Only one thread may call native_run().
#pragma once

#include "fasttrap/registers.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace dt::test {

// the size of the XSAVE area in the standard format with all components up to AVX-512
constexpr std::size_t vector_bytes = 2688;

struct NativeState {
    // The registers before and after the run. After the run, rip is the address of the
    // pad, or of the instruction that raised the signal.
    Registers regs;
    alignas(64) std::array<std::byte, vector_bytes> vectors{};
    int signal = 0;                  // 0 if the run reached a pad
    std::uint64_t fault_address = 0; // si_addr of the signal
};

// `behind` is the pad after the instruction. `target` is the pad at its branch target.
enum class Pad : std::uint8_t { behind, target };
constexpr std::size_t pad_bytes = 14;
void write_pad(std::byte* at, Pad pad);

void native_run(NativeState& state, std::array<std::uint64_t, 2> pads);

bool native_supported(); // whether the processor has XSAVE
std::uint64_t own_fs_base();

} // namespace dt::test
