// SPDX-License-Identifier: MIT
// Creates the sandbox, and chooses the initial registers and memory for each
// instruction.
#include "differential.hpp"

#include "fasttrap/arch/x86_64/decode.hpp"
#include "fasttrap/arch/x86_64/emulate.hpp"
#include "fasttrap/arch/x86_64/layout.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <sys/mman.h>

namespace dt::test {

namespace {

constexpr std::uint64_t direction_flag = 1 << 10;
constexpr std::uint64_t arithmetic = 0x8d5;

std::byte* map_at(std::uint64_t hint, std::size_t bytes, int protection)
{
    void* at = mmap(reinterpret_cast<void*>(hint), bytes, protection,
                    MAP_PRIVATE | MAP_ANONYMOUS | (hint != 0 ? MAP_FIXED_NOREPLACE : 0),
                    -1, 0);
    assert(at != MAP_FAILED);
    return static_cast<std::byte*>(at);
}

// Instructions that are not tested, for example because they depend on clocks. The
// columns are X(map, opcode, ModRM.reg or -1 for any, memory_only). If memory_only is
// true, forms without a memory operand are tested.
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

} // namespace

bool may_run(const Instruction& insn)
{
    if (insn.flow == ControlFlow::syscall)
        return false;
    if (insn.encoding == Encoding::vex && insn.opcode_map == 2 &&
        (insn.opcode == 0x49 || insn.opcode == 0x4b))
        return false; // tile instructions need permission from the kernel
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

namespace {

bool within(std::uint64_t at, std::size_t n, std::uint64_t first, std::size_t size)
{
    return at >= first && at - first < size && n <= size - (at - first);
}

} // namespace

bool forms_no_access(const Instruction& insn)
{
    x86::Op op = x86::operation_of(insn);
    return op == x86::Op::lea || op == x86::Op::nop;
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

// Makes the memory operand point into the data, or sometimes to an unmapped address.
// Returns false if this is not possible.
bool Differential::aim_memory(Case& c)
{
    Instruction& insn = c.insn;
    Registers& regs = c.start.regs;
    if (!insn.has_memory || forms_no_access(insn) || insn.rip_relative)
        return true;
    if (pick(2)) { // an address that is not mapped: in page 0, or not canonical
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
        // fs points to this thread's control block. It may be read, but not written.
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

// popf must not set TF (single-stepping), NT (nested task) or AC (alignment checks).
static void tame_popf(Case& c, std::uint64_t first)
{
    constexpr std::uint64_t tame = ~((1ULL << 8) | (1ULL << 14) | (1ULL << 18));
    std::uint64_t offset = c.start.regs[Reg::rsp] - first;
    std::uint64_t image = 0;
    std::memcpy(&image, &c.data[offset], 8);
    image &= tame;
    std::memcpy(&c.data[offset], &image, 8);
}

// Makes a return or an indirect jump lead to the pad c.pads[1] (native.hpp), or
// sometimes to an invalid address. Returns false if this is not possible.
bool Differential::aim_branch(Case& c)
{
    Instruction& insn = c.insn;
    Registers& regs = c.start.regs;
    std::uint64_t pad = c.pads[1];
    // Sometimes use an address that is not canonical, or that is probably not mapped.
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
    case ControlFlow::ret:
        put(regs[Reg::rsp]);
        return true;
    case ControlFlow::jump_indirect:
    case ControlFlow::call_indirect:
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
    // Change displacements so that memory operands are in the data, and branches lead
    // to the target pad (enum Pad).
    std::array<std::byte, 15> text = decoded->bytes;
    x86::Layout layout = x86::lay_out(decoded->text());
    c.pads = {decoded->next().value, decoded->next().value + 40 + random_() % 60};
    std::uint64_t next = decoded->next().value;
    std::uint64_t data = Sandbox::address(sandbox_.data().data());
    bool direct = decoded->flow == ControlFlow::jump ||
                  decoded->flow == ControlFlow::branch ||
                  decoded->flow == ControlFlow::call;
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
    for (Reg pointer : {Reg::rbp, Reg::rsi, Reg::rdi, Reg::rbx})
        regs[pointer] = data + 4096 + random_() % 8192;
    // Keep rsp away from the memory operand.
    regs[Reg::rsp] = data + 1024 + random_() % 2048;
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

} // namespace dt::test
