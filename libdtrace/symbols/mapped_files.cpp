// SPDX-License-Identifier: MIT
#include "libdtrace/symbols/mapped_files.hpp"

#include <array>
#include <cstdio>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>

namespace dt {

int MappedFiles::open(const Mapping& mapping)
{
    auto [known, is_new] = files_.try_emplace(mapping.file);
    if (is_new)
        known->second = take(mapping);
    return known->second ? known->second.get() : -1;
}

Fd MappedFiles::take(const Mapping& mapping) const
{
    std::array<char, 96> name{};
    std::snprintf(name.data(), name.size(), "/proc/%d/map_files/%llx-%llx", pid_,
                  static_cast<unsigned long long>(mapping.begin.value),
                  static_cast<unsigned long long>(mapping.end.value));
    if (Fd fd(::open(name.data(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)); fd)
        return fd;
    Fd fd(::open(("/proc/" + std::to_string(pid_) + "/root" + mapping.path).c_str(),
                 O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat is {};
    if (fd && ::fstat(fd.get(), &is) == 0 && is.st_ino == mapping.file.inode)
        return fd;
    return {};
}

} // namespace dt
