// SPDX-License-Identifier: MIT
// Checks provider blocks. Each argument of a probe must match a native argument. Two
// blocks of the same provider must have the same probes.
//
//   probe place(int i, int j) : (int j, int i);
//
// The second list contains the arguments that D programs use. A named entry denotes the
// native argument of that name. An entry without a name denotes the native argument at
// the same position.
#include "libdtrace/compile/check/check_internal.hpp"

#include "libdtrace/compile/check/definition_text.hpp"

#include <algorithm>

namespace dt {

namespace {

// A GCC asm statement can have 30 operands, and the probe itself needs one of them.
constexpr std::size_t max_arguments = 29;

std::string called(const std::string& provider, const ProviderProbe& probe)
{
    return provider + ":::" + probe.name;
}

void map_arguments(const std::string& provider, ProviderProbe& probe)
{
    probe.mapping.clear();
    const auto& natives = probe.native_names;
    for (std::size_t i = 0; i < probe.translated.size(); i++) {
        const std::string& name = probe.translated_names[i];
        auto found = std::find(natives.begin(), natives.end(), name);
        std::size_t n = name.empty()             ? i
                        : found != natives.end() ? std::size_t(found - natives.begin())
                                                 : natives.size();
        if (n >= natives.size())
            fail(Tag::PROV_PRXLATOR, probe.at,
                 called(provider, probe) +
                     " has no native argument for its translated argument " +
                     (name.empty() ? "number " + std::to_string(i + 1) : name));
        probe.mapping.push_back(static_cast<unsigned>(n));
    }
}

} // namespace

void Checker::provider(Decl& decl)
{
    for (ProviderProbe& probe : decl.probes) {
        if (std::max(probe.native.size(), probe.translated.size()) > max_arguments)
            fail(Tag::PROV_PRARGLEN, probe.at,
                 called(decl.name, probe) + " has more than " +
                     std::to_string(max_arguments) + " arguments");
        map_arguments(decl.name, probe);
    }
    const std::string text = interface_text({decl.name, decl.at, decl.probes, {}});
    auto [known, is_new] = symbols_.interfaces.try_emplace(decl.name, text);
    if (!is_new && known->second != text)
        fail(Tag::PROV_INCOMPAT, decl.at,
             "provider " + decl.name + " was already defined with different probes");
}

} // namespace dt
