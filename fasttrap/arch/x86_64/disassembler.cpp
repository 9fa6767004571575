// SPDX-License-Identifier: MIT
#include "fasttrap/arch/x86_64/disassembler.hpp"

#include <capstone/capstone.h>

#include <array>
#include <cassert>
#include <type_traits>

namespace dt::x86 {

static_assert(std::is_same_v<csh, std::size_t>);

// clang-format off
#define GENERAL_REGISTERS(X) /* X(number, name of all 8 bytes, of the low 4, 2, 1) */\
    X(0, RAX, EAX, AX, AL) X(1, RCX, ECX, CX, CL)                                          \
    X(2, RDX, EDX, DX, DL) X(3, RBX, EBX, BX, BL)                                          \
    X(4, RSP, ESP, SP, SPL) X(5, RBP, EBP, BP, BPL)                                        \
    X(6, RSI, ESI, SI, SIL) X(7, RDI, EDI, DI, DIL)                                        \
    X(8, R8, R8D, R8W, R8B) X(9, R9, R9D, R9W, R9B)                                        \
    X(10, R10, R10D, R10W, R10B) X(11, R11, R11D, R11W, R11B)                              \
    X(12, R12, R12D, R12W, R12B) X(13, R13, R13D, R13W, R13B)                              \
    X(14, R14, R14D, R14W, R14B) X(15, R15, R15D, R15W, R15B)
// clang-format on

constexpr std::array<std::uint16_t, X86_REG_ENDING> register_bits = [] {
    std::array<std::uint16_t, X86_REG_ENDING> bits{};
#define X(n, a, b, c, d)                                                               \
    bits[X86_REG_##a] = bits[X86_REG_##b] = bits[X86_REG_##c] = bits[X86_REG_##d] =    \
        1 << n;
    GENERAL_REGISTERS(X)
#undef X
    bits[X86_REG_AH] = 1 << 0;
    bits[X86_REG_CH] = 1 << 1;
    bits[X86_REG_DH] = 1 << 2;
    bits[X86_REG_BH] = 1 << 3;
    return bits;
}();

Disassembler::Disassembler()
{
    [[maybe_unused]] cs_err failed = cs_open(CS_ARCH_X86, CS_MODE_64, &handle_);
    assert(failed == CS_ERR_OK);
    cs_option(handle_, CS_OPT_DETAIL, CS_OPT_ON);
    insn_ = cs_malloc(handle_);
    assert(insn_ != nullptr);
}

Disassembler::~Disassembler()
{
    cs_free(insn_, 1);
    cs_close(&handle_);
}

std::optional<Disassembler::Found> Disassembler::decode(std::span<const std::byte> text)
{
    const auto* code = reinterpret_cast<const std::uint8_t*>(text.data());
    std::size_t size = text.size();
    std::uint64_t address = 0;
    if (!cs_disasm_iter(handle_, &code, &size, &address, insn_))
        return std::nullopt;

    Found found;
    found.length = static_cast<std::uint8_t>(insn_->size);
    cs_regs read;
    cs_regs written;
    std::uint8_t n_read = 0;
    std::uint8_t n_written = 0;
    if (cs_regs_access(handle_, insn_, read, &n_read, written, &n_written) !=
        CS_ERR_OK) {
        found.reads = found.writes = 0xffff;
        return found;
    }
    for (unsigned i = 0; i < n_read; ++i)
        found.reads |= register_bits[read[i]];
    for (unsigned i = 0; i < n_written; ++i)
        found.writes |= register_bits[written[i]];
    return found;
}

} // namespace dt::x86
