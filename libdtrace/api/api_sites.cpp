// SPDX-License-Identifier: MIT
// C API: lists the patches, or the planned patches, in the code of processes.
#include "libdtrace/api/handle.hpp"
#include "libdtrace/providers/process_patches.hpp"
#include "libdtrace/session/sites.hpp"

#include <algorithm>

// Plans all sites of a listing together, because a patch may overwrite bytes of other
// sites nearby.
int dtrace_hdl::plan_listed(pid_t pid)
{
    ps_prochandle* process = state().processes.find(pid);
    dt::AgentClient* agent =
        process != nullptr ? state().processes.agent_of(*process) : nullptr;
    // Sites can be planned only in a traced process.
    if (agent == nullptr || process->symbols == nullptr ||
        !state().processes.is_traced(*process))
        return fail(ESRCH, "not examined; use -p " + std::to_string(pid));
    std::vector<std::uint32_t> ids;
    for (std::uint32_t id : listed) {
        const dt::ProcessProbe* probe = state().probes.probe(id);
        if (probe != nullptr && probe->pid == pid)
            ids.push_back(id);
    }
    state().probes.find_extents(*process->symbols, ids);
    std::vector<dt::Site> sites;
    for (std::uint32_t id : ids)
        for (const dt::ProbeSite& at : state().probes.probe(id)->sites)
            sites.push_back(dt::site_of(id, at));
    for (dt::Site& site : sites)
        site.breakpoint = state().options.mechanism == dt::MechanismOption::any ? 1 : 0;
    auto planned = agent->plan(pid, sites, dt::mechanism_of(state().options));
    if (!planned)
        return fail(planned.error());
    for (std::uint32_t id : ids)
        plans[id].clear();
    for (std::size_t i = 0; i < sites.size(); i++)
        plans[sites[i].probe].push_back(std::move((*planned)[i]));
    return 0;
}

extern "C" {

int dtrace_site_iter(dtrace_hdl_t* dtp, const dtrace_probedesc_t* desc,
                     dtrace_site_f* func, void* arg)
{
    std::uint32_t id = desc->dtpd_id;
    const dt::ProcessProbe* probe = dtp->state().probes.probe(id);
    if (probe == nullptr)
        return 0;
    if (dtp->plans.count(id) == 0) {
        if (std::find(dtp->listed.begin(), dtp->listed.end(), id) == dtp->listed.end())
            dtp->listed = {id};
        if (dtp->plan_listed(probe->pid) != 0)
            return -1;
    }
    const std::vector<dt::SitePlan>& plans = dtp->plans[id];
    for (std::size_t i = 0; i < probe->sites.size() && i < plans.size(); i++) {
        static constexpr const char* words[] = {"", "a breakpoint: ", "none: "};
        std::string text = words[plans[i].form] + plans[i].text;
        dtrace_sitedesc_t site{};
        site.dtsi_addr = probe->sites[i].at.value;
        site.dtsi_offset = probe->sites[i].offset;
        site.dtsi_mechanism = plans[i].form;
        site.dtsi_text = text.c_str();
        if (int stop = func(dtp, &site, arg); stop != 0)
            return stop;
    }
    return 0;
}

static_assert(int{DTRACE_SITE_JUMP} == int{dt::SitePlan::jump} &&
              int{DTRACE_SITE_INT3} == int{dt::SitePlan::breakpoint} &&
              int{DTRACE_SITE_REFUSED} == int{dt::SitePlan::refused});
static_assert(int{DTRACE_PATCH_JUMP} == int{dt::ProcessPatch::jump} &&
              int{DTRACE_PATCH_INT3} == int{dt::ProcessPatch::breakpoint} &&
              int{DTRACE_PATCH_UNKNOWN} == int{dt::ProcessPatch::unknown});

int dtrace_patch_iter(dtrace_hdl_t* dtp, pid_t pid, dtrace_patch_f* func, void* arg,
                      dtrace_patchinfo_t* info)
{
    auto symbols = dtp->state().processes.untraced().open(pid);
    if (!symbols)
        return dtp->fail(symbols.error());
    auto found = dt::find_patches(**symbols);
    if (!found)
        return dtp->fail(found.error());
    if (info != nullptr) {
        dtp->patch_notes = found->notes;
        dtp->patch_note_texts.clear();
        for (const std::string& note : dtp->patch_notes)
            dtp->patch_note_texts.push_back(note.c_str());
        dtp->patch_note_texts.push_back(nullptr);
        *info = {};
        info->dtpi_jumps = static_cast<uint32_t>(found->count(dt::ProcessPatch::jump));
        info->dtpi_int3s =
            static_cast<uint32_t>(found->count(dt::ProcessPatch::breakpoint));
        info->dtpi_unknown =
            static_cast<uint32_t>(found->count(dt::ProcessPatch::unknown));
        info->dtpi_live = static_cast<uint32_t>(found->n_live_jumps());
        info->dtpi_runtime = found->runtime.value;
        info->dtpi_version = found->runtime.value != 0 && !found->other_version;
        info->dtpi_agent = found->agent;
        info->dtpi_agent_lives = found->agent_lives;
        info->dtpi_tracer = found->tracer;
        info->dtpi_notes = dtp->patch_note_texts.data();
    }
    for (const dt::ProcessPatch& patch : found->patches) {
        dt::Symbol symbol = (*symbols)->lookup(patch.at);
        std::string module = symbol.module != nullptr ? symbol.module->name : "";
        std::string address = (*symbols)->format_address(patch.at);
        std::string function = address.substr(address.find('`') + 1);
        dtrace_patchdesc_t desc{};
        desc.dtpt_addr = patch.at.value;
        desc.dtpt_bytes = patch.n_bytes;
        desc.dtpt_kind = patch.kind;
        desc.dtpt_live = patch.live;
        desc.dtpt_mod = module.c_str();
        desc.dtpt_func = function.c_str();
        desc.dtpt_trampoline = patch.trampoline.value;
        desc.dtpt_firings = patch.n_firings;
        desc.dtpt_text = patch.text.c_str();
        if (int stop = func(dtp, &desc, arg); stop != 0)
            return stop;
    }
    return 0;
}

} // extern "C"
