// SPDX-License-Identifier: MIT
#include "ptrace-agent/plant/call_sites.hpp"

#include "fasttrap/arch/arch.hpp"
#include "ptrace-agent/address_space.hpp"

#include <array>
#include <cstring>
#include <optional>

namespace dt::agent {

namespace {

class NoMemory final : public TargetMemory {
public:
    bool read(TargetAddr, std::span<std::byte>) override { return false; }
    bool write(TargetAddr, std::span<const std::byte>) override { return false; }
};

constexpr int max_insns = 8;

// Returns whether the instruction certainly changes neither %rdi nor %rsi.
bool keeps_arguments(const Instruction& insn)
{
    Registers regs;
    std::uint64_t value = 0x1000;
    for (auto reg : {Reg::rax, Reg::rcx, Reg::rdx, Reg::rbx, Reg::rsp, Reg::rbp,
                     Reg::rsi, Reg::rdi, Reg::r8, Reg::r9, Reg::r10, Reg::r11, Reg::r12,
                     Reg::r13, Reg::r14, Reg::r15})
        regs[reg] = value++;
    regs.rip = insn.at.value;
    const Registers before = regs;
    NoMemory none;
    return x86_64.emulate(insn, regs, none).outcome == Emulation::done &&
           regs[Reg::rdi] == before[Reg::rdi] && regs[Reg::rsi] == before[Reg::rsi];
}

} // namespace

// Returns the place with its mov at the start of `text`. Returns nothing if there is no
// syscall among the first eight instructions, or if a jump or call comes first.
static std::optional<CallSite> site_at(std::span<const std::byte> text, TargetAddr at)
{
    CallSite site{at, at, at};
    for (int i = 0; i < max_insns; ++i) {
        auto insn = x86_64.decode(text, at);
        if (!insn || insn->length > text.size())
            return std::nullopt;
        if (insn->flow == ControlFlow::syscall) {
            site.call = at;
            return site;
        }
        if (insn->flow != ControlFlow::next)
            return std::nullopt;
        const bool keeps = keeps_arguments(*insn);
        text = text.subspan(insn->length);
        at = at + insn->length;
        if (!keeps)
            site.ready = at;
    }
    return std::nullopt;
}

std::vector<CallSite> call_sites(std::span<const std::byte> text, TargetAddr at,
                                 std::uint32_t number)
{
    std::array<std::byte, 5> load{std::byte{0xb8}}; // mov $number,%eax
    std::memcpy(load.data() + 1, &number, sizeof number);
    std::vector<CallSite> found;
    for (std::size_t from = 0; from < text.size();) {
        const void* next =
            memmem(text.data() + from, text.size() - from, load.data(), load.size());
        if (next == nullptr)
            break;
        from =
            static_cast<std::size_t>(static_cast<const std::byte*>(next) - text.data());
        if (auto site = site_at(text.subspan(from), at + from))
            found.push_back(*site);
        ++from;
    }
    return found;
}

std::vector<std::byte> original_text_of(const AddressSpace& space, TargetAddr from,
                                        TargetAddr end, std::uint64_t max_bytes)
{
    if (end - from > max_bytes)
        return {};
    std::vector<std::byte> text(end - from);
    if (!space.read_original(from, text))
        text.clear();
    return text;
}

} // namespace dt::agent
