// SPDX-License-Identifier: MIT
// Registers of DIF: %r1 up; %r0 reads as zero and is never handed out.
//
// A Register is held like any other resource: who has one, owns it, and it is free again
// when it goes away. The lowest free register is taken first. There is no memory to spill
// to that costs nothing at run time, so an expression that needs more registers than
// there are is refused; the generator evaluates the deeper operand of each operator first
// (generate_facts.cpp), which makes that rare.
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

    // The lowest free register. Throws D_NOREG, naming the place, when there is none.
    Register take(Place at);
    // This register, which is free.
    Register claim(int number);

private:
    friend class Register;

    int n_registers_;
    std::uint32_t used_ = 1; // bit n: %rn
};

} // namespace dt
