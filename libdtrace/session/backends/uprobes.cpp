// SPDX-License-Identifier: MIT
#include "libdtrace/session/backends/uprobes.hpp"

#include "ptrace-agent/plant/statics.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>

namespace dt {

namespace {

constexpr int linux_enotsupp = 524; // an errno of the kernel that libc does not define

// Returns 1 + the condition code of a conditional jump. Returns nullopt for a jump that
// depends on the count register (loop, jrcxz), and 0 for other instructions.
std::optional<std::uint32_t> condition_of(std::span<const std::byte> text)
{
    auto at = [&](std::size_t i) {
        return i < text.size() ? std::to_integer<unsigned>(text[i]) : 0u;
    };
    std::size_t i = 0;
    while (at(i) == 0x2e || at(i) == 0x3e || at(i) == 0xf2) // branch hints, bnd
        i++;
    if ((at(i) & 0xf0) == 0x70)
        return 1 + (at(i) & 15);
    if (at(i) == 0x0f && (at(i + 1) & 0xf0) == 0x80)
        return 1 + (at(i + 1) & 15);
    if (at(i) >= 0xe0 && at(i) <= 0xe3)
        return std::nullopt;
    return 0;
}

} // namespace

std::string uprobe_error_text(int error)
{
    if (error == linux_enotsupp)
        return "the kernel does not support a uprobe on this instruction";
    if (error == EIO)
        return "the mapped file has no readable code there";
    if (error == EILSEQ)
        return "no instruction begins there";
    if (error == EPERM)
        return "a breakpoint in the text of a file requires CAP_SYS_ADMIN";
    return std::strerror(error);
}

dt_u32 uprobe_kind(SiteKind kind)
{
    return kind == SiteKind::ret            ? DTK_URETURN
           : kind == SiteKind::jump_out     ? DTK_URETURN
           : kind == SiteKind::static_probe ? DTK_USTATIC
                                            : DTK_UPROBE;
}

Uprobes::Uprobes(const ps_prochandle& process, const StaticTable& statics,
                 bool children)
    : process_(process), statics_(statics), children_(children), files_(process.pid)
{
}

std::string Uprobes::add(const Site& site)
{
    const Mapping* mapping = process_.symbols->maps().at(site.at);
    if (site.never != NeverProbed::no)
        return std::string(text_of(site.never));
    if (mapping == nullptr || !mapping->is_file())
        return "the code is not mapped from a file, and uprobes work only in files";
    dtk_uprobe request{};
    request.fd = files_.open(*mapping);
    if (request.fd < 0)
        return "the file that contains the code cannot be opened";
    request.pid = process_.pid;
    request.offset = mapping->offset + (site.at - mapping->begin);
    const Symbol symbol = process_.symbols->lookup(site.at);
    if (symbol.function != nullptr && symbol.offset <= DTK_INSIDE_MAX &&
        symbol.offset <= request.offset)
        request.inside = static_cast<dt_u32>(symbol.offset);
    request.flags = children_ ? DTK_UPROBE_CHILDREN : 0;
    std::string why = site.kind == SiteKind::static_probe
                          ? fill_static(site, *mapping, request)
                      : site.kind == SiteKind::jump_out ? fill_jump(site, request)
                                                        : fill(site, request);
    if (why.empty())
        requests_.push_back(request);
    return why;
}

std::string Uprobes::fill(const Site& site, dtk_uprobe& request) const
{
    const bool leaves = site.kind == SiteKind::ret;
    if (leaves || site.kind == SiteKind::entry ||
        (site.kind == SiteKind::offset && is_entry(site.at)))
        request.flags |= DTK_UPROBE_AT_CALL;
    if (!leaves)
        return "";
    request.arg0 = site.arg0;
    auto when = condition_of(text_at(site.at));
    if (!when)
        return "a uprobe cannot trace a return through a loop or jrcxz instruction";
    request.when = *when;
    return "";
}

std::string Uprobes::fill_jump(const Site& site, dtk_uprobe& request) const
{
    if (site.arg0 >= statics_.sites.size())
        return "the destination of the indirect jump is unknown";
    const StaticFacts& facts = statics_.sites[site.arg0];
    if (facts.n_operands > DTK_OPERANDS_MAX)
        return "the compiler split the function into more than 31 parts";
    auto operands =
        std::span(statics_.operands).subspan(facts.first_operand, facts.n_operands);
    request.flags |= DTK_UPROBE_AT_CALL;
    request.arg0 = agent::offset_of_jump(operands, site.at);
    request.operands = reinterpret_cast<dt_u64>(operands.data());
    request.n_operands = facts.n_operands;
    return "";
}

std::string Uprobes::fill_static(const Site& site, const Mapping& text,
                                 dtk_uprobe& request) const
{
    if (site.arg0 >= statics_.sites.size())
        return "";
    request.flags |= DTK_UPROBE_CHILDREN;
    const StaticFacts& facts = statics_.sites[site.arg0];
    request.operands =
        reinterpret_cast<dt_u64>(statics_.operands.data() + facts.first_operand);
    request.n_operands = std::min<std::uint32_t>(facts.n_operands, DTK_OPERANDS_MAX);
    if (facts.semaphore.value == 0)
        return "";
    const Mapping* data = process_.symbols->maps().at(facts.semaphore);
    if (data == nullptr || data->file != text.file)
        return "the probe's semaphore is not in the same file as its code";
    request.semaphore = data->offset + (facts.semaphore - data->begin);
    return "";
}

bool Uprobes::is_entry(TargetAddr at) const
{
    Symbol symbol = process_.symbols->lookup(at);
    return symbol.function != nullptr && symbol.offset == 0;
}

std::span<const std::byte> Uprobes::text_at(TargetAddr at) const
{
    constexpr std::size_t longest = 8;
    const Module* module = process_.symbols->module_at(at);
    if (module == nullptr || module->image == nullptr)
        return {};
    for (std::size_t n = longest; n > 0; n--)
        if (auto bytes = module->image->bytes(module->link_addr(at), n))
            return *bytes;
    return {};
}

} // namespace dt
