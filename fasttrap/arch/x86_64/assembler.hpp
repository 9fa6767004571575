// SPDX-License-Identifier: MIT
// Encodes instructions with xbyak. Only files in this directory include this header.
//
// Each thread has one generator, because constructing a generator is slow. The
// generator writes into its own small buffer, from which assemble() copies the bytes.
#pragma once

#define XBYAK_NO_EXCEPTION
#define XBYAK64
#include <xbyak/xbyak.h>

#include "fasttrap/code_buffer.hpp"

#include <array>
#include <cassert>
#include <cstdint>

namespace dt::x86 {

class Assembler : public Xbyak::CodeGenerator {
public:
    Assembler() : Xbyak::CodeGenerator(buffer_bytes, buffer()) {}

    // Returns the address that is `distance` bytes from the current position, for
    // instructions that take an address.
    const void* away(std::int64_t distance) const { return getCurr() + distance; }

private:
    static constexpr std::size_t buffer_bytes = 256;
    static void* buffer()
    {
        thread_local std::array<std::uint8_t, buffer_bytes> bytes;
        return bytes.data();
    }
};

// Appends the instructions that emit(assembler) encodes.
template <class Emit> void assemble(CodeBuffer& out, Emit emit)
{
    thread_local Assembler a;
    a.setSize(0);
    emit(a);
    assert(Xbyak::GetError() == Xbyak::ERR_NONE);
    out.append({reinterpret_cast<const std::byte*>(a.getCode()), a.getSize()});
}

constexpr bool fits_32(std::int64_t value)
{
    return value == static_cast<std::int32_t>(value);
}

} // namespace dt::x86
