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
    constexpr int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
    if (Fd fd(::open(range_path(mapping).c_str(), flags)); fd)
        return fd;
    Fd fd(::open(root_path(mapping).c_str(), flags));
    struct stat is {};
    if (fd && ::fstat(fd.get(), &is) == 0 && is.st_ino == mapping.file.inode)
        return fd;
    return {};
}

std::optional<FileVersion> MappedFiles::version(const Mapping& mapping) const
{
    struct stat is {};
    if (::stat(range_path(mapping).c_str(), &is) != 0 &&
        (::stat(root_path(mapping).c_str(), &is) != 0 || is.st_ino != mapping.file.inode))
        return {};
    return FileVersion{mapping.file, is.st_size,
                       is.st_mtim.tv_sec * std::int64_t{1'000'000'000} + is.st_mtim.tv_nsec};
}

} // namespace dt
