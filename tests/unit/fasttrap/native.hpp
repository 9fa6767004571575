// SPDX-License-Identifier: MIT
// Running an instruction on the real processor, in this process, with any register state.
//
//   native_run(state): load the vector state and all sixteen registers, jump to rip
//        ... the instruction ...
//   a pad behind it (or at its target) jumps back, and everything is stored
//
// A signal ends the run too: the handler, on its own stack, takes the registers from the
// context. The stack pointer belongs to the instruction while it runs. One run at a time,
// one thread.
#pragma once

#include "fasttrap/registers.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace dt::test {

constexpr std::size_t vector_bytes = 2688; // XSAVE's standard format up to AVX-512

struct NativeState {
    Registers regs; // in: where to start; out: where it ended, rip by pad or signal
    alignas(64) std::array<std::byte, vector_bytes> vectors{};
    int signal = 0;                  // 0: it reached a pad
    std::uint64_t fault_address = 0; // of the signal
};

// A pad is a jump back to here, written where the instruction may lead. Without a signal
// the run's rip is the address of the pad that was reached.
enum class Pad : std::uint8_t { behind, target };
constexpr std::size_t pad_bytes = 14;
void write_pad(std::byte* at, Pad pad);

void native_run(NativeState& state, std::array<std::uint64_t, 2> pads);

bool native_supported(); // the processor has XSAVE
std::uint64_t own_fs_base();

} // namespace dt::test
