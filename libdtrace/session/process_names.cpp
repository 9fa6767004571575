// SPDX-License-Identifier: MIT
#include "libdtrace/session/process_names.hpp"

#include "libdtrace/session/debug.hpp"
#include "libdtrace/symbols/suggest.hpp"

#include <algorithm>
#include <charconv>

namespace dt {

ProcessNames::Scope ProcessNames::in_scope(std::string_view scope)
{
    std::string_view first = scope.substr(0, scope.find('`'));
    pid_t pid = 0;
    if (first.starts_with("pid")) {
        const char* end = first.data() + first.size();
        auto [stop, error] = std::from_chars(first.data() + 3, end, pid);
        if (error != std::errc{} || stop != end)
            pid = 0;
    }
    if (pid == 0)
        return {s_.processes.first(), scope,
                "there is no target: name one with -p or -c"};
    scope.remove_prefix(std::min(first.size() + 1, scope.size()));
    return {s_.processes.find(pid), scope,
            "process " + std::to_string(pid) + " is not traced: name it with -p"};
}

std::optional<std::uint64_t> ProcessNames::symbol_address(std::string_view scope,
                                                          std::string_view symbol)
{
    Scope in = in_scope(scope);
    if (in.process == nullptr || !in.process->symbols)
        return std::nullopt;
    if (auto function = in.process->symbols->lookup(in.module, symbol))
        return function->addr.value;
    for (const Module* module : in.process->symbols->match_modules(in.module))
        if (auto addr =
                module->image ? module->image->find_variable(symbol) : std::nullopt)
            return module->target_addr(*addr).value;
    return std::nullopt;
}

std::variant<std::vector<TargetModule>, std::string>
ProcessNames::modules_of(std::string_view scope)
{
    Scope in = in_scope(scope);
    if (in.process == nullptr || !in.process->symbols)
        return in.why_not;
    std::vector<TargetModule> modules;
    for (const Module* module : in.process->symbols->match_modules(in.module)) {
        TargetModule& one = modules.emplace_back();
        one.name = module->name;
        one.bias = module->bias;
        if (module->image) {
            auto types = module->image->debug_types();
            if (types)
                one.types = *types;
            debug("type data of %s: %s", module->name.c_str(),
                  types ? "found" : types.error().text.c_str());
        }
        if (module->is_main) // put the program before its libraries
            std::rotate(modules.begin(), modules.end() - 1, modules.end());
    }
    if (modules.empty())
        return "there is no module " + std::string(in.module) +
               did_you_mean(in.process->symbols->suggest_modules(in.module));
    return modules;
}

// Returns whether the symbol is GCC's clone of a function. Parameters of a clone may
// differ from the debug data.
static bool is_changed_clone(std::string_view name)
{
    for (std::string_view mark : {".isra.", ".constprop.", ".part."})
        if (name.find(mark) != std::string_view::npos)
            return true;
    return false;
}

std::variant<ProbedFunction, ArgumentTypes, std::string>
ProcessNames::probed_function(std::uint32_t id)
{
    if (s_.registry.has(id) &&
        (s_.providers.of_kernel(id) != nullptr || s_.is_recorded(id) ||
         s_.registry.at(id).owner == &s_.providers.tasks))
        return kernel_.probed(s_.registry.at(id));
    const ProcessProbe* probe = s_.probes.probe(id);
    if (probe == nullptr || probe->sites.empty())
        return "";
    const ProbeInfo& info = s_.registry.at(id);
    if (info.owner == &s_.providers.plockstat) {
        ArgumentTypes types;
        types.names = PlockstatProvider::argument_types(info);
        return types;
    }
    const ProbeSite& site = probe->sites.front();
    if (site.kind == ProbeSiteKind::Static)
        return s_.providers.usdt.argument_types(info);
    if (site.kind == ProbeSiteKind::Offset)
        return "inside a function, the locations of its arguments are unknown";
    ps_prochandle* process = s_.processes.find(probe->pid);
    const Module* module = process != nullptr && process->symbols
                               ? process->symbols->module_at(site.at)
                               : nullptr;
    if (module == nullptr || !module->image)
        return "the probe's module was unloaded or cannot be read";
    auto types = module->image->debug_types();
    debug("type data of %s: %s", module->name.c_str(),
          types ? "found" : types.error().text.c_str());
    if (!types)
        return types.error().code == Code::not_found
                   ? module->name +
                         " has no debug data (compile it with -g, or install "
                         "its debug symbols)"
                   : types.error().text;
    const std::string function(info.function);
    auto begin = process->symbols->lookup(module->path, function);
    std::uint64_t addr = begin ? begin->function->addr : module->link_addr(site.at);
    auto described = (*types)->function_at(addr);
    if (!described)
        return "the debug data of " + module->name + " does not describe " + function;
    if (described->own_convention)
        return function + " does not use the C calling convention";
    if (is_changed_clone(function))
        return "the compiler changed how " + function + " takes its arguments";
    return ProbedFunction{site.kind == ProbeSiteKind::Return
                              ? ProbedFunction::At::Return
                              : ProbedFunction::At::Entry,
                          *types, std::move(*described)};
}

} // namespace dt
