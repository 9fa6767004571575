// SPDX-License-Identifier: MIT
// Emits the routine of one clause, and assigns the registers that it uses.
//
//   %rbx  the site, from the first instruction on
//   %rcx  scratch, which any step may change
//   pool  rdx, r10, r11 and the argument registers that the clause does not read. If the
//         routine uses one, it saves it on the target's stack. rax is in the pool if the
//         flags are on the stack (`Flags::on_stack`). Otherwise %ax contains the flags.
//
// Some arguments of a static probe are read before the first action. They are on the stack,
// below the saved registers.
//
// r11 contains the time, if the clause uses it. r10 contains the hash of the thread's slots
// or the address of the only slot, if the clause uses thread-local variables. Offsets of
// keys' counters, the shard and the record are in registers that are held, which means that
// they are taken from the pool. The remaining registers are used for those of DIF.
//
// A routine has these steps. Up to the last one, any case that it does not handle jumps
// to `bail`, and the engine runs the clause.
//
//   1. Test that the agent lives and that the probe has the same clauses as when it was
//      compiled.
//   2. Evaluate the predicate.
//   3. Test that the session is active.
//   4. Read the time, find the thread's variables, read arguments to the stack.
//   5. Find the counters of keys.
//   6. Take the shard, if the clause records.
//   7. Run the actions, which cannot fail.
#pragma once

#include "ptrace-agent/native/arch/x86_64/assembler.hpp"
#include "ptrace-agent/native/native.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace dt::native::x86 {

using Xbyak::Label;
using Xbyak::Reg32;
using Xbyak::Reg64;

class Routine {
public:
    // save: the registers of the pool that a first emit() found to be used.
    Routine(const ClausePlan& plan, const Target& target, std::uint64_t at,
            std::vector<Reg64> save);
    static constexpr std::size_t max_words = 8; // words that a routine may push
    Result<Compiled> emit();
    const std::vector<Reg64>& used() const { return used_; }
    std::size_t n_slots() const; // words of arguments that are read ahead

private:
    enum class Flags { in_ax, on_stack };

    // routine.cpp
    void enter();
    void restore();
    void leave();
    void bail();
    void to_site();
    void check_session();
    void find_keys();
    void step(const Step& step, std::optional<Reg64> counters);

    // value.cpp. value() and text() return the register that contains the value: one of the
    // pool, or that of an argument.
    Reg64 value(const Value& value);
    Reg64 text(const Value& value);
    bool insn(const dt_difo& difo, std::uint32_t pc, std::vector<Label>& labels);
    void arithmetic(std::uint32_t insn);
    void shift(std::uint32_t insn);
    void load_builtin(Reg64 to, std::uint32_t id);
    void predicate();
    Reg64 source(std::uint32_t reg); // reg is DIF's; r0 is loaded to rcx
    Reg64 destination(std::uint32_t reg);
    std::optional<Reg64> argument_register(std::uint32_t n) const;

    // operands.cpp: arguments of a static probe.
    bool
    is_direct(std::uint32_t n) const; // it is a register that routines never change
    void load_operand(Reg64 to, std::uint32_t n); // does not change the flags
    void load_ahead(std::uint32_t arguments);
    void read_operand(Reg64 to, const dt_operand& operand);
    void address_of(Reg64 to, const dt_operand& operand);
    void ensure_known(Reg64 address, const dt_operand& operand);
    void widen(Reg64 value, const dt_operand& operand);
    void widen_float(Reg64 value);
    void load_program(Reg64 to, unsigned number); // does not change the flags
    Xbyak::Address
    slot(std::uint32_t n) const; // slot of an argument that is read ahead
    void place_lookups();

    // state.cpp: the thread, its variables, and the clock.
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

    // record.cpp
    void active_buffer();
    Xbyak::Address used_bytes();
    void take_shard();
    void record(const dt_action& action, Reg64 value);
    void publish();
    void place_shard_ends();

    // counters.cpp. key: the offset of the key's counters from those of the action.
    void count(const dt_action& action, std::optional<Reg64> key);
    void sum(const dt_action& action, std::optional<Reg64> key, Reg64 value);
    void quantize(const dt_action& action, std::optional<Reg64> key, Reg64 value);
    // Calls add(shared) to emit the addition. rcx contains the address of the set, or of the
    // key in it. shared: other CPUs use this set, too.
    template <class Add> void add_on_cpu(std::optional<Reg64> key, Add add);
    void place_sections();

    Reg64 use(Reg64 reg); // notes that the register has to be saved
    bool is_argument(Reg64 reg) const;
    bool in_pool(Reg64 reg) const;
    void hold(Reg64 reg);    // takes it from the pool
    void release(Reg64 reg); // has no effect if the register is not held
    Reg64 temporary(std::initializer_list<Reg64> but);
    // Words above those that the routine pushed: 0 is the program's rax, 1 rcx, 2 rbx, 3 the
    // program's stack.
    std::size_t above(unsigned word) const;
    Xbyak::Address saved(unsigned word) const;
    std::optional<Xbyak::Address> saved(Reg64 reg) const; // if the routine saved it
    void fail(const char* why)
    {
        if (failed_.empty())
            failed_ = why;
    }
    const dt_arena& arena() const { return *static_cast<const dt_arena*>(plan_.arena); }

    const ClausePlan& plan_;
    const Target& target_;
    Assembler a_;
    Flags flags_;
    std::vector<Reg64> save_, used_, pool_, held_;
    std::map<std::uint32_t, Reg64> registers_;         // those of DIF
    std::map<std::uint32_t, std::uint64_t> constants_; // known values of DIF registers
    bool condition_ = false; // the flags are those of DIF's last comparison
    bool one_variable_ = false, has_variables_ = false, uses_thread_ids_ = false;
    Reg64 thread_; // address of the struct dt_rt_thread, if the clause uses pid or tid
    bool have_thread_ = false, have_time_ = false;
    // Bits of the arguments that are read ahead, and of those that were read so far.
    std::uint32_t ahead_ = 0, have_ahead_ = 0;
    Label leave_, bail_;
    std::vector<std::optional<Reg64>>
        keys_; // offset of the key's counters, for each step
    struct Search {
        Label empty, other, found;
        std::function<void()> rest;
    };
    std::vector<std::unique_ptr<Search>> searches_;
    struct Lookup {
        Label unsure, known;
        std::function<void()> rest;
    };
    std::vector<std::unique_ptr<Lookup>> lookups_;
    struct Access {
        Label begin, end;
    };
    std::vector<std::unique_ptr<Access>> accesses_; // loads that may fault
    Reg64 shard_;
    Label beyond_, within_, full_;
    struct Section {
        Label descriptor, start, end, abort, done;
        Label foreign;          // the sequence is armed on a CPU that has no set
        Label access, accessed; // begin and end of the first accesses to struct rseq
        std::function<void()> shared, disarm;
    };
    std::vector<std::unique_ptr<Section>> sections_;
    std::string failed_;
};

} // namespace dt::native::x86
