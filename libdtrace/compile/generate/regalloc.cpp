// SPDX-License-Identifier: MIT
#include "libdtrace/compile/generate/regalloc.hpp"

#include "dif/ops.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

namespace dt {

Register::Register(Register&& other) noexcept
    : file_(std::exchange(other.file_, nullptr)), number_(other.number_)
{
}

Register& Register::operator=(Register&& other) noexcept
{
    if (this != &other) {
        release();
        file_ = std::exchange(other.file_, nullptr);
        number_ = other.number_;
    }
    return *this;
}

void Register::release()
{
    if (file_ != nullptr)
        file_->used_ &= ~(1u << number_);
    file_ = nullptr;
}

RegisterFile::RegisterFile(int n_registers)
    : n_registers_(std::clamp(n_registers, 1, DIF_DIR_NREGS))
{
}

Register RegisterFile::take(Place at)
{
    for (int number = 1; number < n_registers_; number++)
        if ((used_ & 1u << number) == 0)
            return claim(number);
    fail(Tag::NOREG, at,
         "Insufficient registers to generate code: the expression needs more than " +
             std::to_string(n_registers_ - 1) +
             " values at once; assign a part of it to a clause-local variable first");
}

Register RegisterFile::claim(int number)
{
    assert((used_ & 1u << number) == 0);
    used_ |= 1u << number;
    return Register(*this, number);
}

} // namespace dt
