// SPDX-License-Identifier: MIT
// What the compiler asks about the kernel: its names, and the functions and tracepoints
// that probes are in. The answers need no kernel module: they come from /proc/kallsyms and
// BTF. What a program then reads of the kernel only the kernel module can.
#include "libdtrace/session/session.hpp"

#include "libdtrace/session/debug.hpp"
#include "libdtrace/providers/stable_provider.hpp"

using dt::ProbedFunction;
using Probed = std::variant<ProbedFunction, dt::ArgumentTypes, std::string>;

static dt::Result<std::vector<dt::TargetModule>> modules_in(dt::KernelTypes& types,
                                                            std::string_view scope)
{
    auto found = types.modules(scope);
    if (!found)
        return found.error();
    std::vector<dt::TargetModule> modules;
    for (const dt::KernelTypes::Module& one : *found) {
        modules.push_back({one.name, 0, one.types});
        if (one.types == nullptr)
            dt::debug("type data of the kernel's %s: none", one.name.c_str());
    }
    return modules;
}

void dtrace_hdl::know_kernel(dt::CompileOptions& to)
{
    to.kernel = has_kernel();
    to.is_kernel_module = [this](std::string_view scope) {
        return kernel_types.is_module(scope);
    };
    to.kernel_modules = [this](std::string_view scope) {
        return modules_in(kernel_types, scope);
    };
    to.kernel_symbol = [this](std::string_view module,
                              std::string_view name) -> dt::Result<dt::KernelSymbol> {
        auto found = processes.kernel().find(module, name);
        if (!found)
            return found.error();
        return dt::KernelSymbol{std::string(found->module), found->addr, found->n_bytes,
                                found->is_function};
    };
}

static Probed probed(dt::Result<dt::KernelTypes::Function> found, ProbedFunction::At at)
{
    if (!found)
        return found.error().text;
    return ProbedFunction{at, found->types, std::move(found->function)};
}

Probed dtrace_hdl::kernel_function(std::string_view module, std::string_view function,
                                   ProbedFunction::At at)
{
    return probed(kernel_types.function(module, function), at);
}

Probed dtrace_hdl::kernel_tracepoint(std::string_view module, std::string_view name)
{
    return probed(kernel_types.tracepoint(module, name), ProbedFunction::At::Entry);
}

Probed dtrace_hdl::system_call(const dt::ProbeInfo& probe)
{
    auto said = syscall_provider.argument_types(probe);
    if (!said)
        return said.error().text;
    if (auto types = kernel_types.types_of_programs(); types)
        said->written_in = *types;
    else
        dt::debug("types of system calls: %s", types.error().text.c_str());
    return std::move(*said);
}

Probed dtrace_hdl::probed_in_kernel(const dt::ProbeInfo& probe)
{
    using At = ProbedFunction::At;
    if (probe.owner == &fbt_provider)
        return kernel_function(probe.module, probe.function,
                               probe.name == "entry" ? At::Entry : At::Return);
    if (probe.owner == &sdt_provider)
        return kernel_tracepoint("", probe.name);
    if (dynamic_cast<const dt::StableProvider*>(probe.owner) != nullptr)
        return kernel_arguments(probe);
    if (probe.owner == &syscall_provider)
        return system_call(probe);
    return "";
}
