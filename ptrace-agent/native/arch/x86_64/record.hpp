// SPDX-License-Identifier: MIT
// Emits code that records integers in the CPU's shard.
#pragma once

#include "ptrace-agent/native/arch/x86_64/frame.hpp"

namespace dt::native::x86 {

class Recorder : Part {
public:
    explicit Recorder(Frame& frame) : Part(frame) {}

    void take_shard();
    void record(const dt_action& action, Reg64 value);
    void publish();
    void place_shard_ends();

private:
    void active_buffer();
    Xbyak::Address used_bytes();

    Reg64 shard_;
    Label beyond_, within_, full_;
};

} // namespace dt::native::x86
