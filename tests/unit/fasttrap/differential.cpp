// SPDX-License-Identifier: MIT
#include "differential.hpp"

#include "fasttrap/arch/x86_64/decode.hpp"
#include "fasttrap/arch/x86_64/emulate.hpp"
#include "fasttrap/arch/x86_64/layout.hpp"

#include <capstone/capstone.h>

#include <algorithm>
#include <cassert>
#include <csignal>
#include <cstring>
#include <iomanip>
#include <sstream>
#include <sys/mman.h>

namespace dt::test {

namespace {

constexpr std::uint64_t direction_flag = 1 << 10;
constexpr std::uint64_t resume_flag = 1 << 16;
constexpr std::uint64_t arithmetic = 0x8d5;
constexpr std::uint64_t adjust_flag = 0x10;
constexpr std::uint64_t overflow_flag = 0x800;
constexpr std::uint64_t carry_flag = 1;

std::byte* map_at(std::uint64_t hint, std::size_t bytes, int protection)
{
    void* at = mmap(reinterpret_cast<void*>(hint), bytes, protection,
                    MAP_PRIVATE | MAP_ANONYMOUS | (hint != 0 ? MAP_FIXED_NOREPLACE : 0),
                    -1, 0);
    assert(at != MAP_FAILED);
    return static_cast<std::byte*>(at);
}

// Instructions that the harness must not run, or whose result is not a function of the
// state: clocks, random numbers, segment registers, protection keys, saved x87 addresses.
// X(map, opcode, ModRM.reg or -1, memory form only)
// clang-format off
#define NOT_RUN(X)                                                             \
    X(0, 0x8e, -1, false) X(0, 0xd9, 6, true) X(0, 0xdd, 6, true)              \
    X(1, 0x00, -1, false) X(1, 0x01, -1, false)                                \
    X(1, 0x31, -1, false) X(1, 0x33, -1, false) X(1, 0xa2, -1, false)          \
    X(1, 0xa1, -1, false) X(1, 0xa9, -1, false)                                \
    X(1, 0xb2, -1, false) X(1, 0xb4, -1, false) X(1, 0xb5, -1, false)          \
    X(1, 0xae, 0, false) X(1, 0xae, 2, false) X(1, 0xae, 3, false)             \
    X(1, 0xae, 4, false) X(1, 0xae, 5, false) X(1, 0xae, 6, false)             \
    X(1, 0xc7, 3, false) X(1, 0xc7, 4, false) X(1, 0xc7, 5, false)             \
    X(1, 0xc7, 6, false) X(1, 0xc7, 7, false)
// clang-format on

bool may_run(const Instruction& insn)
{
    if (insn.flow == Flow::syscall)
        return false;
    if (insn.encoding == Encoding::vex && insn.opcode_map == 2 &&
        (insn.opcode == 0x49 || insn.opcode == 0x4b))
        return false; // tiles, which the kernel grants on request
    if (insn.encoding != Encoding::legacy)
        return true;
    int reg = insn.modrm_at != 0 ? x86::byte_at(insn, insn.modrm_at) >> 3 & 7 : 0;
#define X(map, op, ext, memory_only)                                                   \
    if (insn.opcode_map == (map) && insn.opcode == (op) &&                             \
        ((ext) < 0 || (ext) == reg) && (!(memory_only) || insn.has_memory))            \
        return false;
    NOT_RUN(X)
#undef X
    return true;
}

bool forms_no_access(const Instruction& insn)
{
    x86::Op op = x86::operation_of(insn);
    return op == x86::Op::lea || op == x86::Op::nop;
}

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
        unsigned count = unsigned(insn.operands[1].value) & (size == 8 ? 63 : 31);
        return count == 0 ? 0
                          : adjust_flag | (count > 1 ? overflow_flag : 0) |
                                (count >= size * 8 ? carry_flag : 0);
    }
    default:
        return 0;
    }
}

bool is_popf(const Instruction& insn)
{
    return insn.encoding == Encoding::legacy && insn.opcode_map == 0 &&
           insn.opcode == 0x9d;
}

bool is_string(const Instruction& insn)
{
    return insn.encoding == Encoding::legacy && insn.opcode_map == 0 &&
           ((insn.opcode >= 0xa4 && insn.opcode <= 0xa7) ||
            (insn.opcode >= 0xaa && insn.opcode <= 0xaf));
}

// The x87 instruction and operand pointers name the text that ran; they are not compared.
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

Sandbox::Sandbox()
{
    data_ = map_at(0x20000000, data_bytes, PROT_READ | PROT_WRITE);
    code_ = map_at(0x20100000, code_bytes, PROT_READ | PROT_WRITE | PROT_EXEC);
    slot_ = map_at(0, code_bytes, PROT_READ | PROT_WRITE | PROT_EXEC);
}

Sandbox::~Sandbox()
{
    munmap(data_, data_bytes);
    munmap(code_, code_bytes);
    munmap(slot_, code_bytes);
}

static bool within(std::uint64_t at, std::size_t n, std::uint64_t first,
                   std::size_t size)
{
    return at >= first && at - first < size && n <= size - (at - first);
}

bool Sandbox::read(TargetAddr from, std::span<std::byte> into)
{
    if (!within(from.value, into.size(), address(data_), data_bytes) &&
        !within(from.value, into.size(), fs_base_, 64))
        return false;
    std::memcpy(into.data(), reinterpret_cast<const void*>(from.value), into.size());
    return true;
}

bool Sandbox::write(TargetAddr to, std::span<const std::byte> bytes)
{
    if (!within(to.value, bytes.size(), address(data_), data_bytes))
        return false;
    std::memcpy(reinterpret_cast<void*>(to.value), bytes.data(), bytes.size());
    return true;
}

std::uint64_t Differential::interesting()
{
    static constexpr std::uint64_t edges[] = {0,
                                              1,
                                              2,
                                              0x7f,
                                              0x80,
                                              0xff,
                                              0x7fff,
                                              0x8000,
                                              0xffff,
                                              0x7fffffff,
                                              0x80000000,
                                              0xffffffff,
                                              0x100000000,
                                              0x7fffffffffffffff,
                                              0x8000000000000000,
                                              ~0ULL,
                                              ~0ULL - 1};
    std::uint64_t value = random_();
    switch (value % 8) {
    case 0:
    case 1:
        return edges[value / 8 % std::size(edges)];
    case 2:
        return value >> 56;
    case 3:
        return value >> 32;
    default:
        return value;
    }
}

// Registers such that the memory operand lies in the middle half of the data. False when
// no register can be changed to that end.
bool Differential::aim_memory(Case& c)
{
    Instruction& insn = c.insn;
    Registers& regs = c.start.regs;
    if (!insn.has_memory || forms_no_access(insn) || insn.rip_relative)
        return true;
    if (pick(2)) { // an address that is not there: page 0, or not canonical
        if (insn.memory.base == Reg::none || insn.memory.segment != Segment::flat)
            return false;
        if (insn.memory.index != Reg::none)
            regs[insn.memory.index] = random_() % 16;
        regs[insn.memory.base] =
            pick(50) ? random_() % 1024 : (random_() | 1ULL << 62) & ~(1ULL << 63);
        return true;
    }
    MemoryOperand& memory = insn.memory;
    bool locked = insn.has(prefix_lock) || insn.opcode == 0x86 || insn.opcode == 0x87;
    std::uint64_t align = locked || pick(50) ? ~63ULL : ~0ULL;
    std::uint64_t goal =
        (Sandbox::address(sandbox_.data().data()) + 4096 + random_() % 8192) & align;
    Reg moved = memory.base != Reg::none ? memory.base : memory.index;
    if (moved == Reg::none)
        // This thread's own block may be read, by what is known only to read.
        return memory.segment == Segment::fs && insn.n_operands == 2 &&
               insn.operands[0].kind == Operand::reg &&
               static_cast<std::uint64_t>(memory.disp) < 56;
    if (memory.index != Reg::none && memory.index != moved)
        regs[memory.index] = random_() % 16;
    std::uint64_t factor = memory.base == Reg::none ? memory.scale
                           : memory.index == moved  ? memory.scale + 1U
                                                    : 1U;
    if (memory.segment != Segment::flat)
        return false;
    regs[moved] = 0;
    std::uint64_t rest = x86::effective_address(insn, regs).value;
    if (factor != 1 && goal < rest)
        return false;
    regs[moved] = (goal - rest) / factor;
    return true;
}

// popf must not turn on single-stepping or alignment checks in the harness itself.
static void tame_popf(Case& c, std::uint64_t first)
{
    constexpr std::uint64_t tame = ~((1ULL << 8) | (1ULL << 14) | (1ULL << 18));
    std::uint64_t offset = c.start.regs[Reg::rsp] - first;
    std::uint64_t image = 0;
    std::memcpy(&image, &c.data[offset], 8);
    image &= tame;
    std::memcpy(&c.data[offset], &image, 8);
}

// Jumps lead to the target pad.
bool Differential::aim_branch(Case& c)
{
    Instruction& insn = c.insn;
    Registers& regs = c.start.regs;
    std::uint64_t pad = c.pads[1];
    // Or to nowhere: not canonical (bits 57 and up), or canonical and not mapped.
    if (pick(3))
        pad = pick(50) ? random_() | 1ULL << 62 : random_() >> 17;
    pad &= ~(1ULL << 63);
    auto put = [&](std::uint64_t at) {
        auto raw = std::bit_cast<std::array<std::byte, 8>>(pad);
        std::uint64_t first = Sandbox::address(sandbox_.data().data());
        if (within(at, 8, first, Sandbox::data_bytes))
            std::copy(raw.begin(), raw.end(),
                      c.data.begin() + static_cast<std::ptrdiff_t>(at - first));
    };
    switch (insn.flow) {
    case Flow::ret:
        put(regs[Reg::rsp]);
        return true;
    case Flow::jump_indirect:
    case Flow::call_indirect:
        if (insn.n_operands == 0)
            return false;
        if (insn.operands[0].kind == Operand::mem)
            put(x86::effective_address(insn, regs).value);
        else if (insn.operands[0].number == Reg::rsp)
            return false;
        else
            regs[insn.operands[0].number] = pad;
        return true;
    default:
        return true;
    }
}

std::optional<Case> Differential::arrange(std::span<const std::byte> bytes)
{
    std::uint64_t at = Sandbox::address(sandbox_.code()) + 512 + random_() % 1024;
    Result<Instruction> decoded = x86_64.decode(bytes, TargetAddr{at});
    if (!decoded || !may_run(*decoded))
        return std::nullopt;
    Case c;
    // Displacements are made to reach the data, or the target pad.
    std::array<std::byte, 15> text = decoded->bytes;
    x86::Layout layout = x86::lay_out(decoded->text());
    c.pads = {decoded->next().value, decoded->next().value + 40 + random_() % 60};
    std::uint64_t next = decoded->next().value;
    std::uint64_t data = Sandbox::address(sandbox_.data().data());
    bool direct = decoded->flow == Flow::jump || decoded->flow == Flow::branch ||
                  decoded->flow == Flow::call;
    if (decoded->rip_relative) {
        auto disp = static_cast<std::uint32_t>(
            (data + 4096 + (random_() % 8192 & ~63ULL)) - next);
        std::memcpy(&text[layout.disp_at], &disp, 4);
    } else if (direct) {
        auto disp = static_cast<std::uint32_t>(c.pads[1] - next);
        std::memcpy(&text[layout.imm_at], &disp, layout.imm_size);
    }
    decoded = x86_64.decode(std::span(text).first(layout.length), TargetAddr{at});
    if (!decoded)
        return std::nullopt;
    c.insn = *decoded;

    c.data.resize(Sandbox::data_bytes);
    static std::vector<std::byte> noise;
    if (noise.empty() || pick(1)) {
        noise.resize(Sandbox::data_bytes * 2);
        for (std::size_t i = 0; i < noise.size(); i += 8) {
            std::uint64_t word = random_();
            std::memcpy(&noise[i], &word, 8);
        }
    }
    std::copy_n(noise.begin() +
                    static_cast<std::ptrdiff_t>(random_() % Sandbox::data_bytes),
                Sandbox::data_bytes, c.data.begin());
    std::copy_n(noise.begin() +
                    static_cast<std::ptrdiff_t>(random_() % Sandbox::data_bytes),
                vector_bytes, c.start.vectors.begin());
    static constexpr unsigned char control[32] = {
        0x7f, 0x03, 0, 0, 0xff, 0, 0, 0, 0, 0, 0, 0,    0,
        0,    0,    0, 0, 0,    0, 0, 0, 0, 0, 0, 0x80, 0x1f};
    std::memcpy(c.start.vectors.data(), control, sizeof control);

    Registers& regs = c.start.regs;
    for (std::uint64_t& reg : regs.general)
        reg = interesting();
    for (Reg pointer : {Reg::rsp, Reg::rbp, Reg::rsi, Reg::rdi, Reg::rbx})
        regs[pointer] = data + 4096 + random_() % 8192;
    if (is_string(c.insn) || pick(50))
        regs[Reg::rcx] = random_() % 16;
    regs.rflags = 0x202 | (random_() & arithmetic) | (pick(25) ? direction_flag : 0);
    regs.rip = at;
    regs.fs_base = own_fs_base();
    if (!aim_memory(c) || !aim_branch(c))
        return std::nullopt;
    if (is_popf(c.insn))
        tame_popf(c, data);
    return c;
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
    else if (!std::equal(native.data.begin(), native.data.end(),
                         sandbox_.data().begin()))
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
    // The real one faulted: so must we, without a trace, and the fall-back must raise the
    // same signal.
    bool untouched =
        ours.regs == c.start.regs &&
        std::equal(native.data.begin(), native.data.end(), sandbox_.data().begin());
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
    if (!plan.access_only) // which goes on where emulation stopped
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
    // What is emulated and does not depend on rip has a copy for faults: try it as well.
    if (verdict == Verdict::emulated && c->insn.flow == Flow::next && pick(25) &&
        check_copied(*c, native, x86_64.plan_after_fault(c->insn, {})) ==
            Verdict::differs)
        return Verdict::differs;
    return verdict;
}

Verdict
Differential::check_sequence(const std::vector<std::vector<std::byte>>& sequence)
{
    // Lay the instructions one behind the other, keep a state for the first of them.
    std::optional<Case> first;
    std::vector<std::byte> text;
    std::uint64_t base = Sandbox::address(sandbox_.code()) + 2048;
    std::vector<Instruction> insns;
    for (const std::vector<std::byte>& bytes : sequence) {
        std::optional<Case> c = arrange(bytes);
        if (!c || c->insn.flow != Flow::next || is_string(c->insn) ||
            (c->insn.has_memory && !forms_no_access(c->insn)) || is_popf(c->insn) ||
            (undefined_flags(c->insn) & ~adjust_flag) != 0)
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
    // A first run of nothing: bits that the vector state cannot hold are dropped.
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
