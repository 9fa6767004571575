// SPDX-License-Identifier: MIT
// Creates, maps and seals the memfds of an arena.
#include "libdtrace/session/backends/arena_memory.hpp"

#include "base/memfd.hpp"
#include "base/page_bytes.hpp"

#include <algorithm>
#include <fcntl.h>
#include <sys/mman.h>

namespace dt {

Result<Ok> ArenaMemory::reserve()
{
    void* base = ::mmap(nullptr, total_bytes_, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return errno_error("reserve " + std::to_string(total_bytes_) +
                           " bytes for the arena");
    base_ = base;
    return Ok{};
}

// Maps a part read-write, and seals its memfd.
static Result<Ok> map_part(void* base, std::uint64_t at, std::uint64_t bytes,
                           const Fd& fd, int seals)
{
    constexpr int fixed_size = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    if (bytes != 0 &&
        ::mmap(static_cast<char*>(base) + at, bytes, PROT_READ | PROT_WRITE,
               MAP_SHARED | MAP_FIXED, fd.get(), 0) == MAP_FAILED)
        return errno_error("map the arena");
    if (::fcntl(fd.get(), F_ADD_SEALS, fixed_size | seals) != 0)
        return errno_error("seal the arena");
    return Ok{};
}

// Creates and maps the data part and the private part. The program part must already be
// mapped.
Result<Ok> ArenaMemory::map_data()
{
    auto data = make_writable_memfd("dtrace-data", private_at_ - program_bytes_);
    if (!data)
        return data.error().during("make the arena");
    data_ = std::move(*data);
    auto own = make_writable_memfd("dtrace-private", total_bytes_ - private_at_);
    if (!own)
        return own.error().during("make the arena");
    private_ = std::move(*own);
    if (auto mapped =
            map_part(base_, program_bytes_, private_at_ - program_bytes_, data_, 0);
        !mapped)
        return mapped;
    if (auto mapped =
            map_part(base_, private_at_, total_bytes_ - private_at_, private_, 0);
        !mapped)
        return mapped;
    // Agents that are started later must not inherit the mappings.
    if (::madvise(base_, total_bytes_, MADV_DONTFORK) != 0)
        return errno_error("exclude the arena from child processes");
    return Ok{};
}

Result<ArenaMemory> ArenaMemory::create_like(const ArenaMemory& first,
                                             std::uint64_t number)
{
    ArenaMemory arena;
    arena.program_bytes_ = first.program_bytes_;
    arena.private_at_ = first.private_at_;
    arena.total_bytes_ = first.total_bytes_;
    if (auto reserved = arena.reserve(); !reserved)
        return reserved.error();
    arena.program_ = Fd(::fcntl(first.program_fd(), F_DUPFD_CLOEXEC, 0));
    if (!arena.program_ ||
        ::mmap(arena.base_, arena.program_bytes_, PROT_READ, MAP_SHARED | MAP_FIXED,
               arena.program_fd(), 0) == MAP_FAILED)
        return errno_error("map the arena");
    if (auto mapped = arena.map_data(); !mapped)
        return mapped.error();
    dt_arena_init_like(arena.base_, first.base_, number);
    return arena;
}

Result<ArenaMemory> ArenaMemory::create(const dt_arena_config& config)
{
    ArenaMemory arena;
    dt_u64 program_bytes = 0, total_bytes = 0;
    dt_arena_layout(&config, &program_bytes, &total_bytes);
    arena.program_bytes_ = program_bytes;
    arena.total_bytes_ = total_bytes;
    arena.private_at_ = dt_arena_private_at(&config);
    if (auto reserved = arena.reserve(); !reserved)
        return reserved.error();
    auto program = make_memfd("dtrace-program", program_bytes);
    if (!program)
        return program.error().during("make the arena");
    if (auto mapped = map_part(arena.base_, 0, program_bytes, program->writer,
                               F_SEAL_FUTURE_WRITE);
        !mapped)
        return mapped.error();
    program->writer = Fd();
    // Other processes receive this read-only descriptor.
    arena.program_ = std::move(program->reader);
    if (auto mapped = arena.map_data(); !mapped)
        return mapped.error();
    dt_arena_init(arena.base_, &config);
    return arena;
}

Result<ArenaMemory> ArenaMemory::map(int device, std::uint64_t program_bytes,
                                     std::uint64_t total_bytes)
{
    ArenaMemory arena;
    arena.program_bytes_ = program_bytes;
    arena.private_at_ = arena.total_bytes_ = total_bytes;
    if (auto reserved = arena.reserve(); !reserved)
        return reserved.error();
    void* base = arena.base_;
    if (::mmap(base, program_bytes, PROT_READ, MAP_SHARED | MAP_FIXED, device, 0) ==
            MAP_FAILED ||
        ::mmap(static_cast<char*>(base) + program_bytes, total_bytes - program_bytes,
               PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, device,
               static_cast<off_t>(program_bytes)) == MAP_FAILED)
        return errno_error("map the kernel's arena");
    if (::madvise(base, total_bytes, MADV_DONTFORK) != 0)
        return errno_error("exclude the arena from child processes");
    return arena;
}

void ArenaMemory::touch(std::uint64_t at, std::uint64_t bytes)
{
    const std::uint64_t begin = at / page_bytes * page_bytes;
    const std::uint64_t end =
        std::min((at + bytes + page_bytes - 1) / page_bytes * page_bytes, total_bytes_);
    if (begin < program_bytes_ || begin >= end)
        return;
    char* first = static_cast<char*>(base_) + begin;
#ifdef MADV_POPULATE_WRITE // Linux 5.14
    if (::madvise(first, end - begin, MADV_POPULATE_WRITE) == 0)
        return;
#endif
    for (char* page = first; page < first + (end - begin); page += page_bytes)
        __atomic_fetch_or(page, 0, __ATOMIC_RELAXED);
}

ArenaMemory::ArenaMemory(ArenaMemory&& other) noexcept
{
    *this = std::move(other);
}

ArenaMemory& ArenaMemory::operator=(ArenaMemory&& other) noexcept
{
    std::swap(base_, other.base_);
    std::swap(program_bytes_, other.program_bytes_);
    std::swap(private_at_, other.private_at_);
    std::swap(total_bytes_, other.total_bytes_);
    std::swap(program_, other.program_);
    std::swap(data_, other.data_);
    std::swap(private_, other.private_);
    return *this;
}

ArenaMemory::~ArenaMemory()
{
    if (base_ != nullptr)
        ::munmap(base_, total_bytes_);
}

} // namespace dt
