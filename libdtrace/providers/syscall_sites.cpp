// SPDX-License-Identifier: MIT
#include "libdtrace/providers/syscall_sites.hpp"

#include "fasttrap/arch/arch.hpp"
#include "libdtrace/providers/go_text.hpp"
#include "libdtrace/symbols/elf/code_places.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace dt {

namespace {

constexpr std::array syscall_text{std::byte{0x0f}, std::byte{0x05}};
// Text is read in pieces of this size.
constexpr std::uint64_t text_at_once = 1 << 20;
// The number of a system call is set at most this many bytes before the instruction.
constexpr std::uint64_t most_bytes_before = 256;

constexpr std::uint16_t bit_of(Reg reg)
{
    return static_cast<std::uint16_t>(1U << static_cast<unsigned>(reg));
}

// Returns the constant that the instruction stores in %rax, or nothing.
std::optional<std::uint32_t> constant_in_rax(const Instruction& insn)
{
    if (insn.encoding != Encoding::legacy || insn.opcode_map != 0 ||
        insn.has(prefix_operand_size))
        return std::nullopt;
    const bool mov_imm = insn.opcode == 0xb8 && insn.length >= 5; // mov $number,%eax
    const bool mov_rm = insn.opcode == 0xc7 && !insn.has_memory;  // mov $number,%rax
    if (mov_imm || mov_rm)
        return static_cast<std::uint32_t>(insn.immediate);
    // xor %eax,%eax
    const bool clears = (insn.opcode == 0x31 || insn.opcode == 0x33) &&
                        insn.bytes[insn.modrm_at] == std::byte{0xc0} &&
                        insn.reads == bit_of(Reg::rax);
    return clears ? std::optional<std::uint32_t>(0) : std::nullopt;
}

// Returns the place of a call at `at`. The flow of control reaches `at` only through all
// instructions from `first` on.
CallPlace place_at(ElfImage& image, TargetAddr first, TargetAddr at)
{
    CallPlace place{at, std::nullopt};
    if (at - first > most_bytes_before)
        return place;
    std::array<std::byte, most_bytes_before> text;
    std::span<std::byte> before(text.data(), at - first);
    if (!image.read(first.value, before))
        return place;
    for (TargetAddr from = first; from < at;) {
        auto insn = x86_64.decode(before.subspan(from - first), from);
        if (!insn)
            return {at, std::nullopt};
        if (insn->flow == ControlFlow::call ||
            insn->flow == ControlFlow::call_indirect ||
            insn->flow == ControlFlow::syscall) {
            place = {at, std::nullopt};
        } else if ((insn->writes & bit_of(Reg::rax)) != 0) {
            place.number = constant_in_rax(*insn);
            place.makes_any = !place.number;
        }
        from = insn->next();
    }
    return place;
}

} // namespace

std::vector<CallPlace> call_places(ElfImage& image, const ExtentMap& extents)
{
    std::vector<CallPlace> found;
    std::vector<std::byte> piece;
    for (const AddressRange& range : image.code_places().text) {
        for (std::uint64_t done = 0; done < range.n_bytes; done += text_at_once) {
            // The pieces overlap, because the instruction has two bytes.
            piece.resize(std::min(text_at_once + 1, range.n_bytes - done));
            if (!image.read(range.addr + done, piece))
                break;
            for (auto at = piece.begin();; ++at) {
                at = std::search(at, piece.end(), syscall_text.begin(),
                                 syscall_text.end());
                if (at == piece.end())
                    break;
                const TargetAddr call{range.addr + done +
                                      static_cast<std::uint64_t>(at - piece.begin())};
                if (extents.is_code(call))
                    found.push_back(place_at(image, extents.extent(call).first, call));
            }
        }
    }
    return found;
}

const std::vector<CallPlace>&
SyscallSites::places_of(const std::shared_ptr<ElfImage>& image,
                        const ExtentMap& extents)
{
    auto [known, is_new] = places_.try_emplace(image);
    if (is_new)
        known->second = call_places(*image, extents);
    return known->second;
}

const std::vector<SyscallSite>& SyscallSites::of_process(ProcessSymbols& symbols)
{
    OfProcess& process = processes_[symbols.pid()];
    for (const Module* module : symbols.modules()) {
        if (module->image == nullptr || !process.searched.insert(module).second)
            continue;
        const ExtentMap* extents = probes_.extents().of(module->image);
        if (extents == nullptr)
            continue;
        const AddressRange go = go_text(*module->image);
        for (const CallPlace& place : places_of(module->image, *extents)) {
            SyscallSite site;
            const std::uint64_t at = place.at.value;
            if (go.contains(at)) {
                const Function* function = module->image->functions().at(at);
                site.call.no_stack = site.after.no_stack =
                    function == nullptr || stack_check_of(*module->image, go, *function)
                                               .may_lack_stack(at - function->addr);
            }
            site.number = place.number;
            site.call.at = module->target_addr(place.at.value);
            site.after.at = site.call.at + syscall_text.size();
            site.call.kind = ProbeSiteKind::SystemCall;
            site.after.kind = ProbeSiteKind::SystemReturn;
            set_extent(site.call, *module, *extents);
            set_extent(site.after, *module, *extents);
            process.sites.push_back(std::move(site));
        }
    }
    return process.sites;
}

bool SyscallSites::is_planted(pid_t pid, TargetAddr at, std::uint32_t probe) const
{
    auto process = processes_.find(pid);
    return process != processes_.end() && process->second.planted.contains({at, probe});
}

void SyscallSites::set_planted(pid_t pid, TargetAddr at, std::uint32_t probe,
                               bool planted)
{
    auto process = processes_.find(pid);
    if (process == processes_.end())
        return;
    if (planted)
        process->second.planted.insert({at, probe});
    else
        process->second.planted.erase({at, probe});
}

std::vector<std::pair<TargetAddr, std::uint32_t>> SyscallSites::planted(pid_t pid) const
{
    auto process = processes_.find(pid);
    if (process == processes_.end())
        return {};
    return {process->second.planted.begin(), process->second.planted.end()};
}

void SyscallSites::drop_gone(const ProcessSymbols& symbols)
{
    auto process = processes_.find(symbols.pid());
    if (process == processes_.end())
        return;
    std::erase_if(process->second.searched, [&](const Module* module) {
        if (module->live)
            return false;
        std::erase_if(process->second.sites, [module](const SyscallSite& site) {
            return module->contains(site.call.at);
        });
        std::erase_if(process->second.planted, [module](const auto& planted) {
            return module->contains(planted.first);
        });
        return true;
    });
}

} // namespace dt
