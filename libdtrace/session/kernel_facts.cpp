// SPDX-License-Identifier: MIT
#include "libdtrace/session/kernel_facts.hpp"

#include "libdtrace/compile/check/provider_definition.hpp"
#include "libdtrace/providers/kernel_libraries.hpp"
#include "libdtrace/session/debug.hpp"

#include <algorithm>
#include <iterator>

namespace dt {

using Probed = KernelFacts::Probed;

Result<std::vector<TargetModule>> KernelFacts::modules(std::string_view scope)
{
    auto found = types_.modules(scope);
    if (!found)
        return found.error();
    std::vector<TargetModule> modules;
    for (const KernelTypes::Module& one : *found) {
        modules.push_back({one.name, 0, one.types});
        if (one.types == nullptr)
            debug("the kernel has no type data for %s", one.name.c_str());
    }
    return modules;
}

Result<KernelSymbol> KernelFacts::symbol(std::string_view module, std::string_view name)
{
    auto found = s_.processes.kernel().find(module, name);
    if (!found)
        return found.error();
    return KernelSymbol{std::string(found->module), found->addr, found->n_bytes,
                        found->is_function};
}

static Probed probed_in(Result<KernelTypes::Function> found, ProbedFunction::At at)
{
    if (!found)
        return found.error().text;
    return ProbedFunction{at, found->types, std::move(found->function)};
}

Probed KernelFacts::function(std::string_view module, std::string_view function,
                             ProbedFunction::At at)
{
    return probed_in(types_.function(module, function), at);
}

Probed KernelFacts::tracepoint(std::string_view module, std::string_view name)
{
    return probed_in(types_.tracepoint(module, name), ProbedFunction::At::Entry);
}

Probed KernelFacts::system_call(const ProbeInfo& probe)
{
    auto said = s_.providers.syscall.argument_types(probe);
    if (!said)
        return said.error().text;
    if (auto types = types_.types_of_programs(); types)
        said->written_in = *types;
    else
        debug("the types in system calls are unknown: %s", types.error().text.c_str());
    return std::move(*said);
}

Probed KernelFacts::probed(const ProbeInfo& probe)
{
    using At = ProbedFunction::At;
    if (probe.owner == &s_.providers.fbt)
        return function(probe.module, probe.function,
                        probe.name == "entry" ? At::Entry : At::Return);
    if (probe.owner == &s_.providers.sdt)
        return tracepoint("", probe.name);
    if (dynamic_cast<const StableProvider*>(probe.owner) != nullptr ||
        s_.providers.is_recorded(probe.owner) || probe.owner == &s_.providers.tasks)
        return arguments(probe);
    if (probe.owner == &s_.providers.syscall)
        return system_call(probe);
    return "";
}

bool KernelFacts::load_libraries(std::string_view refused,
                                 const CompileLibrary& compile)
{
    if (s_.options.flags.nolibs ||
        !(s_.kernel || s_.syscalls_fire_in_targets() || s_.can_record_events()))
        return false;
    bool any = false;
    for (const KernelLibrary& one : s_.kernel
                                        ? kernel_libraries(wanted_, refused)
                                        : libraries_without_kernel(wanted_, refused)) {
        if (!tried_.insert(std::string(one.name) + ".d").second)
            continue;
        any = true;
        load_library(one, compile);
    }
    return any;
}

void KernelFacts::load_library(const KernelLibrary& library,
                               const CompileLibrary& compile)
{
    if (auto types = types_.types(KernelSymbols::proper); s_.kernel && !types) {
        why_not_ = types.error().text;
        return;
    }
    const std::string name = std::string(library.name) + ".d";
    auto compiled = compile(library.text, name);
    if (auto* program = std::get_if<Program>(&compiled)) {
        argument_types_ = program->types;
        std::move(program->providers.begin(), program->providers.end(),
                  std::back_inserter(providers_));
        debug("compiled D library %s for the kernel", name.c_str());
        return;
    }
    const auto& refused = std::get<Diagnostic>(compiled);
    debug("skipped D library %s for the kernel: line %d: %s", name.c_str(),
          refused.at.line, refused.text.c_str());
    if (refused.tag != Tag::PRAGMA_DEPEND)
        why_not_ = "the D library " + name + " does not support this kernel: line " +
                   std::to_string(refused.at.line) + ": " + refused.text;
}

bool KernelFacts::has_member(std::string_view name)
{
    const std::size_t dot = name.find('.');
    auto types = types_.types(KernelSymbols::proper);
    if (!types || dot == std::string_view::npos)
        return false;
    auto tagged = (*types)->find(DebugTypes::Kind::Struct, name.substr(0, dot));
    if (!tagged)
        return false;
    const auto members = (*types)->type(*tagged).members;
    return std::any_of(members.begin(), members.end(), [&](const DebugMember& one) {
        return one.name == name.substr(dot + 1);
    });
}

Probed KernelFacts::arguments(const ProbeInfo& probe)
{
    wanted_.insert(std::string(probe.provider));
    std::string name(probe.name);
    if (!probe.function.empty())
        name = std::string(probe.function) + "-" + name;
    for (const ProviderBlock& block : providers_) {
        if (block.name != probe.provider)
            continue;
        for (const ProviderProbe& one : block.probes)
            if (one.name == name)
                return ArgumentTypes{{}, shown_arguments(one), argument_types_};
        return ""; // the probe has no arguments
    }
    if (s_.options.flags.nolibs)
        return "D libraries declare the types, but -x nolibs was given";
    return why_not_.empty() ? "no D library declares the types" : why_not_;
}

} // namespace dt
