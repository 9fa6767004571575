// SPDX-License-Identifier: MIT
#include "process/regular_file.hpp"

#include "base/page_bytes.hpp"
#include "process/server_file.hpp"

#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <linux/openat2.h>
#include <memory>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <utility>

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

// A file that was opened. A copy has another inode than the file.
struct Opened {
    Fd file;
    bool is_copy = false;
    std::uint32_t major = 0, minor = 0;
    std::uint64_t inode = 0;
    bool no_reply = false;
};

bool opens_directly = false; // see leave_servers_to_another_process()

// Returns whether the path is an entry of /proc that refers to a file directly, for
// example /proc/PID/exe. The kernel then follows no other name.
bool is_direct(const std::string& path)
{
    return path.starts_with("/proc/") && path.find("/root/") == std::string::npos &&
           path.find("/cwd/") == std::string::npos;
}

// Opens /proc/PID/root if the path begins with it, and removes it from the path. With
// RESOLVE_CACHED, the kernel does not follow this link.
Fd take_root(std::string& path)
{
    constexpr std::string_view proc_folder = "/proc/", link = "/root/";
    const std::size_t at = path.find(link);
    if (!path.starts_with(proc_folder) || path.find('/', proc_folder.size()) != at)
        return {};
    const std::size_t rest = path.find_first_not_of('/', at + link.size());
    Fd root(::open(path.substr(0, at + link.size()).c_str(),
                   O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (root && rest != std::string::npos)
        path.erase(0, rest);
    return root;
}

// Finds the file with O_PATH if its name can be followed without waiting. `waits` is set
// to true if it may be necessary to wait.
Fd find_at_once(std::string path, bool& waits)
{
    if (opens_directly || is_direct(path))
        return Fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
    const Fd root = take_root(path);
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    how.resolve = RESOLVE_CACHED;
    Fd found(static_cast<int>(::syscall(SYS_openat2, root ? root.get() : AT_FDCWD,
                                        path.c_str(), &how, sizeof how)));
    // EAGAIN: the kernel would have to read a directory, or to call a server. Old kernels
    // have no RESOLVE_CACHED, or no openat2().
    waits = !found && (errno == EAGAIN || errno == EINVAL || errno == ENOSYS);
    return found;
}

Opened from_server(ServerFile served)
{
    return {std::move(served.file), served.is_copy, served.major,
            served.minor,           served.inode,   served.timed_out};
}

Opened open_file(const std::string& path, std::uint64_t max_bytes, FileSystems from)
{
    bool waits = false;
    Fd found = find_at_once(path, waits);
    if (waits) {
        if (from == FileSystems::local)
            return {};
        return from_server(open_with_server(path, max_bytes));
    }
    if (!found)
        return {};
    if (!opens_directly && !is_local(found, path)) {
        if (from == FileSystems::local)
            return {};
        return from_server(open_with_server(found, max_bytes));
    }
    if (!is_regular(found.get(), max_bytes))
        return {};
    const std::string handle = "/proc/self/fd/" + std::to_string(found.get());
    Fd file(::open(handle.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!file || !is_regular(file.get(), max_bytes))
        return {};
    Opened opened;
    opened.file = std::move(file);
    return opened;
}

bool is_mapped_as(const Opened& opened, const MappedName& name)
{
    if (!opened.is_copy)
        return is_mapped_as(opened.file, name);
    return opened.inode == name.inode && opened.major == name.major &&
           opened.minor == name.minor;
}

} // namespace

void leave_servers_to_another_process()
{
    opens_directly = true;
}

Fd open_regular(const std::string& path, std::uint64_t max_bytes, FileSystems from)
{
    return open_file(path, max_bytes, from).file;
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

Fd open_mapped(const MappedName& name, std::uint64_t max_bytes, FileSystems from,
               bool* no_reply)
{
    Opened opened = open_file(proc(name.pid, range_entry(name)), max_bytes, from);
    if (opened.file)
        return std::move(opened.file);
    for (const std::string& path :
         {proc(name.pid, "exe"), name.path, proc(name.pid, "root" + name.path)}) {
        if (opened.no_reply) {
            if (no_reply != nullptr)
                *no_reply = true;
            return {};
        }
        opened = open_file(path, max_bytes, from);
        if (opened.file && is_mapped_as(opened, name))
            return std::move(opened.file);
    }
    return {};
}

} // namespace dt
