// SPDX-License-Identifier: MIT
#include "window_sequence.hpp"

#include "fasttrap/arch/x86_64/layout.hpp"

#include <cstring>

namespace dt::test {

namespace {

// Returns whether insn may run in a state that was arranged for another instruction.
bool may_stand_beside(const Instruction& insn)
{
    if (insn.flow == ControlFlow::ret || insn.flow == ControlFlow::jump_indirect ||
        insn.flow == ControlFlow::call_indirect || is_popf(insn))
        return false;
    return !insn.has_memory || insn.memory.segment == Segment::flat ||
           forms_no_access(insn);
}

const std::vector<std::vector<unsigned char>> paddings = {
    {0x90},
    {0xcc},
    {0x66, 0x90},
    {0x0f, 0x1f, 0x00},
    {0x0f, 0x1f, 0x40, 0x00},
    {0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}};

} // namespace

std::optional<WindowSequence>
arrange_sequence(Differential& differential,
                 const std::vector<std::vector<std::byte>>& sequence, std::size_t key)
{
    WindowSequence s;
    std::optional<Case> c = differential.arrange(sequence[key]);
    if (!c)
        return std::nullopt;
    s.c = std::move(*c);
    if (s.c.insn.memory.base == Reg::rsp && s.c.insn.memory.disp < -120 &&
        s.c.insn.memory.disp > -168)
        return std::nullopt; // below the red zone, where programs have no data
    auto length = [](const std::vector<std::byte>& bytes) {
        return x86::lay_out(bytes).length;
    };
    s.at = s.c.insn.at;
    for (std::size_t i = 0; i < key; ++i)
        s.at = s.at - length(sequence[i]);
    TargetAddr at = s.at;
    for (std::size_t i = 0; i < sequence.size(); ++i) {
        std::vector<std::byte> bytes = sequence[i];
        if (i == key)
            bytes.assign(s.c.insn.bytes.begin(),
                         s.c.insn.bytes.begin() + s.c.insn.length);
        Result<Instruction> insn = x86_64.decode(bytes, at);
        if (!insn || !may_run(*insn) || (i != key && !may_stand_beside(*insn)))
            return std::nullopt;
        bool leads_away = s.c.insn.flow == ControlFlow::jump_indirect ||
                          s.c.insn.flow == ControlFlow::call_indirect;
        if (i < key && leads_away && (insn->writes & s.c.insn.reads) != 0)
            return std::nullopt;
        x86::Layout layout = x86::lay_out(bytes);
        if (i != key && insn->target != TargetAddr{}) {
            auto d = static_cast<std::int64_t>(s.c.pads[1] - insn->next().value);
            if (layout.imm_size == 1 && (d < -128 || d > 127))
                return std::nullopt;
            std::memcpy(&bytes[layout.imm_at], &d, layout.imm_size);
        }
        if (i != key && insn->rip_relative) {
            auto d = static_cast<std::uint32_t>(
                Sandbox::address(differential.sandbox().data().data()) + 4096 +
                differential.random()() % 8192 - insn->next().value);
            std::memcpy(&bytes[layout.disp_at], &d, sizeof d);
        }
        insn = x86_64.decode(bytes, at);
        if (!insn)
            return std::nullopt;
        s.insns.push_back(*insn);
        s.text.insert(s.text.end(), insn->bytes.begin(),
                      insn->bytes.begin() + insn->length);
        at = insn->next();
        if (x86_64.moving(*insn).how != Moving::anywhere)
            break;
    }
    if (x86_64.moving(s.insns.back()).how == Moving::ends) {
        while (differential.pick(60)) {
            const auto& pad = paddings[differential.random()() % paddings.size()];
            for (unsigned char byte : pad)
                s.text.push_back(static_cast<std::byte>(byte));
        }
    }
    if ((s.at + s.text.size() + pad_bytes).value > s.c.pads[1] ||
        s.insns.size() > max_sequence)
        return std::nullopt;
    return s;
}

} // namespace dt::test
