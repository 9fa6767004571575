// SPDX-License-Identifier: MIT
// Creates probes for functions of the kernel, and maps probes back to addresses.
#include "libdtrace/providers/fbt_provider.hpp"

#include "abi/ioctl.h"
#include "base/each_part.hpp"
#include "libdtrace/providers/tracefs.hpp"
#include "libdtrace/symbols/glob.hpp"

#include <array>
#include <string>
#include <unordered_set>
#include <utility>

namespace dt {

ProviderAttributes FbtProvider::attributes() const
{
    constexpr Attributes evolving{Stability::Evolving, Stability::Evolving,
                                  DependencyClass::Isa};
    constexpr Attributes hidden{Stability::Private, Stability::Private,
                                DependencyClass::Isa};
    return {evolving, hidden, hidden, evolving, hidden};
}

// Returns the functions in which the kernel forbids kprobes, as views of `list`. A line
// is "0xffffffff81076990-0xffffffff8107699e<tab>arch_rethook_fixup_return".
static std::unordered_set<std::string_view> forbidden_functions(const std::string& list)
{
    std::unordered_set<std::string_view> names;
    each_line(list, [&](std::string_view line) {
        std::string_view name = line.substr(line.find('\t') + 1);
        names.insert(name.substr(0, name.find_first_of("+ ")));
    });
    return names;
}

// Reads the list of the functions that ftrace can instrument. A line is "vfs_read" or
// "ext4_map_blocks [ext4]".
void FbtProvider::load()
{
    if (loaded_)
        return;
    loaded_ = true;
    auto list = read_tracefs("available_filter_functions");
    if (!list) {
        why_not_ = list.error().text;
        return;
    }
    list_ = std::move(*list);
    auto blacklist = read_debugfs("kprobes/blacklist");
    const std::string forbidden_list = blacklist ? std::move(*blacklist) : "";
    const auto forbidden = forbidden_functions(forbidden_list);
    each_line(list_, [&](std::string_view line) {
        std::string_view name = line.substr(0, line.find_first_of(" \t"));
        std::string_view module = KernelSymbols::proper;
        if (std::size_t open = line.find('['); open != std::string_view::npos)
            module = line.substr(open + 1, line.find(']') - open - 1);
        // If nmi_handle is forbidden, the split-off part nmi_handle.part.0 is too.
        if (!name.empty() && !name.starts_with("__ftrace_invalid_address__") &&
            !forbidden.contains(name) &&
            !forbidden.contains(name.substr(0, name.find('.'))))
            functions_.emplace_back(module, name);
    });
}

void FbtProvider::forget()
{
    loaded_ = false;
    functions_.clear();
    list_.clear();
    why_not_.clear();
}

static constexpr std::array names{"entry", "return"};

Provider::Outcome FbtProvider::provide(const ProbeSpec& spec)
{
    if (!part_means(spec.provider, "fbt") ||
        (!part_means(spec.name, names[0]) && !part_means(spec.name, names[1])))
        return {};
    load();
    Outcome outcome = provide(spec, [&](std::string_view function) {
        return part_means(spec.function, function);
    });
    // A description of foo matches foo.isra.0 only if it names the provider fbt.
    // Another provider may have probes of foo.
    if (!outcome.provided.ids.empty() || spec.provider != "fbt" ||
        spec.function.empty() || is_glob(spec.function))
        return outcome;
    outcome = provide(spec, [&](std::string_view function) {
        return KernelSymbols::function_of(function) == spec.function;
    });
    // The function has another name in the description, so the registry does not find
    // these probes. The caller must use the ids in the outcome.
    outcome.mine = outcome.mine || !outcome.provided.ids.empty();
    return outcome;
}

template <class F>
Provider::Outcome FbtProvider::provide(const ProbeSpec& spec, F meets)
{
    std::string module = spec.module;
    if (!module.empty() && symbols_.is_module(module))
        module = KernelSymbols::canonical(module);
    if (module.empty() && spec.function.empty())
        registry_.expect(2 * functions_.size());
    Outcome outcome;
    for (const auto& [its_module, function] : functions_) {
        if (!meets(function) || !part_means(module, its_module))
            continue;
        for (const char* name : names)
            if (part_means(spec.name, name)) {
                std::uint32_t id =
                    registry_.add(this, "fbt", its_module, function, name);
                outcome.provided.ids.push_back(id);
            }
    }
    // The module may have another name in the description. So the registry does not
    // find these probes, and the caller must use the ids in the outcome.
    outcome.mine = module != spec.module && spec.provider == "fbt";
    sort_ids(outcome.provided.ids);
    return outcome;
}

std::vector<KernelSite> FbtProvider::sites(const ProbeInfo& probe)
{
    std::vector<KernelSite> sites;
    symbols_.each_named(probe.function, [&](const KernelSymbols::Symbol& symbol) {
        if (!symbol.is_function || symbol.module != probe.module)
            return;
        KernelSite& site = sites.emplace_back();
        site.kind = probe.name == "entry" ? DTK_FBT_ENTRY : DTK_FBT_RETURN;
        site.where = symbol.addr;
    });
    return sites;
}

std::string FbtProvider::hint(const ProbeSpec& spec)
{
    load();
    if (!why_not_.empty())
        return "; " + why_not_;
    if (spec.function.empty())
        return "";
    auto symbol = symbols_.find(spec.module, spec.function);
    if (symbol && symbol->is_function)
        return "; the kernel does not allow the function " + spec.function +
               " to be traced: the kernel's own tracing code uses the function, or "
               "the function has no space for a probe";
    return symbol ? "; " + spec.function + " is not a function"
                  : "; " + symbol.error().text;
}

} // namespace dt
