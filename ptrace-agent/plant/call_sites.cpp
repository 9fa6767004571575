// SPDX-License-Identifier: MIT
#include "ptrace-agent/plant/call_sites.hpp"

#include "fasttrap/arch/arch.hpp"
#include "ptrace-agent/address_space.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>

namespace dt::agent {

namespace {

class NoMemory final : public TargetMemory {
public:
    bool read(TargetAddr, std::span<std::byte>) override { return false; }
    bool write(TargetAddr, std::span<const std::byte>) override { return false; }
};

constexpr int max_insns = 8;
// A place may begin at the end of a piece, so the pieces overlap.
constexpr std::size_t piece_bytes = 256 << 10;
constexpr std::size_t overlap_bytes = max_insns * max_insn_bytes;

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
    CallSite site{at, at, at, 0};
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
                                 std::span<const std::uint32_t> numbers)
{
    constexpr int mov_eax = 0xb8; // mov $number,%eax
    constexpr std::size_t mov_bytes = 5;
    std::vector<CallSite> found;
    for (std::size_t from = 0; from < text.size(); ++from) {
        const void* next = std::memchr(text.data() + from, mov_eax, text.size() - from);
        if (next == nullptr)
            break;
        from =
            static_cast<std::size_t>(static_cast<const std::byte*>(next) - text.data());
        if (text.size() - from < mov_bytes)
            break;
        std::uint32_t number = 0;
        std::memcpy(&number, text.data() + from + 1, sizeof number);
        if (std::ranges::find(numbers, number) == numbers.end())
            continue;
        if (auto site = site_at(text.subspan(from), at + from)) {
            site->number = number;
            found.push_back(*site);
        }
    }
    return found;
}

std::vector<CallSite> CallSearch::search(TargetAddr from, TargetAddr end,
                                         std::span<const std::uint32_t> numbers)
{
    if (end - from > left_bytes_)
        return {};
    left_bytes_ -= end - from;
    piece_.resize(piece_bytes + overlap_bytes);
    std::vector<CallSite> all;
    for (; from < end; from = from + piece_bytes) {
        const std::span<std::byte> text(
            piece_.data(), std::min<std::uint64_t>(piece_.size(), end - from));
        if (!space_.read_original(from, text))
            break;
        std::ranges::copy_if(
            call_sites(text, from, numbers), std::back_inserter(all),
            [from](const CallSite& site) { return site.load - from < piece_bytes; });
    }
    return all;
}

} // namespace dt::agent
