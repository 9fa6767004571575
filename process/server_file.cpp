// SPDX-License-Identifier: MIT
#include "process/server_file.hpp"

#include "base/clock_ns.hpp"
#include "base/fd_message.hpp"
#include "base/no_signals.hpp"
#include "base/seccomp_filter.hpp"
#include "process/killed_children.hpp"
#include "process/open_file.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <span>
#include <string_view>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace dt {

namespace {

constexpr std::uint64_t deadline_ns = 2'000'000'000;
// After so many servers did not reply, no more files with servers are opened. Otherwise
// a process that has mapped many such files could delay dtrace for a long time.
constexpr int max_timeouts = 3;
constexpr std::uint64_t max_copied_bytes = std::uint64_t{1} << 30;
constexpr long fuse_magic = 0x65735546; // FUSE_SUPER_MAGIC
constexpr int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

// The child's reply. A descriptor accompanies it if `opened` is 1.
struct Reply {
    std::uint64_t inode = 0;
    std::uint32_t major = 0, minor = 0;
    std::uint32_t opened = 0, is_copy = 0;
};

std::atomic<int> n_timeouts;
// The device of the last file for which no reply came.
std::atomic<std::uint64_t> silent_device;

// Reopens the file of a descriptor. Must not allocate memory.
int reopen(int fd, int flags)
{
    std::array<char, 32> name{"/proc/self/fd/"}; // the rest is 0
    std::to_chars(name.data() + std::strlen(name.data()), name.end() - 1, fd);
    return ::open(name.data(), flags);
}

// Copies the file to a sealed memfd. Returns its descriptor, or -1.
int copy(int from, std::uint64_t bytes)
{
    if (bytes > max_copied_bytes)
        return -1;
    const int to = ::memfd_create("dtrace-file", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    std::array<char, 65536> part;
    for (std::uint64_t done = 0; to >= 0 && done < bytes;) {
        const ssize_t n = ::read(from, part.data(), part.size());
        if (n < 0)
            return -1;
        if (n == 0)
            break; // it has become shorter
        if (::write(to, part.data(), static_cast<std::size_t>(n)) != n)
            return -1;
        done += static_cast<std::uint64_t>(n);
    }
    if (to < 0 || ::fcntl(to, F_ADD_SEALS, seals) != 0)
        return -1;
    return reopen(to, O_RDONLY | O_CLOEXEC);
}

// Opens the file of an O_PATH descriptor.
int open_found(int found, std::uint64_t max_bytes, Reply& reply)
{
    struct stat is {};
    struct statfs system {};
    if (::fstat(found, &is) != 0 || !S_ISREG(is.st_mode) || is.st_size < 0 ||
        static_cast<std::uint64_t>(is.st_size) > max_bytes ||
        ::fstatfs(found, &system) != 0)
        return -1;
    reply.inode = is.st_ino;
    reply.major = major(is.st_dev);
    reply.minor = minor(is.st_dev);
    const int file = reopen(found, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0 || system.f_type != fuse_magic)
        return file;
    reply.is_copy = 1;
    return copy(file, static_cast<std::uint64_t>(is.st_size));
}

void send(int socket, Reply reply, int fd)
{
    reply.opened = fd >= 0 ? 1 : 0;
    (void)send_with_fds(socket, std::as_bytes(std::span(&reply, 1)),
                        std::span(&fd, reply.opened));
}

// The child may outlive its parent, so it keeps no descriptor of it. Otherwise, for
// example, the reader of the parent's standard output would wait for the child.
[[noreturn]] void run_child(int socket, const char* path, int found,
                            std::uint64_t max_bytes)
{
    constexpr int kept_socket = 0, kept_file = 1;
    if (::dup2(socket, kept_socket) < 0 || (found >= 0 && ::dup2(found, kept_file) < 0))
        ::_exit(1);
    close_between(found >= 0 ? 2 : 1, ~0U);
    const int file = found >= 0 ? kept_file : ::open(path, O_PATH | O_CLOEXEC);
    Reply reply;
    const int opened = file >= 0 ? open_found(file, max_bytes, reply) : -1;
    send(kept_socket, reply, opened);
    ::_exit(0);
}

bool wait_for(const Fd& socket)
{
    const std::uint64_t end = clock_ns(CLOCK_MONOTONIC) + deadline_ns;
    for (;;) {
        const std::uint64_t now = clock_ns(CLOCK_MONOTONIC);
        pollfd ready{socket.get(), POLLIN, 0};
        if (now >= end)
            return false;
        if (::poll(&ready, 1, static_cast<int>((end - now) / 1'000'000 + 1)) > 0)
            return true;
    }
}

ServerFile receive(const Fd& socket)
{
    Reply reply;
    ServerFile result;
    const ReceivedFds received =
        receive_with_fds(socket.get(), std::as_writable_bytes(std::span(&reply, 1)),
                         std::span(&result.file, 1), MSG_DONTWAIT);
    if (received.n_bytes != sizeof reply)
        return {};
    result.is_copy = reply.is_copy != 0;
    result.major = reply.major;
    result.minor = reply.minor;
    result.inode = reply.inode;
    return result;
}

ServerFile run(const char* path, int found, std::uint64_t max_bytes)
{
    reap_killed_children();
    ServerFile result;
    result.timed_out = n_timeouts >= max_timeouts;
    int ends[2];
    if (result.timed_out ||
        ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return result;
    Fd ours(ends[0]), theirs(ends[1]);
    pid_t child = 0;
    {
        const NoSignals blocked;
        child = ::fork();
    }
    if (child == 0)
        run_child(theirs.get(), path, found, max_bytes);
    theirs.reset();
    if (child < 0)
        return result;
    if (wait_for(ours))
        result = receive(ours);
    else {
        result.timed_out = true;
        n_timeouts++;
    }
    ::kill(child, SIGKILL);
    // The child exits as soon as it has replied, unless it waits for a server.
    reap_within(child, 100'000'000);
    return result;
}

} // namespace

ServerFile open_with_server(const std::string& path, std::uint64_t max_bytes)
{
    return run(path.c_str(), -1, max_bytes);
}

ServerFile open_with_server(const Fd& found, std::uint64_t max_bytes)
{
    struct statx is {};
    std::uint64_t device = 0;
    if (::statx(found.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &is) == 0)
        device = makedev(is.stx_dev_major, is.stx_dev_minor);
    ServerFile result;
    if (device != 0 && device == silent_device) {
        result.timed_out = true;
        return result;
    }
    result = run(nullptr, found.get(), max_bytes);
    if (result.timed_out)
        silent_device = device;
    return result;
}

bool is_local(const Fd& found, const std::string& path)
{
    struct statx is {};
    if (::statx(found.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID,
                &is) != 0)
        return false;
    // A file system without a device has the major number 0. Only root may mount FUSE
    // with a device.
    if (is.stx_dev_major != 0)
        return true;
    if ((is.stx_mask & STATX_MNT_ID) == 0)
        return false;
    pid_t pid = 0;
    if (constexpr std::string_view folder = "/proc/"; path.starts_with(folder))
        std::from_chars(path.data() + folder.size(), path.data() + path.size(), pid);
    const auto mount = mount_of(pid, is.stx_mnt_id);
    return mount && !mount->type.starts_with("fuse");
}

} // namespace dt
