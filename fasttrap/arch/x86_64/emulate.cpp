// SPDX-License-Identifier: MIT
// Applies each modelled operation to a Machine (machine.hpp). An operation writes
// memory at most once, after all its reads. So an operation that faults has no effect,
// except that call_rm may have written below the stack pointer.
#include "fasttrap/arch/x86_64/emulate.hpp"

#include "fasttrap/arch/x86_64/machine.hpp"

namespace dt::x86 {

namespace {

class Operations : public Machine {
public:
    using Machine::Machine;

    // Executes the instruction. Returns false if an access to memory failed. fault()
    // then describes this access.
    bool run()
    {
        switch (operation_of(insn_)) {
#define X(name)                                                                        \
    case Op::name:                                                                     \
        do_##name();                                                                   \
        break;
            X86_OPERATIONS(X)
#undef X
        case Op::unmodelled:
            break;
        }
        return !faulted_;
    }

private:
    void do_nop() {}
    void do_mov()
    {
        set(0, get(1));
    }
    void do_movzx()
    {
        set(0, get(1));
    }
    void do_movsx()
    {
        set(0, static_cast<std::uint64_t>(sign_extend(get(1), insn_.operands[1].size)));
    }
    void do_lea()
    {
        // lea ignores segments.
        Registers flat = regs_;
        flat.fs_base = flat.gs_base = 0;
        set(0, effective_address(insn_, flat).value);
    }
    void do_push()
    {
        push_value(get(0));
    }
    void do_pop()
    {
        std::uint64_t value = pop_value();
        // Set the operand after rsp has changed, because pop %rsp must leave the word
        // from the stack in rsp.
        set(0, value);
    }
    void do_leave()
    {
        regs_[Reg::rsp] = regs_[Reg::rbp];
        regs_[Reg::rbp] = pop_value();
    }

    void do_add()
    {
        set(0, sum(get(0), get(1), false));
    }
    void do_adc()
    {
        set(0, sum(get(0), get(1), carry()));
    }
    void do_sub()
    {
        set(0, difference(get(0), get(1), false));
    }
    void do_sbb()
    {
        set(0, difference(get(0), get(1), carry()));
    }
    void do_cmp()
    {
        std::uint64_t a = get(0);
        difference(a, get(1), false);
    }
    void do_or_()
    {
        set(0, logic(get(0) | get(1)));
    }
    void do_and_()
    {
        set(0, logic(get(0) & get(1)));
    }
    void do_xor_()
    {
        set(0, logic(get(0) ^ get(1)));
    }
    void do_test()
    {
        logic(get(0) & get(1));
    }
    void do_inc()
    {
        std::uint64_t kept = regs_.rflags & cf;
        set(0, sum(get(0), 1, false));
        set_flags(cf, kept);
    }
    void do_dec()
    {
        std::uint64_t kept = regs_.rflags & cf;
        set(0, difference(get(0), 1, false));
        set_flags(cf, kept);
    }
    void do_not_()
    {
        set(0, ~get(0));
    }
    void do_neg()
    {
        set(0, difference(0, get(0), false));
    }
    void do_shl()
    {
        unsigned count = shift_count();
        std::uint64_t a = get(0);
        std::uint64_t result = a << count & mask_of(size());
        if (count != 0) {
            bool out = count <= size() * 8 && (a >> (size() * 8 - count) & 1) != 0;
            shift_flags(result, out, ((result & sign_bit(size())) != 0) != out);
        }
        set(0, result);
    }
    void do_shr()
    {
        unsigned count = shift_count();
        std::uint64_t a = get(0);
        std::uint64_t result = a >> count;
        if (count != 0)
            shift_flags(result, (a >> (count - 1) & 1) != 0,
                        (a & sign_bit(size())) != 0);
        set(0, result);
    }
    void do_sar()
    {
        unsigned count = shift_count();
        std::int64_t a = sign_extend(get(0), size());
        auto result = static_cast<std::uint64_t>(a >> count);
        if (count != 0)
            shift_flags(result, (a >> (count - 1) & 1) != 0, false);
        set(0, result);
    }
    void do_setcc()
    {
        set(0, holds(insn_.condition, regs_.rflags) ? 1 : 0);
    }
    void do_cmovcc()
    {
        // The processor always reads the source. It clears the upper half of a 4-byte
        // destination even if the condition is false.
        std::uint64_t from = get(1);
        set(0, holds(insn_.condition, regs_.rflags) ? from : get(0));
    }
    void do_xchg()
    {
        std::uint64_t a = get(0);
        std::uint64_t b = get(1);
        set(0, b);
        set(1, a);
    }
    void do_bswap()
    {
        std::uint64_t a = get(0);
        set(0, size() == 8 ? __builtin_bswap64(a)
                           : __builtin_bswap32(static_cast<std::uint32_t>(a)));
    }
    void do_widen() // cbw, cwde, cdqe
    {
        auto wide =
            static_cast<std::uint64_t>(sign_extend(regs_[Reg::rax], size() / 2));
        set_general(Reg::rax, size(), wide);
    }
    void do_spread() // cwd, cdq, cqo
    {
        bool negative = (regs_[Reg::rax] & sign_bit(size())) != 0;
        set_general(Reg::rdx, size(), negative ? ~0ULL : 0);
    }

    void do_pushf()
    {
        push_value(regs_.rflags & ~(rf | vm));
    }
    void do_lahf()
    {
        std::uint64_t low = (regs_.rflags & (cf | pf | af | zf | sf)) | 2;
        regs_[Reg::rax] = (regs_[Reg::rax] & ~0xff00ULL) | low << 8;
    }
    void do_sahf()
    {
        set_flags(cf | pf | af | zf | sf, regs_[Reg::rax] >> 8);
    }
    void do_cmc()
    {
        regs_.rflags ^= cf;
    }
    void do_clc()
    {
        set_flags(cf, 0);
    }
    void do_stc()
    {
        set_flags(cf, cf);
    }
    void do_cld()
    {
        set_flags(df, 0);
    }
    void do_std_()
    {
        set_flags(df, df);
    }

    void do_call()
    {
        push_value(insn_.next().value);
        go_to(insn_.target.value);
    }
    void do_call_rm()
    {
        std::uint64_t where = get(0);
        push_value(insn_.next().value); // remains in memory even if the jump faults
        if (can_go_to(where))
            go_to(where);
    }
    void do_jmp()
    {
        go_to(insn_.target.value);
    }
    void do_jmp_rm()
    {
        std::uint64_t where = get(0);
        if (can_go_to(where))
            go_to(where);
    }
    void do_jcc()
    {
        if (holds(insn_.condition, regs_.rflags))
            go_to(insn_.target.value);
    }
    // With an address-size prefix, the counter is ecx.
    unsigned counter_size() const
    {
        return insn_.has(prefix_address_size) ? 4 : 8;
    }
    void do_loop_()
    {
        unsigned size = counter_size();
        set_general(Reg::rcx, size, regs_[Reg::rcx] - 1);
        bool zero = (regs_.rflags & zf) != 0;
        bool goes_on = insn_.condition == 0   ? !zero
                       : insn_.condition == 1 ? zero
                                              : true;
        if ((regs_[Reg::rcx] & mask_of(size)) != 0 && goes_on)
            go_to(insn_.target.value);
    }
    void do_jrcxz()
    {
        if ((regs_[Reg::rcx] & mask_of(counter_size())) == 0)
            go_to(insn_.target.value);
    }
    void do_ret()
    {
        std::uint64_t where = pop_value();
        if (!can_go_to(where))
            return;
        regs_[Reg::rsp] += get(0) & 0xffff; // for ret n; a plain ret has no operand
        go_to(where);
    }
};

} // namespace

TargetAddr effective_address(const Instruction& insn, const Registers& regs)
{
    const MemoryOperand& memory = insn.memory;
    auto sum = static_cast<std::uint64_t>(memory.disp);
    if (insn.rip_relative)
        sum += insn.next().value;
    if (memory.base != Reg::none)
        sum += regs[memory.base];
    if (memory.index != Reg::none)
        sum += regs[memory.index] * memory.scale;
    if (memory.address_32)
        sum &= 0xffffffff;
    if (memory.segment == Segment::fs)
        sum += regs.fs_base;
    else if (memory.segment == Segment::gs)
        sum += regs.gs_base;
    return TargetAddr{sum};
}

bool can_emulate(const Instruction& insn)
{
    Op op = operation_of(insn);
    if (op == Op::unmodelled)
        return false;
    if (!insn.has_memory || insn.operands[0].kind != Operand::mem)
        return true;
    switch (op) {
    case Op::mov:
        return on_own_stack(insn.memory);
    case Op::cmp:
    case Op::test:
    case Op::push:
    case Op::call_rm:
    case Op::jmp_rm:
        return true;
    default:
        return false;
    }
}

Emulation emulate(const Instruction& insn, Registers& regs, TargetMemory& memory)
{
    if (!can_emulate(insn))
        return {};
    Operations machine(insn, regs, memory);
    if (!machine.run())
        return {Emulation::fault, machine.fault()};
    regs = machine.registers();
    return {Emulation::done, {}};
}

} // namespace dt::x86
