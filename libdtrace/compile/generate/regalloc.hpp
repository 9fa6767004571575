// SPDX-License-Identifier: MIT
// Allocates DIF registers, from %r1 up. %r0 reads as zero and is never allocated.
//
// A Register object owns its register and frees it when destroyed. The lowest free
// register is allocated first. Registers are not spilled, because that would cost time
// at each firing. An expression that needs more registers than exist is refused.
#pragma once

#include "libdtrace/compile/diagnostic.hpp"

#include <cstdint>

namespace dt {

class RegisterFile;

class Register {
public:
    Register() = default;
    Register(Register&& other) noexcept;
    Register& operator=(Register&& other) noexcept;
    ~Register() { release(); }

    void release();
    bool held() const { return file_ != nullptr; }
    operator int() const { return number_; }

private:
    friend class RegisterFile;
    Register(RegisterFile& file, int number) : file_(&file), number_(number) {}

    RegisterFile* file_ = nullptr;
    int number_ = 0;
};

class RegisterFile {
public:
    // n_registers includes %r0.
    explicit RegisterFile(int n_registers);

    // Allocates the lowest free register. Throws D_NOREG with the given place if no
    // register is free.
    Register take(Place at);
    // Allocates this register, which must be free.
    Register claim(int number);

private:
    friend class Register;

    int n_registers_;
    std::uint32_t used_ = 1; // bit n is set if %rn is in use
};

} // namespace dt
