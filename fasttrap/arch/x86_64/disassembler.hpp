// SPDX-License-Identifier: MIT
// capstone, reduced to the three things that we ask it: whether bytes are an instruction,
// how long it is, and which general registers it reads and writes. Nobody else includes
// capstone's headers.
//
// One per thread: a handle keeps state while it decodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

struct cs_insn;

namespace dt::x86 {

class Disassembler {
public:
    struct Found {
        std::uint8_t length = 0;
        std::uint16_t reads = 0; // as in Instruction
        std::uint16_t writes = 0;
    };

    Disassembler();
    ~Disassembler();
    Disassembler(const Disassembler&) = delete;
    Disassembler& operator=(const Disassembler&) = delete;

    // Nothing when capstone knows no such instruction.
    std::optional<Found> decode(std::span<const std::byte> text);

private:
    std::size_t handle_ = 0; // csh
    cs_insn* insn_ = nullptr;
};

} // namespace dt::x86
