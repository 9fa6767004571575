// SPDX-License-Identifier: MIT
#include "libdtrace/providers/known_providers.hpp"

#include "libdtrace/symbols/glob.hpp"

#include <array>
#include <fstream>
#include <iterator>
#include <utility>

namespace dt {

namespace {

constexpr std::pair<std::string_view, std::string_view> definitions[] = {
#include "known_definitions.inc"
};

// Probes that fire only if the program was started with an option or environment
// variable.
struct Switch {
    std::string_view provider;
    const char* probe; // a glob of probe names
    const char* file;  // a file in /proc/PID that contains NUL-terminated strings
    std::array<std::string_view, 2> either;
    std::string_view how;
};
constexpr Switch switches[] = {
    {"hotspot",
     "method-[er][ne]t*",
     "cmdline",
     {"-XX:+ExtendedDTraceProbes", "-XX:+DTraceMethodProbes"},
     "java -XX:+ExtendedDTraceProbes"},
    {"hotspot",
     "object-alloc",
     "cmdline",
     {"-XX:+ExtendedDTraceProbes", "-XX:+DTraceAllocProbes"},
     "java -XX:+ExtendedDTraceProbes"},
    {"hotspot",
     "monitor-*",
     "cmdline",
     {"-XX:+ExtendedDTraceProbes", "-XX:+DTraceMonitorProbes"},
     "java -XX:+ExtendedDTraceProbes"},
    {"php",
     "function-*",
     "environ",
     {"USE_ZEND_DTRACE=1", ""},
     "USE_ZEND_DTRACE=1 php"},
    {"php", "execute-*", "environ", {"USE_ZEND_DTRACE=1", ""}, "USE_ZEND_DTRACE=1 php"},
    {"php",
     "compile-file-*",
     "environ",
     {"USE_ZEND_DTRACE=1", ""},
     "USE_ZEND_DTRACE=1 php"},
};

bool has_word(const std::string& words, std::string_view word)
{
    if (word.empty())
        return false;
    const std::string whole = '\0' + std::string(word) + '\0';
    return words.find(whole) != std::string::npos;
}

} // namespace

std::string_view known_definition(std::string_view provider)
{
    for (const auto& [name, text] : definitions)
        if (name == provider)
            return text;
    return {};
}

std::string missing_switch(pid_t pid, std::string_view provider, std::string_view probe)
{
    for (const Switch& each : switches) {
        if (each.provider != provider || !glob_match(each.probe, probe))
            continue;
        std::ifstream file("/proc/" + std::to_string(pid) + "/" + each.file,
                           std::ios::binary);
        if (!file)
            return {};
        std::string words('\0' + std::string(std::istreambuf_iterator<char>(file), {}));
        if (has_word(words, each.either[0]) || has_word(words, each.either[1]))
            return {};
        return std::string(provider) + ":::" + std::string(probe) +
               " does not fire in this process; to trace it, start the process as " +
               std::string(each.how);
    }
    return {};
}

} // namespace dt
