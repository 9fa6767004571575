// SPDX-License-Identifier: MIT
#include "libdtrace/session/matcher.hpp"

#include "libdtrace/symbols/glob.hpp"
#include "libdtrace/symbols/suggest.hpp"

#include <algorithm>
#include <charconv>
#include <unistd.h>

namespace dt {

static std::string key_of(const ProbeSpec& spec)
{
    return spec.provider + ":" + spec.module + ":" + spec.function + ":" + spec.name +
           "#" + std::to_string(spec.id);
}

std::variant<ProbeMatch, Diagnostic> Matcher::match(const ProbeSpec& spec)
{
    ProbeMatch match;
    if (spec.id != 0) {
        if (s_.registry.has(spec.id) && s_.registry.at(spec.id).owner->is_derived())
            return Diagnostic{Tag::PDESC_INVAL, spec.at,
                              "probe " + std::to_string(spec.id) +
                                  " has no meaning without its provider: use its name",
                              ""};
        if (!s_.registry.has(spec.id))
            return Diagnostic{Tag::PDESC_INVAL, spec.at,
                              "invalid probe identifier " + std::to_string(spec.id) +
                                  ": Unknown probe identifier",
                              ""};
        match.ids.push_back(spec.id);
        return match;
    }
    auto known = matches_.find(key_of(spec));
    if (known != matches_.end())
        return known->second;

    // Without the module, the description ::: does not enable probes for recorded events.
    const bool omits_recorded = !s_.kernel && !s_.has_own_targets() &&
                                spec.provider.empty() && spec.module.empty() &&
                                spec.function.empty() && spec.name.empty();
    bool mine = false;
    for (Provider* provider : s_.providers.list()) {
        if (omits_recorded && is_kernel_provider(provider->name()))
            continue;
        Provider::Outcome outcome = provider->provide(spec);
        if (outcome.refused)
            return *outcome.refused;
        if (!outcome.mine)
            continue;
        mine = true;
        const std::vector<std::uint32_t>& ids = outcome.provided.ids;
        match.ids.insert(match.ids.end(), ids.begin(), ids.end());
        match.retained = match.retained || outcome.provided.retained;
        // A pattern such as p*d4711 may also match static probes, so the search
        // continues.
        if (provider != &s_.providers.pid || !is_glob(spec.provider))
            break;
    }
    if (mine && is_glob(spec.provider))
        sort_ids(match.ids);
    if (!mine) {
        match.ids =
            s_.registry.match(spec.provider, spec.module, spec.function, spec.name);
        std::erase_if(match.ids, [this](std::uint32_t id) {
            return s_.registry.at(id).owner->is_derived();
        });
    }
    if (match.ids.empty() && !match.retained) {
        std::string why = why_not_in_process(spec);
        if (why.empty())
            why = hint_for(spec) + searched_text(spec);
        return Diagnostic{Tag::PDESC_ZERO, spec.at,
                          "probe description " + spec.provider + ":" + spec.module +
                              ":" + spec.function + ":" + spec.name +
                              " does not match any probes" + why,
                          ""};
    }
    matches_[key_of(spec)] = match;
    return match;
}

// Returns the end of an error message if the description names a process (app4711:::)
// that this user may not read. Otherwise returns "".
std::string Matcher::why_not_in_process(const ProbeSpec& spec)
{
    std::size_t digits = spec.provider.find_last_not_of("0123456789") + 1;
    pid_t pid = 0;
    const char* end = spec.provider.data() + spec.provider.size();
    if (digits == 0 || digits == spec.provider.size() ||
        !s_.providers.may_be_static(spec) ||
        std::from_chars(spec.provider.data() + digits, end, pid).ptr != end)
        return "";
    auto opened = s_.processes.untraced().open(pid);
    if (opened || opened.error().code != Code::permission)
        return "";
    return "; process " + std::to_string(pid) +
           " cannot be read: only its owner or root may read it";
}

std::string Matcher::hint_without_kernel(const ProbeSpec& spec)
{
    const std::string& provider = spec.provider;
    const bool fires_in_targets = prefers_targets(provider);
    if (!is_recorded_provider(provider))
        return "; the " + provider + " provider needs the kernel: " + s_.why_no_kernel;
    if (s_.can_record_events() || (fires_in_targets && s_.has_own_targets())) {
        s_.providers.provide_all_of_kernel();
        std::string near = near_name(provider, spec.name, &ProbeInfo::name);
        if (near.empty())
            near = near_name(provider, spec.function, &ProbeInfo::function);
        if (!near.empty())
            return near;
        return "; without the kernel module, the " + provider +
               " provider has fewer probes, which dtrace -l -P " + provider +
               " lists; " + s_.why_no_kernel;
    }
    const std::string permitted =
        "root, CAP_PERFMON with a readable tracefs, or the kernel module: " +
        s_.why_no_kernel;
    if (!fires_in_targets)
        return "; the " + provider + " provider needs " + permitted;
    return "; name a process with -p or -c to trace its " +
           std::string(provider == "syscall" ? "system calls"
                                             : "threads, signals and programs") +
           "; those of all processes need " + permitted;
}

// Returns why a description of a kernel provider matches nothing.
std::string Matcher::kernel_hint(const ProbeSpec& spec)
{
    if (!s_.kernel)
        return hint_without_kernel(spec);
    if (spec.provider == "fbt")
        return s_.providers.fbt.hint(spec);
    return spec.provider == "sdt" ? s_.providers.sdt.hint() : "";
}

std::string Matcher::hint_for(const ProbeSpec& spec)
{
    if (is_kernel_provider(spec.provider))
        return kernel_hint(spec);
    if (std::string hint = s_.providers.usdt.hint(spec); !hint.empty())
        return hint;
    return near_name(spec.provider, spec.name, &ProbeInfo::name);
}

// Returns the end of a message with the most similar name of a probe, or with the most
// similar function if `part` is the function. Returns "" if no name is similar.
std::string Matcher::near_name(const std::string& provider, const std::string& name,
                               std::string_view ProbeInfo::*part)
{
    Suggestions near(name);
    for (std::uint32_t id = 1; id <= s_.registry.size(); id++)
        if (provider.empty() || s_.registry.at(id).provider == provider)
            near.consider(s_.registry.at(id).*part);
    auto nearest = near.nearest(1);
    if (!name.empty() && !nearest.empty() && nearest[0] != name)
        return did_you_mean(nearest);
    return "";
}

// Returns the end of a message about the processes that were searched for static
// probes, or "".
std::string Matcher::searched_text(const ProbeSpec& spec)
{
    const bool is_pattern = spec.provider.find_last_of("*?[") != std::string::npos;
    if (!s_.providers.may_be_static(spec) ||
        spec.provider.find_first_not_of('*') == std::string::npos ||
        !s_.usdt_candidates(SearchScope::named).empty())
        return "";
    auto processes_text = [](std::size_t n) {
        return std::to_string(n) + (n == 1 ? " process" : " processes");
    };
    const auto [all, n_forbidden] = s_.processes.all_readable();
    auto has_program = [](const ProcessSymbols* p) { return !p->modules().empty(); };
    const auto n =
        static_cast<std::size_t>(std::count_if(all.begin(), all.end(), has_program));
    std::string hidden;
    if (n_forbidden != 0)
        hidden =
            processes_text(n_forbidden) + " that only the owner or root may search";
    // A name without wildcards may be mistyped. So the text mentions only processes
    // that could not be searched.
    if (!is_pattern)
        return hidden.empty() || ::geteuid() == 0
                   ? ""
                   : "; the search did not cover " + hidden;
    std::string text = "; the search covered " + processes_text(n);
    if (!hidden.empty())
        text += ", but not " + hidden;
    return text + "; use -p or -c to search another process";
}

} // namespace dt
