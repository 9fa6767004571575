// SPDX-License-Identifier: MIT
#include "libdtrace/api/provider_sources.hpp"

#include "libdtrace/compile/c_argument.hpp"
#include "libdtrace/compile/definition_text.hpp"

#include <map>

namespace dt {

static Error wrong(const ProviderBlock& block, const ProviderProbe& probe,
                   const std::string& what)
{
    return {Code::invalid, "line " + std::to_string(probe.at.line) + ": " + block.name +
                               ":::" + probe.name + " " + what};
}

Result<usdt::ProviderSource> provider_source(const ProviderBlock& block,
                                             TypeTable& types, Definitions definitions)
{
    usdt::ProviderSource source;
    source.name = block.name;
    std::set<std::string> tags;
    std::map<std::string, std::string> macros;
    for (const ProviderProbe& probe : block.probes) {
        usdt::SourceProbe& one = source.probes.emplace_back();
        one.name = usdt::note_name(probe.name);
        auto [known, is_new] =
            macros.emplace(usdt::macro_name(source.name, one.name), probe.name);
        if (!is_new)
            return wrong(block, probe,
                         "and " + known->second + " would both be " + known->first +
                             " in C: rename one of them");
        for (const Type* type : probe.native) {
            auto argument = c_argument(type, usdt::parameter(one.arguments.size() + 1),
                                       types, tags);
            if (const auto* why = std::get_if<std::string>(&argument))
                return wrong(block, probe,
                             "cannot have its argument " +
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
