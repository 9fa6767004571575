// SPDX-License-Identifier: MIT
// The code, the registers and the exits of one routine. All parts of the routine share
// them.
#pragma once

#include "ptrace-agent/native/arch/x86_64/register_pool.hpp"

#include <string>

namespace dt::native::x86 {

struct Frame {
    Frame(const ClausePlan& plan, const Target& target, std::uint64_t at,
          std::vector<Reg64> save)
        : plan(plan), target(target), code(target.image, at),
          registers(plan, std::move(save))
    {
    }

    const ClausePlan& plan;
    const Target& target;
    Assembler code;
    RegisterPool registers;
    Label leave;        // the exit when the clause is done or its predicate is false
    Label bail;         // the exit to the engine, which runs the clause
    std::string failed; // why the clause cannot be compiled

    void fail(const char* why)
    {
        if (failed.empty())
            failed = why;
    }
    const dt_arena& arena() const { return *static_cast<const dt_arena*>(plan.arena); }
};

// Emits a part of a routine.
class Part {
protected:
    explicit Part(Frame& frame)
        : frame_(frame), plan_(frame.plan), target_(frame.target), a_(frame.code),
          registers_(frame.registers), leave_(frame.leave), bail_(frame.bail)
    {
    }
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

    Frame& frame_;
    const ClausePlan& plan_;
    const Target& target_;
    Assembler& a_;
    RegisterPool& registers_;
    Label& leave_;
    Label& bail_;
};

} // namespace dt::native::x86
