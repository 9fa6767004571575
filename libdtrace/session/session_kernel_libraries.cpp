// SPDX-License-Identifier: MIT
// The D libraries that the kernel's stable providers need: compiled when the first program
// turns out to need them, for they take longer than most programs.
//
// That is when the compiler refuses one which has a word of theirs, or which asks for
// arguments of such a probe: then they are compiled, and the program once more. Sessions
// without the kernel module have none of them.
#include "libdtrace/session/session.hpp"

#include "libdtrace/session/debug.hpp"
#include "libdtrace/compile/check/provider_definition.hpp"
#include "libdtrace/providers/kernel_libraries.hpp"

#include <algorithm>

using Probed = std::variant<dt::ProbedFunction, dt::ArgumentTypes, std::string>;

// False: there are no more.
bool dtrace_hdl::load_kernel_libraries(std::string_view refused)
{
    dt::KernelLibraries& mine = kernel_libraries;
    if (!has_kernel() || options.flags.nolibs)
        return false;
    bool any = false;
    for (const dt::KernelLibrary& one : dt::kernel_libraries(mine.wanted, refused)) {
        if (!mine.tried.insert(std::string(one.name) + ".d").second)
            continue;
        any = true;
        load_kernel_library(one);
    }
    return any;
}

void dtrace_hdl::load_kernel_library(const dt::KernelLibrary& library)
{
    dt::KernelLibraries& mine = kernel_libraries;
    if (auto types = kernel_types.types(dt::KernelSymbols::proper); !types) {
        mine.why_not = types.error().text;
        return;
    }
    dt::CompileOptions to = compile_options(0);
    to.library = to.empty = true;
    to.amin.reset(); // it is what uses the library that is judged
    to.source_name = std::string(library.name) + ".d";
    auto compiled = the_compiler().compile(library.text, to);
    if (auto* program = std::get_if<dt::Program>(&compiled)) {
        mine.types = program->types;
        std::move(program->providers.begin(), program->providers.end(),
                  std::back_inserter(mine.providers));
        dt::debug("the kernel's D library %s: compiled", to.source_name.c_str());
        return;
    }
    const auto& refused = std::get<dt::Diagnostic>(compiled);
    dt::debug("the kernel's D library %s: passed over: line %d: %s",
              to.source_name.c_str(), refused.at.line, refused.text.c_str());
    if (refused.tag != dt::Tag::PRAGMA_DEPEND)
        mine.why_not = "the D library " + to.source_name +
                       " does not know this kernel: line " +
                       std::to_string(refused.at.line) + ": " + refused.text;
}

bool dtrace_hdl::kernel_has_member(std::string_view name)
{
    const std::size_t dot = name.find('.');
    auto types = kernel_types.types(dt::KernelSymbols::proper);
    if (!types || dot == std::string_view::npos)
        return false;
    auto tagged = (*types)->find(dt::DebugTypes::Kind::Struct, name.substr(0, dot));
    if (!tagged)
        return false;
    const auto members = (*types)->type(*tagged).members;
    return std::any_of(members.begin(), members.end(), [&](const dt::DebugMember& one) {
        return one.name == name.substr(dot + 1);
    });
}

Probed dtrace_hdl::kernel_arguments(const dt::ProbeInfo& probe)
{
    dt::KernelLibraries& mine = kernel_libraries;
    mine.wanted.insert(std::string(probe.provider));
    std::string name(probe.name);
    if (!probe.function.empty())
        name = std::string(probe.function) + "-" + name;
    for (const dt::ProviderBlock& block : mine.providers) {
        if (block.name != probe.provider)
            continue;
        for (const dt::ProviderProbe& one : block.probes)
            if (one.name == name)
                return dt::ArgumentTypes{{}, dt::shown_arguments(one), mine.types};
        return ""; // it has none
    }
    if (options.flags.nolibs)
        return "D libraries say it, and -x nolibs was given";
    return mine.why_not.empty() ? "no D library says it" : mine.why_not;
}
