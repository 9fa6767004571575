// SPDX-License-Identifier: MIT
// Making, mapping and sealing the two memfds of an arena.
#include "libdtrace/api/arena_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>

namespace dt {

static Result<Fd> make_memfd(const char* name, std::uint64_t bytes)
{
    Fd fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!fd)
        return errno_error("memfd_create");
    if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0)
        return errno_error("size a memfd");
    return fd;
}

Result<ArenaMemory> ArenaMemory::create(const dt_arena_config& config)
{
    ArenaMemory arena;
    dt_u64 program_bytes = 0, total_bytes = 0;
    dt_arena_layout(&config, &program_bytes, &total_bytes);
    arena.program_bytes_ = program_bytes;
    arena.total_bytes_ = total_bytes;
    auto program = make_memfd("dtrace-program", program_bytes);
    if (!program)
        return program.error().during("make the arena");
    auto data = make_memfd("dtrace-data", total_bytes - program_bytes);
    if (!data)
        return data.error().during("make the arena");
    arena.program_ = std::move(*program);
    arena.data_ = std::move(*data);

    void* base = ::mmap(nullptr, total_bytes, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return errno_error("reserve " + std::to_string(total_bytes) +
                           " bytes for the arena");
    arena.base_ = base;
    constexpr int access = PROT_READ | PROT_WRITE;
    if (::mmap(base, program_bytes, access, MAP_SHARED | MAP_FIXED,
               arena.program_.get(), 0) == MAP_FAILED ||
        ::mmap(static_cast<char*>(base) + program_bytes, total_bytes - program_bytes,
               access, MAP_SHARED | MAP_FIXED, arena.data_.get(), 0) == MAP_FAILED)
        return errno_error("map the arena");

    constexpr int fixed_size = F_SEAL_SHRINK | F_SEAL_GROW;
    if (::fcntl(arena.program_.get(), F_ADD_SEALS, fixed_size | F_SEAL_FUTURE_WRITE) !=
            0 ||
        ::fcntl(arena.data_.get(), F_ADD_SEALS, fixed_size | F_SEAL_SEAL) != 0)
        return errno_error("seal the arena");
    dt_arena_init(base, &config);
    return arena;
}

Result<ArenaMemory> ArenaMemory::map(int device, std::uint64_t program_bytes,
                                     std::uint64_t total_bytes)
{
    ArenaMemory arena;
    arena.program_bytes_ = program_bytes;
    arena.total_bytes_ = total_bytes;
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

ArenaMemory::ArenaMemory(ArenaMemory&& other) noexcept
{
    *this = std::move(other);
}

ArenaMemory& ArenaMemory::operator=(ArenaMemory&& other) noexcept
{
    std::swap(base_, other.base_);
    std::swap(program_bytes_, other.program_bytes_);
    std::swap(total_bytes_, other.total_bytes_);
    std::swap(program_, other.program_);
    std::swap(data_, other.data_);
    return *this;
}

ArenaMemory::~ArenaMemory()
{
    if (base_ != nullptr)
        ::munmap(base_, total_bytes_);
}

} // namespace dt
