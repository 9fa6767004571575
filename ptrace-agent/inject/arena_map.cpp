// SPDX-License-Identifier: MIT
#include "ptrace-agent/inject/arena_map.hpp"

#include <algorithm>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>

namespace dt::agent {

constexpr std::uint64_t arena_unit = 64 << 10;

static Result<Ok> check_part(int fd, std::uint64_t bytes, const char* part)
{
    struct stat info {};
    if (fstat(fd, &info) != 0)
        return errno_error(std::string("map the arena's ") + part + " part");
    // Access to a mapping beyond the end of its file would kill the agent with SIGBUS. So
    // no client may be able to make the file shorter.
    const int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0)
        return Error{Code::invalid, std::string("map the arena's ") + part +
                                        " part: its file is not sealed"};
    if (bytes % arena_unit != 0 || static_cast<std::uint64_t>(info.st_size) < bytes)
        return Error{
            Code::invalid,
            std::string("map the arena's ") + part +
                " part: its size is not a multiple of 64 KiB, or is larger than "
                "its file"};
    return Ok{};
}

// Returns a read-only descriptor of the same file, or an empty Fd on failure. A
// descriptor that is already read-only is duplicated, because the session's file cannot
// be opened again (base/memfd.hpp).
static Fd read_only_copy(int fd)
{
    if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY)
        return Fd(fcntl(fd, F_DUPFD_CLOEXEC, 3));
    std::string path = "/proc/self/fd/" + std::to_string(fd);
    return Fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

Result<Ok> ArenaMap::map(int program_fd, std::uint64_t program_bytes, int data_fd,
                         std::uint64_t data_bytes, int private_fd,
                         std::uint64_t private_bytes)
{
    if (auto ok = check_part(program_fd, program_bytes, "program"); !ok)
        return ok;
    if (auto ok = check_part(data_fd, data_bytes, "data"); !ok)
        return ok;
    if (private_bytes != 0)
        if (auto ok = check_part(private_fd, private_bytes, "private"); !ok)
            return ok;
    std::uint64_t shared_bytes = program_bytes + data_bytes;
    std::uint64_t bytes = shared_bytes + private_bytes;
    void* base = mmap(nullptr, bytes, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return errno_error("map the arena");
    void* data = static_cast<char*>(base) + program_bytes;
    if (mmap(base, program_bytes, PROT_READ, MAP_SHARED | MAP_FIXED, program_fd, 0) ==
            MAP_FAILED ||
        mmap(data, data_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, data_fd,
             0) == MAP_FAILED ||
        (private_bytes != 0 &&
         mmap(static_cast<char*>(base) + shared_bytes, private_bytes,
              PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, private_fd,
              0) == MAP_FAILED)) {
        Error error = errno_error("map the arena");
        munmap(base, bytes);
        return error;
    }
    // The client may be a dtrace process of another version than the one that has started
    // the agent.
    if (static_cast<const dt_arena*>(base)->version != DT_ARENA_VERSION) {
        munmap(base, bytes);
        return Error{
            Code::unsupported,
            "map the arena: the ptrace-agent was started by another version of "
            "dtrace"};
    }
    program_fd_ = read_only_copy(program_fd);
    data_fd_ = Fd(fcntl(data_fd, F_DUPFD_CLOEXEC, 3));
    unmap();
    generation_++;
    base_ = base;
    bytes_ = bytes;
    shared_bytes_ = shared_bytes;
    program_bytes_ = program_bytes;
    n_shards_ = std::max<std::uint32_t>(1, static_cast<dt_arena*>(base)->n_shards);
    n_shared_ = std::max<std::uint32_t>(1, static_cast<dt_arena*>(base)->n_shared);
    return Ok{};
}

void ArenaMap::free_shards_of(pid_t pid)
{
    if (base_ == nullptr)
        return;
    const auto* arena = static_cast<const dt_arena*>(base_);
    for (std::uint32_t i = 0; i < n_shards_; ++i) {
        auto* shard = static_cast<dt_shard*>(
            dt_at(base_, arena->shards + i * arena->shard_bytes));
        auto owner = static_cast<dt_u32>(pid);
        __atomic_compare_exchange_n(&shard->lock, &owner, 0u, false, __ATOMIC_RELEASE,
                                    __ATOMIC_RELAXED);
    }
}

void ArenaMap::unmap()
{
    if (base_ != nullptr)
        munmap(base_, bytes_);
    base_ = nullptr;
}

} // namespace dt::agent
