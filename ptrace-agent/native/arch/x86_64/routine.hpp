// SPDX-License-Identifier: MIT
// Emits the routine of one clause, and assigns the registers that it uses.
//
//   %rbx  the site, from the first instruction on
//   %rcx  scratch, which any step may change
//   pool  rdx, r10, r11 and the argument registers that the clause does not read. The
//         routine saves a register on the target's stack before it uses the register.
//         rax is in the pool if the flags are on the stack. Otherwise %ax contains the
//         flags.
//   r11   the time, if the clause uses it
//   r10   the hash of the thread's slots or the address of the only slot, if the clause
//         uses thread-local variables
//
// Some arguments of a static probe are read before the first action. They are on the
// stack, below the saved registers.
//
// A routine has these steps. If a step before the last one cannot handle a case, the
// routine jumps to `bail`, and the engine runs the clause.
//
//   1. Test that the agent is alive and that the probe has the same clauses as when the
//      routine was compiled.
//   2. Evaluate the predicate.
//   3. Test that the session is active.
//   4. Read the time, find the thread's variables, copy arguments to the stack.
//   5. Find the counters of keys.
//   6. Lock the shard, if the clause records.
//   7. Run the actions, which cannot fail.
#pragma once

#include "ptrace-agent/native/arch/x86_64/counters.hpp"
#include "ptrace-agent/native/arch/x86_64/frame.hpp"
#include "ptrace-agent/native/arch/x86_64/operands.hpp"
#include "ptrace-agent/native/arch/x86_64/record.hpp"

#include <functional>
#include <map>
#include <memory>

namespace dt::native::x86 {

class Routine : Part {
public:
    explicit Routine(Frame& frame);
    static constexpr std::size_t max_words = 8; // words that a routine may push
    Result<Compiled> emit();

private:
    // routine.cpp
    void enter();
    void restore();
    void leave();
    void bail();
    void to_site();
    void check_session();
    void find_keys();
    void step(const Step& step, std::optional<Reg64> counters);

    // value.cpp. value() and text() return the register that contains the value: a
    // register from the pool, or the register of an argument.
    Reg64 value(const Value& value);
    Reg64 text(const Value& value);
    bool insn(const dt_difo& difo, std::uint32_t pc, std::vector<Label>& labels);
    void arithmetic(std::uint32_t insn);
    void shift(std::uint32_t insn);
    void load_builtin(Reg64 to, std::uint32_t id);
    void predicate();
    // Returns the register that contains the value of a DIF register. For %r0, sets rcx
    // to 0 and returns rcx.
    Reg64 source(std::uint32_t reg);
    Reg64 destination(std::uint32_t reg);

    // state.cpp
    void find_thread();
    void find_variable(std::uint32_t id, Label& absent);
    void need(const ClausePlan::Needs& needs, const ClausePlan::Needs& had,
              Label& absent);
    void sample_time();
    Xbyak::Address variable(std::uint32_t id); // may change rcx and the flags

    // keys.cpp
    void low_bytes(Reg64 to, Reg64 from, std::uint32_t n_bytes);
    std::vector<Reg64> key_words(const std::vector<Step::Part>& parts);
    Reg64 find_key(const Step& step);
    void place_searches();

    OperandReader operands_;
    Recorder recorder_;
    Counters counters_;
    std::map<std::uint32_t, Reg64> dif_registers_;
    std::map<std::uint32_t, std::uint64_t> constants_; // known values of DIF registers
    bool condition_ = false; // the flags contain the result of DIF's last comparison
    bool one_variable_ = false, has_variables_ = false, uses_thread_ids_ = false;
    Reg64 thread_; // address of the struct dt_rt_thread, if the clause uses pid or tid
    bool have_thread_ = false, have_time_ = false;
    std::vector<std::optional<Reg64>>
        keys_; // for each step, the offset of the counters of its key
    struct Search {
        Label empty, other, found;
        std::function<void()> rest;
    };
    std::vector<std::unique_ptr<Search>> searches_;
};

} // namespace dt::native::x86
