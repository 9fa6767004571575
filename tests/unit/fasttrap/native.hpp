// SPDX-License-Identifier: MIT
// Runs an instruction on the processor, in this process, with any register contents.
//
//   native_run(state): loads the vector state and all sixteen registers, jumps to rip
//       ... the instruction ...
//   a pad after it (or at its target) jumps back, and everything is stored
//
// A signal also ends the run. The handler runs on its own stack and reads the registers
// from the signal's context. So the stack pointer may have any value while the
// instruction runs. Only one thread may call native_run(), for one run at a time.
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
    // The initial registers, which the run replaces with the final registers. After the
    // run, rip is the address of the pad that was reached, or of the instruction that
    // raised the signal.
    Registers regs;
    alignas(64) std::array<std::byte, vector_bytes> vectors{};
    int signal = 0;                  // 0 if the run reached a pad
    std::uint64_t fault_address = 0; // si_addr of the signal
};

// The two places at which execution can continue: after the instruction, and at its
// branch target. A pad is a jump back to the test. If there was no signal, rip in the
// result is the address of the pad that was reached.
enum class Pad : std::uint8_t { behind, target };
constexpr std::size_t pad_bytes = 14;
void write_pad(std::byte* at, Pad pad);

void native_run(NativeState& state, std::array<std::uint64_t, 2> pads);

bool native_supported(); // whether the processor has XSAVE
std::uint64_t own_fs_base();

} // namespace dt::test
