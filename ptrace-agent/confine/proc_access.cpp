// SPDX-License-Identifier: MIT
#include "ptrace-agent/confine/proc_access.hpp"

#include "process/proc_files.hpp"
#include "process/regular_file.hpp"
#include "process/server_file.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

namespace dt::agent {

namespace {

// How the agent obtains a file.
enum class Form : std::uint8_t {
    none,
    direct,  // the open file
    copied,  // a pipe with the file's text, because the kernel checks each read
    memory,  // the open file, also for writing
    regular, // the open file, if it is a regular file
    folder,
    link,
};

enum class Reach : std::uint8_t {
    any,     // the file contains only what every user may read
    covered, // the agent's domain covers the process
    own,     // only the agent's own file
};

struct Entry {
    std::string_view
        name; // of the file in /proc/PID. A name that ends in '/' is a prefix
    Form form;
    Reach reach;
    bool of_threads; // the file is also available in /proc/PID/task/TID
};

constexpr Entry entries[] = {
    {"status", Form::direct, Reach::any, true},
    {"comm", Form::direct, Reach::any, false},
    {"uid_map", Form::direct, Reach::any, false},
    {"stat", Form::copied, Reach::covered, true},
    {"syscall", Form::copied, Reach::covered, true},
    {"schedstat", Form::copied, Reach::covered, true},
    {"cmdline", Form::direct, Reach::covered, false},
    {"auxv", Form::direct, Reach::covered, false},
    {"limits", Form::direct, Reach::covered, false},
    {"maps", Form::direct, Reach::covered, false},
    {"mountinfo", Form::direct, Reach::covered, false},
    {"pagemap", Form::direct, Reach::covered, false},
    {"fdinfo/", Form::direct, Reach::covered, true},
    {"mem", Form::memory, Reach::covered, false},
    {"exe", Form::regular, Reach::covered, false},
    {"map_files/", Form::regular, Reach::covered, false},
    {"task", Form::folder, Reach::covered, false},
};

constexpr Entry own_entries[] = {
    {"maps", Form::direct, Reach::own, false},
    {"mountinfo", Form::direct, Reach::own, false},
};

constexpr Entry links[] = {
    {"exe", Form::link, Reach::covered, false},
    {"cwd", Form::link, Reach::covered, false},
    {"root", Form::link, Reach::covered, false},
    {"fd/", Form::link, Reach::covered, true},
};

constexpr Entry own_links[] = {{"fd/", Form::link, Reach::own, false}};

// Files outside /proc/PID that describe the machine.
constexpr std::string_view machine_files[] = {"/proc/loadavg",
                                              "/proc/sys/kernel/yama/ptrace_scope",
                                              "/sys/devices/system/cpu/online"};

// Removes a number from the beginning of the path. Returns 0 if it begins otherwise.
pid_t take_number(std::string_view& path)
{
    pid_t number = 0;
    const auto [end, failed] =
        std::from_chars(path.data(), path.data() + path.size(), number);
    if (failed != std::errc() || number <= 0)
        return 0;
    path.remove_prefix(static_cast<std::size_t>(end - path.data()));
    return number;
}

bool take_prefix(std::string_view& path, std::string_view prefix)
{
    if (!path.starts_with(prefix))
        return false;
    path.remove_prefix(prefix.size());
    return true;
}

// A name after a prefix such as "map_files/" consists of these characters.
bool is_plain(std::string_view name)
{
    return !name.empty() &&
           name.find_first_not_of("0123456789abcdef-") == std::string_view::npos;
}

template <std::size_t n>
const Entry* find_entry(const Entry (&table)[n], std::string_view name, bool of_thread)
{
    for (const Entry& entry : table) {
        std::string_view rest = name;
        const bool prefix = entry.name.back() == '/';
        if ((prefix ? take_prefix(rest, entry.name) && is_plain(rest)
                    : name == entry.name) &&
            (entry.of_threads || !of_thread))
            return &entry;
    }
    return nullptr;
}

struct Place {
    pid_t pid = 0;
    bool own = false;
    std::string file;      // relative to /proc/PID
    std::string_view name; // the same without task/TID/
    bool of_thread = false;
};

// Parses a path below /proc/PID.
std::optional<Place> parse(std::string_view path, pid_t agent)
{
    Place place;
    if (!take_prefix(path, "/proc/"))
        return std::nullopt;
    place.pid = take_prefix(path, "self") ? agent : take_number(path);
    place.own = place.pid == agent;
    if (place.pid == 0 || !take_prefix(path, "/"))
        return std::nullopt;
    place.file = path;
    if (std::string_view rest = path; take_prefix(rest, "task/")) {
        if (take_number(rest) == 0 || !take_prefix(rest, "/"))
            return std::nullopt;
        path = rest;
        place.of_thread = true;
    }
    place.name = path;
    return place;
}

Fd folder_of(pid_t pid)
{
    const std::string path = "/proc/" + std::to_string(pid);
    return Fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

// Returns a pipe that contains the text of a file.
OpenedFile copy_of(const Fd& file)
{
    constexpr std::size_t max_bytes = 16 << 10; // a pipe has at least this capacity
    std::string text(max_bytes, '\0');
    std::size_t n = 0;
    while (n < text.size()) {
        const ssize_t n_read = ::read(file.get(), text.data() + n, text.size() - n);
        if (n_read < 0 && n == 0)
            return {Fd(), errno};
        if (n_read <= 0)
            break;
        n += static_cast<std::size_t>(n_read);
    }
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return {Fd(), errno};
    Fd reader(ends[0]), writer(ends[1]);
    if (::write(writer.get(), text.data(), n) != static_cast<ssize_t>(n))
        return {Fd(), EIO};
    return {std::move(reader), 0};
}

OpenedFile open_entry(const Fd& folder, const Place& place, const Entry& entry,
                      int flags)
{
    auto open_as = [&](int mode) {
        Fd file(::openat(folder.get(), place.file.c_str(), mode | O_CLOEXEC));
        const int error = file ? 0 : errno;
        return OpenedFile{std::move(file), error};
    };
    const bool reads_only = (flags & O_ACCMODE) == O_RDONLY;
    switch (entry.form) {
    case Form::direct:
        return reads_only ? open_as(O_RDONLY | O_NOFOLLOW) : OpenedFile{Fd(), EACCES};
    case Form::memory:
        return open_as((reads_only ? O_RDONLY : O_RDWR) | O_NOFOLLOW);
    case Form::folder:
        return open_as(O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    case Form::copied: {
        OpenedFile original = open_as(O_RDONLY | O_NOFOLLOW);
        return original.file ? copy_of(original.file) : std::move(original);
    }
    case Form::regular: {
        // Opening a device or a FIFO could have an effect.
        OpenedFile handle = open_as(O_PATH);
        struct stat info {};
        // The broker must not wait for the server of a file system.
        const std::string process = "/proc/" + std::to_string(place.pid) + "/";
        if (!handle.file || !is_local(handle.file, process) ||
            ::fstat(handle.file.get(), &info) != 0 || !S_ISREG(info.st_mode))
            return {Fd(), handle.file ? EACCES : handle.error};
        const std::string path = "/proc/self/fd/" + std::to_string(handle.file.get());
        Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
        const int error = file ? 0 : errno;
        return {std::move(file), error};
    }
    default:
        return {Fd(), EACCES};
    }
}

OpenedFile open_machine_file(std::string_view path, int flags)
{
    if ((flags & O_ACCMODE) != O_RDONLY)
        return {Fd(), EACCES};
    const bool known = std::find(std::begin(machine_files), std::end(machine_files),
                                 path) != std::end(machine_files);
    if (!known && path != "/proc")
        return {Fd(), EACCES};
    Fd file(::open(std::string(path).c_str(),
                   O_RDONLY | O_CLOEXEC | (known ? 0 : O_DIRECTORY)));
    const int error = file ? 0 : errno;
    return {std::move(file), error};
}

// Returns whether the process to which the folder belongs still exists.
bool exists(const Fd& folder)
{
    return ::faccessat(folder.get(), "status", F_OK, 0) == 0;
}

} // namespace

OpenedFile ProcAccess::open(std::string_view path, int flags) const
{
    const auto place = parse(path, agent_);
    if (!place)
        return open_machine_file(path, flags);
    const Entry* entry = find_entry(entries, place->name, place->of_thread);
    if (place->own && (entry == nullptr || entry->reach != Reach::any))
        entry = find_entry(own_entries, place->name, place->of_thread);
    if (entry == nullptr)
        return {Fd(), EACCES};
    const Fd folder = folder_of(place->pid);
    if (!folder)
        return {Fd(), ENOENT};
    OpenedFile opened = open_entry(folder, *place, *entry, flags);
    if (opened.file && entry->reach == Reach::covered &&
        (!permits(place->pid) || !exists(folder)))
        return {Fd(), exists(folder) ? EACCES : ENOENT};
    return opened;
}

std::string ProcAccess::read_link(std::string_view path, int& error) const
{
    const auto place = parse(path, agent_);
    const Entry* entry = nullptr;
    if (place)
        entry = place->own ? find_entry(own_links, place->name, place->of_thread)
                           : find_entry(links, place->name, place->of_thread);
    error = EACCES;
    if (entry == nullptr)
        return {};
    const Fd folder = folder_of(place->pid);
    char buffer[4096];
    const ssize_t n =
        folder ? ::readlinkat(folder.get(), place->file.c_str(), buffer, sizeof buffer)
               : -1;
    error = errno;
    if (n <= 0)
        return {};
    if (entry->reach == Reach::covered && (!permits(place->pid) || !exists(folder))) {
        error = EACCES;
        return {};
    }
    error = 0;
    return {buffer, static_cast<std::size_t>(n)};
}

OpenedFile ProcAccess::reopen(Fd readable)
{
    const int flags = ::fcntl(readable.get(), F_GETFL);
    if (flags < 0 || (flags & O_PATH) != 0 || (flags & O_ACCMODE) == O_WRONLY)
        return {Fd(), EACCES};
    if ((flags & O_ACCMODE) == O_RDONLY)
        return {std::move(readable), 0};
    // Only a file in memory has seals. Another file must not be opened again. For
    // example, /proc/PID/mem would then be the memory of the program that the process
    // executes now.
    if (::fcntl(readable.get(), F_GET_SEALS) < 0)
        return {Fd(), EACCES};
    const std::string path = "/proc/self/fd/" + std::to_string(readable.get());
    Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const int error = file ? 0 : errno;
    return {std::move(file), error};
}

} // namespace dt::agent
