// SPDX-License-Identifier: MIT
#include "libdtrace/session/sources/provider_sources.hpp"

#include "libdtrace/compile/check/c_argument.hpp"
#include "libdtrace/compile/check/definition_text.hpp"

namespace dt {

static Error wrong(const ProviderBlock& block, const ProviderProbe& probe,
                   const std::string& what)
{
    return {Code::invalid, "line " + std::to_string(probe.at.line) + ": " + block.name +
                               ":::" + probe.name + " " + what};
}

std::string NamesInC::take(const ProviderBlock& block, const ProviderProbe& probe)
{
    const std::string name = usdt::note_name(probe.name);
    const std::string macro = usdt::macro_name(block.name, name);
    const std::string owner =
        block.name + ":::" + probe.name + " on line " + std::to_string(probe.at.line);
    for (const std::string& one :
         {macro, macro + "_ENABLED", usdt::semaphore_name(block.name, name),
          usdt::function_name(block.name, name)})
        if (auto [known, is_new] = owners_.emplace(one, owner); !is_new)
            return "and " + known->second + " would both define " + one +
                   " in C: rename one of them";
    return "";
}

Result<usdt::ProviderSource> provider_source(const ProviderBlock& block,
                                             TypeTable& types, Definitions definitions,
                                             NamesInC& names)
{
    usdt::ProviderSource source;
    source.name = block.name;
    std::set<std::string> tags;
    for (const ProviderProbe& probe : block.probes) {
        usdt::SourceProbe& one = source.probes.emplace_back();
        one.name = usdt::note_name(probe.name);
        if (std::string taken = names.take(block, probe); !taken.empty())
            return wrong(block, probe, taken);
        if (probe.native.size() > usdt::max_source_arguments)
            return wrong(block, probe,
                         "has " + std::to_string(probe.native.size()) +
                             " arguments, but a program can pass at most " +
                             std::to_string(usdt::max_source_arguments) +
                             " to a probe: pass the address of a struct");
        for (const Type* type : probe.native) {
            auto argument = c_argument(type, usdt::parameter(one.arguments.size() + 1),
                                       types, tags);
            if (const auto* why = std::get_if<std::string>(&argument))
                return wrong(block, probe,
                             "cannot pass its argument " +
                                 std::to_string(one.arguments.size() + 1) + ": " +
                                 *why);
            auto& made = std::get<CArgument>(argument);
            one.arguments.push_back(
                {std::move(made.form), std::move(made.declaration)});
        }
    }
    source.tags.assign(tags.begin(), tags.end());
    if (definitions == Definitions::Carried)
        source.definition = definition_text(block);
    return source;
}

} // namespace dt
