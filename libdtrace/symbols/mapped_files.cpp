// SPDX-License-Identifier: MIT
#include "libdtrace/symbols/mapped_files.hpp"

#include <array>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>

namespace dt {

int MappedFiles::open(const Mapping& mapping)
{
    auto [known, is_new] = files_.try_emplace(mapping.file);
    if (is_new)
        known->second = take(mapping);
    return known->second ? known->second.get() : -1;
}

std::string MappedFiles::range_path(const Mapping& mapping) const
{
    std::array<char, 96> name{};
    std::snprintf(name.data(), name.size(), "/proc/%d/map_files/%llx-%llx", pid_,
                  static_cast<unsigned long long>(mapping.begin.value),
                  static_cast<unsigned long long>(mapping.end.value));
    return name.data();
}

std::string MappedFiles::root_path(const Mapping& mapping) const
{
    return "/proc/" + std::to_string(pid_) + "/root" + mapping.path;
}

Fd MappedFiles::take(const Mapping& mapping) const
{
    return open_mapped(mapped_name(pid_, mapping));
}

std::optional<FileVersion> MappedFiles::version(const Mapping& mapping) const
{
    constexpr unsigned wanted = STATX_TYPE | STATX_SIZE | STATX_MTIME | STATX_INO;
    struct statx is {};
    // AT_STATX_DONT_SYNC avoids a request to a file server, which might not respond.
    auto can_be_seen = [&](const std::string& path) {
        return ::statx(AT_FDCWD, path.c_str(), AT_STATX_DONT_SYNC, wanted, &is) == 0;
    };
    if (!can_be_seen(range_path(mapping)) &&
        (!can_be_seen(root_path(mapping)) || is.stx_ino != mapping.file.inode))
        return {};
    if (!S_ISREG(is.stx_mode))
        return {};
    return FileVersion{mapping.file, static_cast<std::int64_t>(is.stx_size),
                       is.stx_mtime.tv_sec * std::int64_t{1'000'000'000} +
                           is.stx_mtime.tv_nsec};
}

} // namespace dt
