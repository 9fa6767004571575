// SPDX-License-Identifier: MIT
// Creates, maps and seals the memfds of an arena.
#include "libdtrace/session/backends/arena_memory.hpp"

#include "base/memfd.hpp"
#include "base/page_bytes.hpp"

#include <algorithm>
#include <fcntl.h>
#include <sys/mman.h>

namespace dt {

Result<ArenaMemory> ArenaMemory::create(const dt_arena_config& config)
{
    ArenaMemory arena;
    dt_u64 program_bytes = 0, total_bytes = 0;
    dt_arena_layout(&config, &program_bytes, &total_bytes);
    arena.program_bytes_ = program_bytes;
    arena.total_bytes_ = total_bytes;
    const std::uint64_t private_at = dt_arena_private_at(&config);
    arena.private_at_ = private_at;
    void* base = ::mmap(nullptr, total_bytes, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return errno_error("reserve " + std::to_string(total_bytes) +
                           " bytes for the arena");
    arena.base_ = base;
    auto map = [base](std::uint64_t at, std::uint64_t bytes, const Fd& fd, int seals) {
        constexpr int fixed_size = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
        if (bytes != 0 &&
            ::mmap(static_cast<char*>(base) + at, bytes, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_FIXED, fd.get(), 0) == MAP_FAILED)
            return Result<Ok>(errno_error("map the arena"));
        if (::fcntl(fd.get(), F_ADD_SEALS, fixed_size | seals) != 0)
            return Result<Ok>(errno_error("seal the arena"));
        return Result<Ok>(Ok{});
    };
    auto program = make_memfd("dtrace-program", program_bytes);
    if (!program)
        return program.error().during("make the arena");
    if (auto mapped = map(0, program_bytes, program->writer, F_SEAL_FUTURE_WRITE);
        !mapped)
        return mapped.error();
    program->writer = Fd();
    // Other processes receive a read-only descriptor of the program part.
    arena.program_ = std::move(program->reader);

    auto data = make_writable_memfd("dtrace-data", private_at - program_bytes);
    if (!data)
        return data.error().during("make the arena");
    arena.data_ = std::move(*data);
    if (auto mapped = map(program_bytes, private_at - program_bytes, arena.data_, 0);
        !mapped)
        return mapped.error();

    auto own = make_writable_memfd("dtrace-private", total_bytes - private_at);
    if (!own)
        return own.error().during("make the arena");
    arena.private_ = std::move(*own);
    if (auto mapped = map(private_at, total_bytes - private_at, arena.private_, 0);
        !mapped)
        return mapped.error();
    dt_arena_init(base, &config);
    return arena;
}

Result<ArenaMemory> ArenaMemory::map(int device, std::uint64_t program_bytes,
                                     std::uint64_t total_bytes)
{
    ArenaMemory arena;
    arena.program_bytes_ = program_bytes;
    arena.private_at_ = arena.total_bytes_ = total_bytes;
    void* base = ::mmap(nullptr, total_bytes, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return errno_error("reserve " + std::to_string(total_bytes) +
                           " bytes for the arena");
    arena.base_ = base;
    if (::mmap(base, program_bytes, PROT_READ, MAP_SHARED | MAP_FIXED, device, 0) ==
            MAP_FAILED ||
        ::mmap(static_cast<char*>(base) + program_bytes, total_bytes - program_bytes,
               PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, device,
               static_cast<off_t>(program_bytes)) == MAP_FAILED)
        return errno_error("map the kernel's arena");
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
