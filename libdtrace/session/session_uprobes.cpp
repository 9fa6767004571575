// SPDX-License-Identifier: MIT
// Probes in processes that the kernel fires: sites become uprobes (kmod/uprobe.c).
//
//   site's address ── mapping ──▶ file and offset ──▶ DTK_UPROBE, with the process' pid
//
// Nothing is put into the target: the agent holds it and watches its libraries. A uprobe
// belongs to the file and to the program that runs: a library that goes and comes back has
// it again, wherever it lies then, and it is not asked for twice. Exec and exit end it.
//
// Handlers of one place are called in the reverse of the order in which they came, so
// the last site goes first.
#include "libdtrace/session/session.hpp"

#include "fasttrap/arch/arch.hpp"
#include "libdtrace/session/debug.hpp"
#include "libdtrace/symbols/mapped_files.hpp"
#include "ptrace-agent/statics.hpp"

#include <cstddef>
#include <cstring>
#include <optional>
#include <span>

static_assert(sizeof(dtk_operand) == sizeof(dt_rt_operand) &&
              offsetof(dtk_operand, form) == offsetof(dt_rt_operand, form) &&
              offsetof(dtk_operand, flags) == offsetof(dt_rt_operand, flags) &&
              offsetof(dtk_operand, reg) == offsetof(dt_rt_operand, reg) &&
              offsetof(dtk_operand, segment) == offsetof(dt_rt_operand, segment) &&
              int{DTK_OPERAND_CONST} == int{DT_RT_OPERAND_CONST} &&
              int{DTK_OPERAND_GENERAL} == int{DT_RT_OPERAND_GENERAL} &&
              int{DTK_OPERAND_VECTOR} == int{DT_RT_OPERAND_VECTOR} &&
              int{DTK_OPERAND_MEMORY} == int{DT_RT_OPERAND_MEMORY} &&
              DTK_OPERAND_NO_REG == DT_RT_NO_REG &&
              DTK_OPERAND_SIGNED == DT_RT_OPERAND_SIGNED &&
              DTK_OPERAND_FLOAT == DT_RT_OPERAND_FLOAT &&
              DTK_OPERAND_HIGH_BYTE == DT_RT_OPERAND_HIGH_BYTE);

namespace {

constexpr int linux_enotsupp = 524; // of the kernel, which libc does not know

std::string text_of_error(int error)
{
    if (error == linux_enotsupp)
        return "the kernel cannot step over its instruction";
    if (error == EIO)
        return "its file has no readable text there";
    if (error == EILSEQ)
        return "no instruction begins there";
    if (error == EPERM)
        return "a breakpoint in the text of a file requires CAP_SYS_ADMIN";
    return std::strerror(error);
}

// The conditional jump that this is: 1 + its condition. 0: none, nothing: one of the count
// register's.
std::optional<std::uint32_t> condition_of(std::span<const std::byte> text)
{
    auto at = [&](std::size_t i) {
        return i < text.size() ? std::to_integer<unsigned>(text[i]) : 0u;
    };
    std::size_t i = 0;
    while (at(i) == 0x2e || at(i) == 0x3e || at(i) == 0xf2) // hints, bnd
        i++;
    if ((at(i) & 0xf0) == 0x70)
        return 1 + (at(i) & 15);
    if (at(i) == 0x0f && (at(i + 1) & 0xf0) == 0x80)
        return 1 + (at(i + 1) & 15);
    if (at(i) >= 0xe0 && at(i) <= 0xe3)
        return std::nullopt;
    return 0;
}

// The requests of one planting. What they point to stays where it is.
class Uprobes {
public:
    Uprobes(const ps_prochandle& process, const dt::StaticTable& statics, bool children)
        : process_(process), statics_(statics), children_(children), files_(process.pid)
    {
    }

    // Why there is none; empty: there is one.
    std::string add(const dt::Site& site)
    {
        const dt::Mapping* mapping = process_.symbols->maps().at(site.at);
        if (site.never != dt::NeverProbed::no)
            return std::string(text_of(site.never));
        if (mapping == nullptr || !mapping->is_file())
            return "it lies in no file";
        dtk_uprobe request{};
        request.fd = files_.open(*mapping);
        if (request.fd < 0)
            return "its file cannot be opened";
        request.pid = process_.pid;
        request.offset = mapping->offset + (site.at - mapping->begin);
        const dt::Symbol symbol = process_.symbols->lookup(site.at);
        if (symbol.function != nullptr && symbol.offset <= DTK_INSIDE_MAX &&
            symbol.offset <= request.offset)
            request.inside = static_cast<dt_u32>(symbol.offset);
        request.flags = children_ ? DTK_UPROBE_CHILDREN : 0;
        std::string why = site.kind == dt::SiteKind::static_probe
                              ? fill_static(site, *mapping, request)
                          : site.kind == dt::SiteKind::jump_out ? fill_jump(site, request)
                                                                : fill(site, request);
        if (why.empty())
            requests_.push_back(request);
        return why;
    }

    const std::vector<dtk_uprobe>& requests() const { return requests_; }

private:
    std::string fill(const dt::Site& site, dtk_uprobe& request) const
    {
        const bool leaves = site.kind == dt::SiteKind::ret;
        if (leaves || site.kind == dt::SiteKind::entry ||
            (site.kind == dt::SiteKind::offset && is_entry(site.at)))
            request.flags |= DTK_UPROBE_AT_CALL;
        if (!leaves)
            return "";
        request.arg0 = site.arg0;
        auto when = condition_of(text_at(site.at));
        if (!when)
            return "the function is left there by a loop instruction";
        request.when = *when;
        return "";
    }

    // Passes the parts of the function to the module, which compares the jump's
    // destination with them.
    std::string fill_jump(const dt::Site& site, dtk_uprobe& request) const
    {
        if (site.arg0 >= statics_.sites.size())
            return "nothing tells where its indirect jump leads";
        const dt::StaticFacts& facts = statics_.sites[site.arg0];
        if (facts.n_operands > DTK_OPERANDS_MAX)
            return "its function has more than 31 parts";
        auto operands = std::span(statics_.operands)
                            .subspan(facts.first_operand, facts.n_operands);
        request.flags |= DTK_UPROBE_AT_CALL;
        request.arg0 = dt::agent::offset_of_jump(operands, site.at);
        request.operands = reinterpret_cast<dt_u64>(operands.data());
        request.n_operands = facts.n_operands;
        return "";
    }

    std::string fill_static(const dt::Site& site, const dt::Mapping& text,
                            dtk_uprobe& request) const
    {
        if (site.arg0 >= statics_.sites.size())
            return "";
        request.flags |= DTK_UPROBE_CHILDREN;
        const dt::StaticFacts& facts = statics_.sites[site.arg0];
        request.operands =
            reinterpret_cast<dt_u64>(statics_.operands.data() + facts.first_operand);
        request.n_operands =
            std::min<std::uint32_t>(facts.n_operands, DTK_OPERANDS_MAX);
        if (facts.semaphore.value == 0)
            return "";
        const dt::Mapping* data = process_.symbols->maps().at(facts.semaphore);
        if (data == nullptr || data->file != text.file)
            return "its semaphore lies in no file";
        request.semaphore = data->offset + (facts.semaphore - data->begin);
        return "";
    }

    bool is_entry(dt::TargetAddr at) const
    {
        dt::Symbol symbol = process_.symbols->lookup(at);
        return symbol.function != nullptr && symbol.offset == 0;
    }

    std::span<const std::byte> text_at(dt::TargetAddr at) const
    {
        constexpr std::size_t longest = 8;
        const dt::Module* module = process_.symbols->module_at(at);
        if (module == nullptr || module->image == nullptr)
            return {};
        for (std::size_t n = longest; n > 0; n--)
            if (auto bytes = module->image->bytes(module->link_addr(at), n))
                return *bytes;
        return {};
    }

    const ps_prochandle& process_;
    const dt::StaticTable& statics_;
    bool children_;
    dt::MappedFiles files_;
    std::vector<dtk_uprobe> requests_;
};

std::string name_of(const dt::ProbeInfo& probe)
{
    std::string name;
    for (std::string_view part :
         {probe.provider, probe.module, probe.function, probe.name})
        name.append(name.empty() ? "" : ":").append(part);
    return name;
}

dt_u32 kind_of(dt::SiteKind kind)
{
    return kind == dt::SiteKind::ret            ? DTK_URETURN
           : kind == dt::SiteKind::jump_out     ? DTK_URETURN
           : kind == dt::SiteKind::static_probe ? DTK_USTATIC
                                                : DTK_UPROBE;
}

} // namespace

// As give_arena() does it where the agent plants.
void dtrace_hdl::foresee_planting()
{
    for (const auto& process : processes.all())
        process->unplanted = probes.of_process(process->pid);
    n_foreseen = 0;
}

// The agent is told of no site: what it does is to watch libraries.
int dtrace_hdl::plant_by_kernel(ps_prochandle& process,
                                const std::vector<dt::Site>& sites,
                                const dt::StaticTable& statics)
{
    auto watched =
        processes.agent()->plant(process.pid, {}, dt::Mechanism::uprobe, {}, {});
    if (!watched && watched.error().code == dt::Code::gone)
        return 0; // its exit is reported as an event
    if (!watched)
        return fail(watched.error());
    if (walks_user_stacks())
        kernel_unwind->know(process.pid);
    Uprobes uprobes(process, statics, options.follow == "fork" || options.follow == "exec");
    std::vector<dt::Refusal> refused;
    std::vector<std::uint32_t> of; // of each request: its site
    for (std::size_t left = sites.size(); left > 0; left--) {
        auto i = static_cast<std::uint32_t>(left - 1);
        const dt::Mapping* mapping = process.symbols->maps().at(sites[i].at);
        if (mapping != nullptr &&
            !process.uprobes
                 .insert({sites[i].probe, mapping->file,
                          mapping->offset + (sites[i].at - mapping->begin)})
                 .second)
            continue;
        if (std::string why = uprobes.add(sites[i]); why.empty())
            of.push_back(i);
        else
            refused.push_back({i, std::move(why)});
    }
    std::vector<dtk_site> wanted;
    for (std::size_t k = 0; k < of.size(); k++) {
        dtk_site site{};
        site.probe = sites[of[k]].probe;
        site.kind = kind_of(sites[of[k]].kind);
        site.where = reinterpret_cast<dt_u64>(&uprobes.requests()[k]);
        wanted.push_back(site);
    }
    if (auto attached = kernel->attach(wanted); !attached)
        return fail(attached.error());
    std::size_t n_gone = 0;
    for (std::size_t k = 0; k < wanted.size(); k++) {
        if (wanted[k].error == -ESRCH)
            n_gone++;
        else if (wanted[k].error != 0)
            refused.push_back({of[k], text_of_error(-wanted[k].error)});
    }
    if (dt::debugging())
        for (const dt::Refusal& refusal : refused)
            dt::debug("no uprobe for %s: %s",
                      name_of(registry.at(sites[refusal.site].probe)).c_str(),
                      refusal.reason.c_str());
    for (const dt::Site& site : sites)
        probes.probe(site.probe)->set_planted(site.at, true);
    dt::debug("process %d: %zu uprobes, %zu refused, %zu too late", process.pid,
              wanted.size(), refused.size(), n_gone);
    report_sites(&process, sites, refused, dt::not_probed);
    std::vector<std::uint32_t> looping;
    for (std::size_t i = 0; i < sites.size(); i++)
        if (sites[i].kind == dt::SiteKind::entry && sites[i].arg0 != 0)
            looping.push_back(static_cast<std::uint32_t>(i));
    report_loops(&process, sites, looping);
    report_notes(&process);
    return 0;
}
