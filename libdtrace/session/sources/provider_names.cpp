// SPDX-License-Identifier: MIT
#include "libdtrace/session/sources/provider_names.hpp"

#include "usdt/include/dtrace/usdt_names.h"
#include "usdt/provider_source.hpp"

namespace dt {

static bool is_of_dtrace(const std::string& provider)
{
#define X(own) || provider == own
    return false DTRACE_USDT_OWN_PROVIDERS(X);
#undef X
}

static Diagnostic bad_name(Place at, std::string text)
{
    return {Tag::PROV_BADNAME, at, std::move(text), ""};
}

static std::string too_long(std::size_t n, std::size_t most)
{
    return " is " + std::to_string(n) + " bytes long, which exceeds the maximum of " +
           std::to_string(most);
}

std::optional<Diagnostic> wrong_name(const ProviderBlock& block)
{
    constexpr std::size_t max_provider = DTRACE_USDT_MAX_PROVIDER_BYTES,
                          max_name = DTRACE_USDT_MAX_NAME_BYTES;
    if (is_of_dtrace(block.name))
        return bad_name(block.at, "provider " + block.name +
                                      " is one of DTrace's own: choose another name");
    if (block.name.size() > max_provider)
        return bad_name(block.at, "the name of provider " + block.name +
                                      too_long(block.name.size(), max_provider) +
                                      ": give it a shorter name");
    for (const ProviderProbe& probe : block.probes) {
        const std::string name = usdt::note_name(probe.name);
        if (name.size() > max_name)
            return bad_name(
                probe.at,
                "the name of " + block.name + ":::" + probe.name +
                    too_long(name.size(), max_name) +
                    (name != probe.name ? " (each - is stored as two bytes, __)" : "") +
                    ": give it a shorter name");
    }
    return std::nullopt;
}

} // namespace dt
