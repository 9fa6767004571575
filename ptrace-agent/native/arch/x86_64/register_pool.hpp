// SPDX-License-Identifier: MIT
// The registers that one routine may use, and its words on the target's stack.
//
// The stack contains, from rsp upwards:
//   slots for arguments that are read in advance
//   saved registers
//   the flags, if they are saved on the stack
//   the program's rax, rcx and rbx
//   the program's own stack
#pragma once

#include "ptrace-agent/native/arch/x86_64/assembler.hpp"
#include "ptrace-agent/native/native.hpp"

#include <initializer_list>
#include <optional>
#include <vector>

namespace dt::native::x86 {

using Xbyak::Label;
using Xbyak::Reg32;
using Xbyak::Reg64;

// Returns the register in which the program passes argument n. Returns nothing if the
// routine may change that register, or if the argument is not in a full register.
std::optional<Reg64> argument_register(const ClausePlan& plan, std::uint32_t n);

class RegisterPool {
public:
    // `save` lists the registers that the routine saves on the stack. To find them,
    // compile() first emits the routine with an empty list.
    RegisterPool(const ClausePlan& plan, std::vector<Reg64> save);

    // Returns a register of the pool that is not in `but`. Its value is lost at the
    // next call to temporary().
    Reg64 temporary(std::initializer_list<Reg64> but);
    Reg64 use(Reg64 reg);    // records that the register must be saved
    void hold(Reg64 reg);    // reserves the register until release()
    void release(Reg64 reg); // has no effect if the register is not held
    bool in_pool(Reg64 reg) const;
    const std::vector<Reg64>& pool() const { return pool_; }
    bool is_exhausted() const { return exhausted_; } // temporary() found no register

    bool flags_on_stack() const { return flags_on_stack_; } // otherwise they are in %ax
    const std::vector<Reg64>& saves() const { return save_; }
    const std::vector<Reg64>& used() const { return used_; }
    std::uint32_t ahead() const { return ahead_; } // a bit for each argument read ahead
    std::size_t n_slots() const;                   // number of arguments read ahead

    // `word` selects a word of the stack above the words that the routine pushed: 0 for
    // the program's rax, 1 for its rcx, 2 for its rbx, 3 for the top of its stack.
    // above() returns the word's distance from rsp, in words. saved() returns the
    // operand for it.
    std::size_t above(unsigned word) const;
    Xbyak::Address saved(unsigned word) const;
    std::optional<Xbyak::Address> saved(Reg64 reg) const; // null if reg was not saved

private:
    bool is_argument(Reg64 reg) const;

    const ClausePlan& plan_;
    std::vector<Reg64> save_, used_, pool_, held_;
    std::uint32_t ahead_;
    bool flags_on_stack_ = false;
    bool exhausted_ = false;
};

} // namespace dt::native::x86
