// SPDX-License-Identifier: MIT
#include "libdtrace/providers/syscall_arguments.hpp"

#include "base/each_part.hpp"
#include "libdtrace/providers/tracefs.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace dt {

std::vector<ArgumentTypes::Written> arguments_in_format(std::string_view format)
{
    constexpr std::string_view blanks = " \t";
    std::vector<ArgumentTypes::Written> arguments;
    each_line(format, [&](std::string_view line) {
        line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
        constexpr std::string_view word = "field:";
        if (!line.starts_with(word))
            return;
        line = line.substr(word.size(), line.find(';') - word.size());
        const std::size_t blank = line.rfind(' ');
        if (blank == std::string_view::npos)
            return;
        const std::string_view name = line.substr(blank + 1);
        std::string_view type = line.substr(0, blank);
        if (name.starts_with("common_") || name == "__syscall_nr" ||
            type.starts_with("__data_loc"))
            return;
        arguments.push_back({std::string(name), std::string(type)});
    });
    return arguments;
}

// Returns the call's name in the kernel's source.
static std::string_view name_in_source(std::string_view call)
{
    using Pair = std::pair<std::string_view, std::string_view>;
    constexpr std::array others{
        Pair{"fstat", "newfstat"},      Pair{"lstat", "newlstat"},
        Pair{"sendfile", "sendfile64"}, Pair{"stat", "newstat"},
        Pair{"umount2", "umount"},      Pair{"uname", "newuname"}};
    for (const auto& [name, in_source] : others)
        if (name == call)
            return in_source;
    return call;
}

Result<std::vector<ArgumentTypes::Written>> syscall_arguments(std::string_view call)
{
    auto format = read_tracefs("events/syscalls/sys_enter_" +
                               std::string(name_in_source(call)) + "/format");
    if (format)
        return arguments_in_format(*format);
    if (format.error().code != Code::not_found)
        return format.error();
    // Return a different error if tracefs itself is missing.
    if (auto events = read_tracefs("available_events"); !events)
        return events.error();
    return Error{Code::unsupported,
                 "the kernel does not describe the arguments of the system call " +
                     std::string(call),
                 0};
}

} // namespace dt
