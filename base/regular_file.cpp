// SPDX-License-Identifier: MIT
#include "base/regular_file.hpp"

#include "base/page_bytes.hpp"

#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <memory>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace dt {

namespace {

std::string proc(pid_t pid, const std::string& entry)
{
    return "/proc/" + std::to_string(pid) + "/" + entry;
}

std::string range_entry(const MappedName& name)
{
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "map_files/%" PRIx64 "-%" PRIx64,
                  name.begin.value, name.end.value);
    return text.data();
}

bool is_regular(int fd, std::uint64_t max_bytes)
{
    struct stat is {};
    return ::fstat(fd, &is) == 0 && S_ISREG(is.st_mode) && is.st_size >= 0 &&
           static_cast<std::uint64_t>(is.st_size) <= max_bytes;
}

// Returns whether /proc/self/maps reports the device and inode of `name` for the
// mapping that begins at `at`.
bool own_mapping_is(const void* at, const MappedName& name)
{
    std::unique_ptr<FILE, int (*)(FILE*)> maps(std::fopen("/proc/self/maps", "re"),
                                               std::fclose);
    char* line = nullptr;
    std::size_t room = 0;
    bool same = false;
    while (maps && ::getline(&line, &room, maps.get()) > 0) {
        std::uint64_t begin = 0, inode = 0;
        unsigned major = 0, minor = 0;
        if (std::sscanf(line, "%" SCNx64 "-%*x %*s %*x %x:%x %" SCNu64, &begin, &major,
                        &minor, &inode) != 4 ||
            begin != reinterpret_cast<std::uintptr_t>(at))
            continue;
        same = major == name.major && minor == name.minor && inode == name.inode;
        break;
    }
    std::free(line);
    return same;
}

} // namespace

Fd open_regular(const std::string& path, std::uint64_t max_bytes)
{
    Fd found(::open(path.c_str(), O_PATH | O_CLOEXEC));
    if (!found || !is_regular(found.get(), max_bytes))
        return {};
    const std::string handle = "/proc/self/fd/" + std::to_string(found.get());
    Fd file(::open(handle.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!file || !is_regular(file.get(), max_bytes))
        return {};
    return file;
}

bool is_mapped_as(const Fd& file, const MappedName& name)
{
    struct stat is {};
    if (::fstat(file.get(), &is) != 0)
        return false;
    if (is.st_ino == name.inode && major(is.st_dev) == name.major &&
        minor(is.st_dev) == name.minor)
        return true;
    // Do not access this page: the file may have been truncated, and the access would
    // then fault.
    void* at = ::mmap(nullptr, page_bytes, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (at == MAP_FAILED)
        return false;
    const bool same = own_mapping_is(at, name);
    ::munmap(at, page_bytes);
    return same;
}

Fd open_mapped(const MappedName& name, std::uint64_t max_bytes)
{
    if (Fd file = open_regular(proc(name.pid, range_entry(name)), max_bytes))
        return file;
    for (const std::string& path :
         {proc(name.pid, "root" + name.path), proc(name.pid, "exe"), name.path})
        if (Fd file = open_regular(path, max_bytes); file && is_mapped_as(file, name))
            return file;
    return {};
}

} // namespace dt
