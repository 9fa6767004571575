// SPDX-License-Identifier: MIT
#include "differential.hpp"

#include "fasttrap/arch/x86_64/decode.hpp"

#include <capstone/capstone.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <iomanip>
#include <sstream>

namespace dt::test {

namespace {

constexpr std::uint64_t resume_flag = 1 << 16;
constexpr std::uint64_t adjust_flag = 0x10;
constexpr std::uint64_t overflow_flag = 0x800;
constexpr std::uint64_t carry_flag = 1;

std::uint64_t undefined_flags(const Instruction& insn)
{
    switch (x86::operation_of(insn)) {
    case x86::Op::and_:
    case x86::Op::or_:
    case x86::Op::xor_:
    case x86::Op::test:
        return adjust_flag;
    case x86::Op::shl:
    case x86::Op::shr:
    case x86::Op::sar: {
        unsigned size = insn.operands[0].size;
        unsigned count = unsigned(insn.immediate) & (size == 8 ? 63 : 31);
        return count == 0 ? 0
                          : adjust_flag | (count > 1 ? overflow_flag : 0) |
                                (count >= size * 8 ? carry_flag : 0);
    }
    default:
        return 0;
    }
}

// Returns whether insn is a shift. A shift clears the adjust flag on Intel processors
// and sets it on AMD processors.
bool is_shift(const Instruction& insn)
{
    switch (x86::operation_of(insn)) {
    case x86::Op::shl:
    case x86::Op::shr:
    case x86::Op::sar:
        return true;
    default:
        return false;
    }
}

// Compares vector states. Ignores the XSAVE header, the x87 opcode, and the x87
// pointers, which depend on the address of the text.
bool same_vectors(const NativeState& a, const NativeState& b)
{
    auto equal = [&](std::size_t first, std::size_t end) {
        return std::equal(a.vectors.begin() + first, a.vectors.begin() + end,
                          b.vectors.begin() + first);
    };
    return equal(0, 6) && equal(24, 512) && equal(576, vector_bytes);
}

void describe(std::ostream& out, const char* what, const NativeState& state)
{
    static const char* const names[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp",
                                        "rsi", "rdi", "r8",  "r9",  "r10", "r11",
                                        "r12", "r13", "r14", "r15"};
    out << what << ": rip " << std::hex << state.regs.rip << " flags "
        << state.regs.rflags << " signal " << std::dec << state.signal << " at "
        << std::hex << state.fault_address;
    for (std::size_t i = 0; i < 16; ++i)
        out << (i % 4 == 0 ? "\n    " : " ") << names[i] << ' ' << std::setw(16)
            << state.regs.general[i];
    out << std::dec << '\n';
}

} // namespace

std::string disassemble(std::span<const std::byte> bytes)
{
    std::ostringstream out;
    for (std::byte byte : bytes)
        out << std::hex << std::setw(2) << std::setfill('0') << unsigned(byte) << ' ';
    csh handle = 0;
    cs_insn* insn = nullptr;
    cs_open(CS_ARCH_X86, CS_MODE_64, &handle);
    if (cs_disasm(handle, reinterpret_cast<const std::uint8_t*>(bytes.data()),
                  bytes.size(), 0, 1, &insn) == 1) {
        out << insn->mnemonic << ' ' << insn->op_str;
        cs_free(insn, 1);
    }
    cs_close(&handle);
    return out.str();
}

void Differential::restore_data(const Case& c)
{
    std::copy(c.data.begin(), c.data.end(), sandbox_.data().begin());
}

Outcome Differential::run_native(const Case& c)
{
    std::byte* at =
        sandbox_.code() + (c.insn.at.value - Sandbox::address(sandbox_.code()));
    std::copy_n(c.insn.bytes.begin(), c.insn.length, at);
    write_pad(at + c.insn.length, Pad::behind);
    write_pad(sandbox_.code() + (c.pads[1] - Sandbox::address(sandbox_.code())),
              Pad::target);
    restore_data(c);
    Outcome outcome{c.start, {}};
    native_run(outcome.state, c.pads);
    outcome.state.regs.fs_base = c.start.regs.fs_base;
    outcome.data.assign(sandbox_.data().begin(), sandbox_.data().end());
    return outcome;
}

// AMD processors store the return address of a call even if the target is not
// canonical. So this word below the stack pointer is not compared.
bool Differential::same_memory(const Case& c, const Outcome& native)
{
    bool is_call =
        c.insn.flow == ControlFlow::call || c.insn.flow == ControlFlow::call_indirect;
    bool called_nothing = is_call && native.state.signal != 0;
    std::uint64_t below =
        c.start.regs[Reg::rsp] - 8 - Sandbox::address(sandbox_.data().data());
    for (std::size_t i = 0; i < native.data.size(); i++)
        if (native.data[i] != sandbox_.data()[i] && !(called_nothing && i - below < 8))
            return false;
    return true;
}

bool Differential::same(const Case& c, const Outcome& native, const NativeState& ours,
                        std::uint64_t ignored_flags, bool with_vectors)
{
    ignored_flags |= resume_flag;
    const Registers& a = native.state.regs;
    const Registers& b = ours.regs;
    const char* what = nullptr;
    if (a.general != b.general)
        what = "registers";
    else if (((a.rflags ^ b.rflags) & ~ignored_flags) != 0)
        what = "flags";
    else if (a.rip != b.rip)
        what = "rip";
    else if (native.state.signal != ours.signal ||
             native.state.fault_address != ours.fault_address)
        what = "signal";
    else if (!same_memory(c, native))
        what = "memory";
    else if (with_vectors && native.state.signal == 0 &&
             !same_vectors(native.state, ours))
        what = "vector state";
    if (what == nullptr)
        return true;
    differs(c, native, ours, what);
    return false;
}

void Differential::differs(const Case& c, const Outcome& native,
                           const NativeState& ours, const std::string& what)
{
    std::ostringstream out;
    out << what << " differ for " << disassemble(c.insn.text()) << '\n';
    describe(out, "start ", c.start);
    describe(out, "native", native.state);
    describe(out, "ours  ", ours);
    for (std::size_t i = 0; i < Sandbox::data_bytes; ++i) {
        if (native.data.empty() || native.data[i] == sandbox_.data()[i])
            continue;
        out << "first byte at data+" << std::hex << i << ": native "
            << unsigned(native.data[i]) << " ours " << unsigned(sandbox_.data()[i])
            << std::dec << '\n';
        break;
    }
    report_ = out.str();
}

Verdict Differential::check_emulated(const Case& c, const Outcome& native)
{
    restore_data(c);
    NativeState ours = c.start;
    Emulation did = x86_64.emulate(c.insn, ours.regs, sandbox_);
    bool jumped_wild =
        native.state.signal != 0 && native.state.regs.rip != c.insn.at.value;
    if (native.state.signal == 0 || jumped_wild) {
        ours.signal = native.state.signal;
        ours.fault_address = native.state.fault_address;
        if (did.outcome != Emulation::done) {
            differs(c, native, ours, "outcome (not done)");
            return Verdict::differs;
        }
        return same(c, native, ours, undefined_flags(c.insn), false) ? Verdict::emulated
                                                                     : Verdict::differs;
    }
    // The original faulted. So the emulation must fault and change nothing, and the
    // copy must raise the same signal.
    bool untouched = ours.regs == c.start.regs && same_memory(c, native);
    if (did.outcome != Emulation::fault || !untouched) {
        differs(c, native, ours, "outcome (no fault, or a trace of it)");
        return Verdict::differs;
    }
    Displaced plan = x86_64.plan_after_fault(c.insn, did.memory_fault);
    return check_copied(c, native, plan) == Verdict::differs ? Verdict::differs
                                                             : Verdict::faulted;
}

Verdict Differential::check_copied(const Case& c, const Outcome& native,
                                   const Displaced& plan)
{
    // An access_only copy uses the data that the emulation has changed. Other copies
    // start with the original data.
    if (!plan.access_only)
        restore_data(c);
    TargetAddr slot{Sandbox::address(sandbox_.slot()) + random_() % 512};
    std::byte* at = sandbox_.slot() + (slot.value - Sandbox::address(sandbox_.slot()));
    std::copy_n(plan.copy.begin(), plan.copy_length, at);
    write_pad(at + plan.copy_length, Pad::behind);
    NativeState ours = c.start;
    SlotRun run = prepare_out_of_line(plan, slot, ours.regs);
    native_run(ours, {slot.value + plan.copy_length, 0});
    SlotEnd end = finish_out_of_line(plan, run, ours.regs);
    ours.regs.fs_base = c.start.regs.fs_base;
    if (ours.signal == SIGILL || ours.signal == SIGFPE || ours.signal == SIGTRAP)
        ours.fault_address =
            original_address(plan, run, TargetAddr{ours.fault_address}).value;
    bool expected =
        end == (native.state.signal != 0 ? SlotEnd::unfinished : SlotEnd::finished);
    if (!expected) {
        differs(c, native, ours, "end of the copy");
        return Verdict::differs;
    }
    if (!same(c, native, ours, 0, true))
        return Verdict::differs;
    return native.state.signal != 0 ? Verdict::faulted : Verdict::copied;
}

Verdict Differential::check(std::span<const std::byte> bytes)
{
    std::optional<Case> c = arrange(bytes);
    if (!c)
        return Verdict::skipped;
    Displaced plan = x86_64.plan_displaced(c->insn);
    if (plan.how == Displaced::refused)
        return Verdict::refused;
    Outcome native = run_native(*c);
    if (plan.how == Displaced::out_of_line)
        return check_copied(*c, native, plan);
    Verdict verdict = check_emulated(*c, native);
    n_emulated_[c->insn.operation] += verdict == Verdict::emulated ? 1 : 0;
    // Also test the copy that runs after a fault of an emulated instruction. This copy
    // must not depend on rip.
    if (verdict == Verdict::emulated && c->insn.flow == ControlFlow::next && pick(25) &&
        check_copied(*c, native, x86_64.plan_after_fault(c->insn, {})) ==
            Verdict::differs)
        return Verdict::differs;
    return verdict;
}

Verdict
Differential::check_sequence(const std::vector<std::vector<std::byte>>& sequence)
{
    std::optional<Case> first;
    std::vector<std::byte> text;
    std::uint64_t base = Sandbox::address(sandbox_.code()) + 2048;
    std::vector<Instruction> insns;
    for (const std::vector<std::byte>& bytes : sequence) {
        std::optional<Case> c = arrange(bytes);
        if (!c || c->insn.flow != ControlFlow::next || is_string(c->insn) ||
            (c->insn.has_memory && !forms_no_access(c->insn)) || is_popf(c->insn) ||
            (undefined_flags(c->insn) & ~adjust_flag) != 0 || is_shift(c->insn))
            continue;
        TargetAddr at{base + text.size()};
        text.insert(text.end(), c->insn.bytes.begin(),
                    c->insn.bytes.begin() + c->insn.length);
        insns.push_back(*x86_64.decode(c->insn.text(), at));
        if (!first)
            first = std::move(c);
    }
    if (insns.size() < 2)
        return Verdict::skipped;
    for (const Instruction& insn : insns) {
        if (x86_64.plan_displaced(insn).how == Displaced::refused)
            return Verdict::refused;
    }
    Case c = std::move(*first);
    c.start.regs.rip = base;
    c.insn = insns.back();
    std::copy(text.begin(), text.end(), sandbox_.code() + 2048);
    write_pad(sandbox_.code() + 2048 + text.size(), Pad::behind);
    restore_data(c);
    // The processor does not preserve all bits of the vector state. A run without any
    // instruction clears these bits in the initial state.
    write_pad(sandbox_.slot(), Pad::behind);
    c.start.regs.rip = Sandbox::address(sandbox_.slot());
    native_run(c.start, {base, 0});
    c.start.regs.fs_base = own_fs_base();
    Outcome native{c.start, {}};
    native_run(native.state, {base + text.size(), 0});
    native.state.regs.fs_base = c.start.regs.fs_base;
    native.data.assign(sandbox_.data().begin(), sandbox_.data().end());

    restore_data(c);
    NativeState ours = c.start;
    std::uint64_t undefined = 0;
    for (const Instruction& insn : insns) {
        Displaced plan = x86_64.plan_displaced(insn);
        undefined |= undefined_flags(insn);
        if (plan.how == Displaced::emulate &&
            x86_64.emulate(insn, ours.regs, sandbox_).outcome == Emulation::done)
            continue;
        TargetAddr slot{Sandbox::address(sandbox_.slot())};
        plan =
            plan.how == Displaced::emulate ? x86_64.plan_after_fault(insn, {}) : plan;
        std::copy_n(plan.copy.begin(), plan.copy_length, sandbox_.slot());
        write_pad(sandbox_.slot() + plan.copy_length, Pad::behind);
        SlotRun run = prepare_out_of_line(plan, slot, ours.regs);
        native_run(ours, {slot.value + plan.copy_length, 0});
        if (finish_out_of_line(plan, run, ours.regs) != SlotEnd::finished)
            break;
    }
    if (ours.signal == SIGILL || ours.signal == SIGFPE || ours.signal == SIGTRAP)
        ours.fault_address = ours.regs.rip;
    if (!same(c, native, ours, undefined, true)) {
        for (const Instruction& insn : insns)
            report_ += "  in " + disassemble(insn.text()) + "\n";
        return Verdict::differs;
    }
    return Verdict::emulated;
}

} // namespace dt::test
