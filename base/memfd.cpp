// SPDX-License-Identifier: MIT
#include "base/memfd.hpp"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

namespace dt {

// Sets the size of the file. Returns 0 or an errno. If the size exceeds RLIMIT_FSIZE,
// the kernel sends SIGXFSZ, which would end the process. So the function blocks and
// consumes this signal.
static int set_size(int fd, std::uint64_t bytes)
{
    sigset_t too_large, before, pending;
    sigemptyset(&too_large);
    sigaddset(&too_large, SIGXFSZ);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &too_large, &before);
    const int failed = ::ftruncate(fd, static_cast<off_t>(bytes)) != 0 ? errno : 0;
    const timespec at_once{};
    if (failed == EFBIG && sigismember(&pending, SIGXFSZ) == 0)
        sigtimedwait(&too_large, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return failed;
}

static Result<Fd> sized_memfd(const char* name, std::uint64_t bytes)
{
    Fd made(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!made)
        return errno_error("memfd_create");
    if (int failed = set_size(made.get(), bytes); failed != 0) {
        errno = failed;
        return errno_error("resize a memfd to " + std::to_string(bytes) + " bytes");
    }
    return made;
}

static Result<Ok> take_permissions(const Fd& memfd)
{
    if (::fchmod(memfd.get(), 0) != 0)
        return errno_error("remove the permissions of a memfd");
    return Ok{};
}

Result<Memfd> make_memfd(const char* name, std::uint64_t bytes)
{
    auto writer = sized_memfd(name, bytes);
    if (!writer)
        return writer.error();
    // The permissions are removed last, because an ordinary user needs them to reopen
    // the file for reading.
    std::string path = "/proc/self/fd/" + std::to_string(writer->get());
    Fd reader(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!reader)
        return errno_error("open a memfd for reading");
    if (auto taken = take_permissions(*writer); !taken)
        return taken.error();
    return Memfd{std::move(*writer), std::move(reader)};
}

Result<Fd> make_writable_memfd(const char* name, std::uint64_t bytes)
{
    auto writer = sized_memfd(name, bytes);
    if (!writer)
        return writer;
    if (auto taken = take_permissions(*writer); !taken)
        return taken.error();
    return writer;
}

} // namespace dt
