// SPDX-License-Identifier: MIT
#include "libdtrace/session/backends/memory_budget.hpp"

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <sys/resource.h>

namespace dt {

namespace {

std::string text_of_file(const std::string& path)
{
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

// Returns the number at the beginning of a file. Returns `otherwise` if the file is
// unreadable or sets no limit. A file without a limit contains a huge number (cgroup
// v1) or "max" (cgroup v2).
std::uint64_t number_in(const std::string& path, std::uint64_t otherwise)
{
    constexpr std::uint64_t huge = std::uint64_t{1} << 60;
    const std::string text = text_of_file(path);
    std::uint64_t n = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    return error != std::errc{} || n >= huge ? otherwise : n;
}

std::uint64_t left_in(const std::string& folder, bool unified)
{
    const char* limit_file = unified ? "/memory.max" : "/memory.limit_in_bytes";
    const char* used_file = unified ? "/memory.current" : "/memory.usage_in_bytes";
    const std::uint64_t limit = number_in(folder + limit_file, no_limit);
    if (limit == no_limit)
        return no_limit;
    const std::uint64_t used = number_in(folder + used_file, 0);
    return limit > used ? limit - used : 0;
}

bool has_word(const std::string& list, const std::string& word)
{
    std::istringstream words(list);
    for (std::string each; std::getline(words, each, ',');)
        if (each == word)
            return true;
    return false;
}

std::uint64_t soft_limit(pid_t pid, __rlimit_resource resource)
{
    rlimit limit{};
    if (::prlimit(pid, resource, nullptr, &limit) != 0 ||
        limit.rlim_cur == RLIM_INFINITY)
        return no_limit;
    return limit.rlim_cur;
}

} // namespace

std::uint64_t file_size_limit()
{
    return soft_limit(0, RLIMIT_FSIZE);
}

std::uint64_t address_space_left(pid_t pid)
{
    const std::uint64_t limit = soft_limit(pid, RLIMIT_AS);
    if (limit == no_limit)
        return no_limit;
    const std::string process = pid == 0 ? "self" : std::to_string(pid);
    std::ifstream file("/proc/" + process + "/statm");
    std::uint64_t pages = 0;
    constexpr std::uint64_t page = 4096;
    if (!(file >> pages))
        return no_limit;
    return limit > pages * page ? limit - pages * page : 0;
}

// Parses mountinfo (proc(5)). A line is "ID parent device root directory options
// [fields] - type source options".
std::vector<MemoryHierarchy> memory_hierarchies(const std::string& mountinfo)
{
    std::vector<MemoryHierarchy> all;
    std::istringstream lines(mountinfo);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string id, parent, device, root, folder, word, type, source, options;
        words >> id >> parent >> device >> root >> folder;
        while (words >> word && word != "-") {
        }
        words >> type >> source >> options;
        if (type == "cgroup2")
            all.push_back({folder, root, true});
        else if (type == "cgroup" && has_word(options, "memory"))
            all.push_back({folder, root, false});
    }
    return all;
}

// Parses /proc/PID/cgroup (cgroups(7)). A line is "number:controllers:path". For
// version 2, a line is "0::path".
std::uint64_t control_group_left(const std::string& groups,
                                 const std::string& mountinfo)
{
    std::uint64_t left = no_limit;
    const auto hierarchies = memory_hierarchies(mountinfo);
    std::istringstream lines(groups);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t first = line.find(':'), second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos)
            continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const bool unified = controllers.empty();
        if (!unified && !has_word(controllers, "memory"))
            continue;
        for (const MemoryHierarchy& each : hierarchies) {
            if (each.unified != unified)
                continue;
            std::string path = line.substr(second + 1);
            if (each.root != "/" && (path + "/").starts_with(each.root + "/"))
                path = path.substr(each.root.size());
            // Checks the group and its parents up to the root of the mount.
            for (;;) {
                left = std::min(left, left_in(each.folder + path, unified));
                const std::size_t slash = path.rfind('/');
                if (slash == std::string::npos || path.size() <= 1)
                    break;
                path = slash == 0 ? "/" : path.substr(0, slash);
            }
        }
    }
    return left;
}

std::uint64_t control_group_left(pid_t pid)
{
    const std::string process = pid == 0 ? "self" : std::to_string(pid);
    return control_group_left(text_of_file("/proc/" + process + "/cgroup"),
                              text_of_file("/proc/self/mountinfo"));
}

std::uint64_t available_bytes()
{
    std::istringstream lines(text_of_file("/proc/meminfo"));
    for (std::string line; std::getline(lines, line);) {
        std::uint64_t kib = 0;
        if (std::sscanf(line.c_str(), "MemAvailable: %" SCNu64 " kB", &kib) == 1)
            return kib << 10;
    }
    return 0;
}

std::uint64_t memory_left()
{
    const std::uint64_t available = available_bytes();
    return std::min(control_group_left(0), available == 0 ? no_limit : available);
}

std::uint64_t largest_aggregated_bytes()
{
    constexpr std::uint64_t least = 16 << 20;
    const std::uint64_t left = memory_left();
    return left == no_limit ? no_limit : std::max(least, left / 4);
}

} // namespace dt
