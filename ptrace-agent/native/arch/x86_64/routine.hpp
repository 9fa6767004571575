// SPDX-License-Identifier: MIT
// One clause's routine, in the registers that it may use.
//
//   %rbx  the site, from the first instruction on
//   %rcx  scratch, never kept
//   pool  rdx r10 r11, and registers of arguments that the clause does not read: saved
//         on the target's stack when the routine uses them; and rax, when the flags are
//         on the stack (`Flags::on_stack`), else they are in %ax
//
// Arguments of a static probe that have to be read before anything is done stand on the
// stack, below what was saved.
//
// Clauses that ask for the time keep it in r11, those with thread-local variables the
// thread's slot or hash in r10; where keys' counters are, the shard and the record are in
// registers that are held, that is, taken from the pool. The rest is for DIF's registers.
//
// In order: are the probe's clauses those that were compiled? predicate; is the session active? time and variables;
// keys; the shard, if it records; then the steps, which cannot fail. Before them anything
// odd goes to `bail`.
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
    // save: of the pool, what emit() found to be used the first time.
    Routine(const ClausePlan& plan, const Target& target, std::uint64_t at,
            std::vector<Reg64> save);
    static constexpr std::size_t max_words = 8; // that it pushes
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

    // value.cpp: where the value is; one of the pool, or an argument's register.
    Reg64 value(const Value& value);
    Reg64 text(const Value& value);
    bool insn(const dt_difo& difo, std::uint32_t pc, std::vector<Label>& labels);
    void arithmetic(std::uint32_t insn);
    void shift(std::uint32_t insn);
    void load_builtin(Reg64 to, std::uint32_t id);
    void predicate();
    Reg64 source(std::uint32_t reg); // of DIF; r0 is in rcx
    Reg64 destination(std::uint32_t reg);
    std::optional<Reg64> argument_register(std::uint32_t n) const;

    // operands.cpp: arguments of a static probe.
    bool is_direct(std::uint32_t n) const; // all of a register that is never changed
    void load_operand(Reg64 to, std::uint32_t n); // leaves the flags alone
    void load_ahead(std::uint32_t arguments);
    void read_operand(Reg64 to, const dt_operand& operand);
    void address_of(Reg64 to, const dt_operand& operand);
    void ensure_known(Reg64 address, const dt_operand& operand);
    void widen(Reg64 value, const dt_operand& operand);
    void widen_float(Reg64 value);
    void load_program(Reg64 to, unsigned number); // leaves the flags alone
    Xbyak::Address slot(std::uint32_t n) const;   // of an argument that is read ahead
    void place_lookups();

    // state.cpp: what is asked of the thread and the clock.
    void find_thread();
    void find_variable(std::uint32_t id, Label& absent);
    void need(const ClausePlan::Needs& needs, const ClausePlan::Needs& had,
              Label& absent);
    void sample_time();
    Xbyak::Address variable(std::uint32_t id); // may use rcx and the flags

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

    // counters.cpp; of a key: where from the action's counters
    void count(const dt_action& action, std::optional<Reg64> key);
    void sum(const dt_action& action, std::optional<Reg64> key, Reg64 value);
    void quantize(const dt_action& action, std::optional<Reg64> key, Reg64 value);
    // add(is the set shared?), with the set's or the key's address in rcx
    template <class Add> void add_on_cpu(std::optional<Reg64> key, Add add);
    void place_sections();

    Reg64 use(Reg64 reg); // it is to be saved
    bool is_argument(Reg64 reg) const;
    bool in_pool(Reg64 reg) const;
    void hold(Reg64 reg);    // of the pool
    void release(Reg64 reg); // which may never have been held
    Reg64 temporary(std::initializer_list<Reg64> but);
    // Words above the routine's own: 0: the program's rax, 1: rcx, 2: rbx, and its stack.
    std::size_t above(unsigned word) const;
    Xbyak::Address saved(unsigned word) const;
    std::optional<Xbyak::Address> saved(Reg64 reg) const; // by the routine
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
    std::map<std::uint32_t, Reg64> registers_;         // DIF's
    std::map<std::uint32_t, std::uint64_t> constants_; // of those that are known
    bool condition_ = false; // the flags are those of DIF's last comparison
    bool one_variable_ = false, has_variables_ = false, asks_who_ = false;
    Reg64 thread_; // its struct dt_rt_thread, when the clause asks who it is
    bool have_thread_ = false, have_time_ = false;
    std::uint32_t ahead_ = 0, have_ahead_ = 0; // arguments; those that are read by now
    Label leave_, bail_;
    std::vector<std::optional<Reg64>> keys_; // of the steps
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
    std::vector<std::unique_ptr<Access>> accesses_; // may fault
    Reg64 shard_;
    Label beyond_, within_, full_;
    struct Section {
        Label descriptor, start, end, abort, done;
        Label foreign;          // armed on a CPU that has no set
        Label access, accessed; // where the area is first looked at
        std::function<void()> shared, disarm;
    };
    std::vector<std::unique_ptr<Section>> sections_;
    std::string failed_;
};

} // namespace dt::native::x86
