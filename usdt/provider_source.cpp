// SPDX-License-Identifier: MIT
#include "usdt/provider_source.hpp"

#include <cctype>
#include <cstdint>
#include <cstdio>

namespace dt::usdt {

namespace {

void append_upper(std::string& to, std::string_view name)
{
    for (std::size_t i = 0; i < name.size(); i++) {
        to += static_cast<char>(std::toupper(static_cast<unsigned char>(name[i])));
        if (name.substr(i, 2) == "__")
            i++;
    }
}

// Returns the FNV-1a hash of the text. `from` is the hash of the text before it.
std::uint64_t hash(std::string_view text, std::uint64_t from = 0xcbf29ce484222325)
{
    for (unsigned char c : text)
        from = (from ^ c) * 0x100000001b3;
    return from;
}

} // namespace

std::string parameter(std::size_t n)
{
    return "dt_a" + std::to_string(n);
}

std::string macro_name(std::string_view provider, std::string_view probe)
{
    std::string name;
    append_upper(name, provider);
    name += '_';
    append_upper(name, probe);
    return name;
}

std::string semaphore_name(std::string_view provider, std::string_view probe)
{
    return std::string(provider) + "_" + std::string(probe) + "_semaphore";
}

std::string function_name(std::string_view provider, std::string_view probe)
{
    return "__dtrace_" + std::string(provider) + "___" + std::string(probe);
}

std::string note_name(std::string_view probe)
{
    std::string name;
    for (char c : probe)
        name += c == '-' ? "__" : std::string(1, c);
    return name;
}

std::string group_name(const ProviderSource& provider)
{
    std::uint64_t all = hash(provider.definition);
    for (const SourceProbe& probe : provider.probes)
        all = hash(probe.name + ",", all);
    char text[24];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(all));
    return "_.dtrace." + provider.name + "." + text;
}

} // namespace dt::usdt
