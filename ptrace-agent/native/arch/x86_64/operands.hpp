// SPDX-License-Identifier: MIT
// Emits code that reads the arguments of static probes.
#pragma once

#include "ptrace-agent/native/arch/x86_64/frame.hpp"

#include <functional>
#include <memory>

namespace dt::native::x86 {

class OperandReader : Part {
public:
    explicit OperandReader(Frame& frame) : Part(frame) {}

    void load_operand(Reg64 to, std::uint32_t n); // does not change the flags
    // Reads arguments into their slots. `arguments` has a bit per argument. All
    // registers of the pool must be free.
    void load_ahead(std::uint32_t arguments);
    void place_lookups();
    void add_fixups(Compiled& to) const; // for loads that may fault

private:
    void read_operand(Reg64 to, const dt_operand& operand);
    void address_of(Reg64 to, const dt_operand& operand);
    void ensure_known(Reg64 address, const dt_operand& operand);
    void widen(Reg64 value, const dt_operand& operand);
    void widen_float(Reg64 value);
    void load_program(Reg64 to, unsigned number); // does not change the flags
    // Returns the slot of an argument that is read ahead.
    Xbyak::Address slot(std::uint32_t n) const;

    std::uint32_t have_ahead_ = 0; // a bit per argument: set if it has been read
    struct Lookup {
        Label unsure, known;
        std::function<void()> rest;
    };
    std::vector<std::unique_ptr<Lookup>> lookups_;
    struct Access {
        Label begin, end;
    };
    std::vector<std::unique_ptr<Access>> accesses_; // loads that may fault
};

} // namespace dt::native::x86
