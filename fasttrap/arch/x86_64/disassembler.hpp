// SPDX-License-Identifier: MIT
// Uses capstone to find out whether bytes are an instruction, how long it is, and which
// general registers it reads and writes. Only disassembler.cpp includes capstone's
// headers.
//
// Each thread needs its own Disassembler, because decoding changes capstone's handle.
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
        std::uint16_t reads = 0; // set of registers, as in Instruction::reads
        std::uint16_t writes = 0;
    };

    Disassembler();
    ~Disassembler();
    Disassembler(const Disassembler&) = delete;
    Disassembler& operator=(const Disassembler&) = delete;

    // Returns nothing if capstone does not know the instruction.
    std::optional<Found> decode(std::span<const std::byte> text);

private:
    std::size_t handle_ = 0; // a csh, which is capstone's handle type
    cs_insn* insn_ = nullptr;
};

} // namespace dt::x86
