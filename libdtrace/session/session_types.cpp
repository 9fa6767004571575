// SPDX-License-Identifier: MIT
// What the compiler asks about the traced processes: names with a backquote, and the
// functions that probes are in.
#include "libdtrace/session/session.hpp"

#include "libdtrace/session/debug.hpp"

#include "libdtrace/symbols/suggest.hpp"

#include <algorithm>
#include <charconv>

using dt::ProbedFunction;
using dt::TargetModule;

// "pid42`libc.so.6", "a.out", "pid42", "".
dtrace_hdl::Scope dtrace_hdl::in_scope(std::string_view scope)
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
        return {processes.first(), scope, "there is no target: -p or -c names one"};
    scope.remove_prefix(std::min(first.size() + 1, scope.size()));
    return {processes.find(pid), scope,
            "process " + std::to_string(pid) + " is not traced: -p names it"};
}

std::optional<std::uint64_t> dtrace_hdl::symbol_address(std::string_view scope,
                                                        std::string_view symbol)
{
    Scope in = in_scope(scope);
    if (in.process == nullptr || !in.process->symbols)
        return std::nullopt;
    if (auto function = in.process->symbols->lookup(in.module, symbol))
        return function->addr.value;
    for (const dt::Module* module : in.process->symbols->match_modules(in.module))
        if (auto addr = module->image ? module->image->find_variable(symbol)
                                      : std::nullopt)
            return module->target_addr(*addr).value;
    return std::nullopt;
}

std::variant<std::vector<TargetModule>, std::string>
dtrace_hdl::modules_of(std::string_view scope)
{
    Scope in = in_scope(scope);
    if (in.process == nullptr || !in.process->symbols)
        return in.why_not;
    std::vector<TargetModule> modules;
    for (const dt::Module* module : in.process->symbols->match_modules(in.module)) {
        TargetModule& one = modules.emplace_back();
        one.name = module->name;
        one.bias = module->bias;
        if (module->image) {
            auto types = module->image->debug_types();
            if (types)
                one.types = *types;
            dt::debug("type data of %s: %s", module->name.c_str(),
                      types ? "found" : types.error().text.c_str());
        }
        if (module->is_main) // goes before its libraries, wherever it lies
            std::rotate(modules.begin(), modules.end() - 1, modules.end());
    }
    if (modules.empty())
        return "there is no module " + std::string(in.module) +
               dt::did_you_mean(in.process->symbols->suggest_modules(in.module));
    return modules;
}

// GCC's clones of a function have other parameters than its debug data says.
static bool is_changed_clone(std::string_view name)
{
    for (std::string_view mark : {".isra.", ".constprop.", ".part."})
        if (name.find(mark) != std::string_view::npos)
            return true;
    return false;
}

std::variant<ProbedFunction, dt::ArgumentTypes, std::string>
dtrace_hdl::probed_function(std::uint32_t id)
{
    if (registry.has(id) && kernel_provider_of(id) != nullptr)
        return probed_in_kernel(registry.at(id));
    const dt::ProcessProbe* probe = probes.probe(id);
    if (probe == nullptr || probe->sites.empty())
        return "";
    const dt::ProbeInfo& info = registry.at(id);
    const dt::ProbeSite& site = probe->sites.front();
    if (site.kind == dt::ProbeSiteKind::Static)
        return usdt_provider.argument_types(info);
    if (site.kind == dt::ProbeSiteKind::Offset)
        return "within a function arguments have no known places";
    ps_prochandle* process = processes.find(probe->pid);
    const dt::Module* module = process != nullptr && process->symbols
                                   ? process->symbols->module_at(site.at)
                                   : nullptr;
    if (module == nullptr || !module->image)
        return "its module is not known any more";
    auto types = module->image->debug_types();
    dt::debug("type data of %s: %s", module->name.c_str(),
              types ? "found" : types.error().text.c_str());
    if (!types)
        return types.error().code == dt::Code::not_found
                   ? module->name + " has no debug data (compile it with -g, or install "
                                    "its debug symbols)"
                   : types.error().text;
    const std::string function(info.function);
    auto begin = process->symbols->lookup(module->path, function);
    std::uint64_t addr = begin ? begin->function->addr : module->link_addr(site.at);
    auto described = (*types)->function_at(addr);
    if (!described)
        return "the debug data of " + module->name + " do not describe " + function;
    if (described->own_convention)
        return function + " takes its arguments by other rules than C's";
    if (is_changed_clone(function))
        return "the compiler changed how " + function + " takes its arguments";
    return ProbedFunction{site.kind == dt::ProbeSiteKind::Return
                              ? ProbedFunction::At::Return
                              : ProbedFunction::At::Entry,
                          *types, std::move(*described)};
}
