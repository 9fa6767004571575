// SPDX-License-Identifier: MIT
#include "ptrace-agent/uregs.hpp"

#include "ptrace-agent/runtime/uregs.h"

namespace dt::agent {

std::optional<std::uint64_t> ureg_of(const Registers& regs, std::uint32_t index)
{
    switch (index) {
#define ROW(number, source)                                                            \
    case number:                                                                       \
        return static_cast<std::uint64_t>(source);
#define GPR(name, number, reg) ROW(number, regs[Reg::reg])
#define STATE(name, number, what) ROW(number, regs.what)
#define CONST(name, number, constant) ROW(number, constant)
        AGENT_UREGS(GPR, STATE, CONST)
#undef CONST
#undef STATE
#undef GPR
#undef ROW
    default:
        return std::nullopt;
    }
}

} // namespace dt::agent
