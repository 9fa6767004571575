// SPDX-License-Identifier: MIT
// Encodes machine code with xbyak. The code will be placed at a known distance from the
// runtime's image. Only files in this folder include this header.
#pragma once

#define XBYAK_NO_EXCEPTION
#define XBYAK64
#include <xbyak/xbyak.h>

#include "ptrace-agent/native/native.hpp"
#include "ptrace-agent/runtime/runtime.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace dt::native::x86 {

class Assembler : public Xbyak::CodeGenerator {
public:
    // `at` is the distance of the code from the image's base.
    Assembler(std::uint64_t image, std::uint64_t at)
        : Xbyak::CodeGenerator(buffer_bytes, buffer()), image_(image), at_(at)
    {
        setDefaultJmpNEAR(true);
    }

    // Returns the address to use in a RIP-relative operand for the byte at `offset`
    // from the image's base. The distances between the image, the config and the code
    // never change.
    const void* image_at(std::uint64_t offset) const
    {
        return getCode() + static_cast<std::int64_t>(offset - at_);
    }
    Xbyak::RegRip config(std::uint64_t member) const
    {
        return rip + image_at(DT_RT_CONFIG + member);
    }
    // Returns the address that a label will have in the target.
    std::uint64_t address_of(const Xbyak::Label& label) const
    {
        return image_ + at_ + offset_of(label);
    }
    std::uint64_t offset_of(const Xbyak::Label& label) const
    {
        return static_cast<std::uint64_t>(label.getAddress() - getCode());
    }

    // Returns the operand for an eight-byte constant. place_literals() puts it after
    // the code.
    Xbyak::Address literal(std::uint64_t value)
    {
        for (auto& [known, label] : literals_)
            if (known == value)
                return qword[rip + label];
        literals_.emplace_back();
        literals_.back().first = value;
        return qword[rip + literals_.back().second];
    }
    void place_literals()
    {
        align(8, false);
        for (auto& [value, label] : literals_) {
            L(label);
            dq(value);
        }
    }

    // Emits the prefix for fs and returns the operand at an offset from fs_base. The
    // next emitted instruction must be the one that uses the operand.
    Xbyak::Address fs(const Xbyak::AddressFrame& frame, std::int64_t offset)
    {
        db(0x64);
        return frame[reinterpret_cast<const void*>(offset)];
    }
    void rdfsbase_r10()
    {
        for (int byte : {0xf3, 0x49, 0x0f, 0xae, 0xc2}) // rdfsbase %r10
            db(byte);
    }

    void rdpid_rax()
    {
        for (int byte : {0xf3, 0x0f, 0xc7, 0xf8}) // rdpid %rax
            db(byte);
    }
    void lsl_eax()
    {
        for (int byte : {0x0f, 0x03, 0xc0}) // lsl %eax, %eax
            db(byte);
    }

    std::span<const std::byte> bytes() const
    {
        return {reinterpret_cast<const std::byte*>(getCode()), getSize()};
    }

private:
    static constexpr std::size_t buffer_bytes = 16384;
    static void* buffer()
    {
        // Code must have the same alignment here and in the target, so that its
        // literals are aligned in the target. Otherwise a program that sets AC
        // (alignment check) would fault.
        alignas(code_align) thread_local std::array<std::uint8_t, buffer_bytes> bytes;
        return bytes.data();
    }

    std::uint64_t image_, at_;
    std::vector<std::pair<std::uint64_t, Xbyak::Label>> literals_;
};

} // namespace dt::native::x86
