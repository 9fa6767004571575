// SPDX-License-Identifier: MIT
// Reads arguments of static probes that fire at a breakpoint. runtime/operands.c does
// the same inside a target.
#include "ptrace-agent/host.hpp"

#include "ptrace-agent/runtime/operands.h"

#include <cstring>
#include <sys/ptrace.h>
#include <sys/user.h>

namespace dt::agent {

// Reads the low 64 bits of a vector register. Returns false if that fails.
static bool read_vector_low(pid_t tid, unsigned number, std::uint64_t& low)
{
    user_fpregs_struct fp;
    if (number >= 16 || ptrace(PTRACE_GETFPREGS, tid, nullptr, &fp) != 0)
        return false;
    std::memcpy(&low, reinterpret_cast<const char*>(fp.xmm_space) + 16 * number,
                sizeof low);
    return true;
}

static std::uint64_t general(const Registers& regs, unsigned number)
{
    return regs.general[number & 15];
}

static std::uint64_t address_of(const dt_operand& operand, const Registers& regs)
{
    auto at = static_cast<std::uint64_t>(operand.value);
    if (operand.reg != DT_OPERAND_NO_REG)
        at += general(regs, operand.reg);
    if (operand.index != DT_OPERAND_NO_REG)
        at += general(regs, operand.index) << operand.shift;
    if (operand.segment != 0)
        at += operand.segment == 'f' ? regs.fs_base : regs.gs_base;
    return at;
}

int FiringHost::static_arg(const dt_operand& operand, std::uint64_t* value,
                           std::uint64_t* bad)
{
    std::uint64_t bits = 0;
    switch (operand.form) {
    case DT_OPERAND_CONST:
        bits = static_cast<std::uint64_t>(operand.value);
        break;
    case DT_OPERAND_GENERAL:
        bits = general(regs_, operand.reg);
        if ((operand.flags & DT_OPERAND_HIGH_BYTE) != 0)
            bits >>= 8;
        break;
    case DT_OPERAND_VECTOR:
        if (!read_vector_low(thread_.tid, operand.reg, bits))
            return -1;
        break;
    case DT_OPERAND_MEMORY:
        if (load(address_of(operand, regs_), &bits, operand.bytes, bad) != 0)
            return -1;
        break;
    default:
        return -1;
    }
    *value = dt_rt_operand_value(&operand, bits);
    return 0;
}

} // namespace dt::agent
