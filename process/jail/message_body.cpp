// SPDX-License-Identifier: MIT
#include "process/jail/message_body.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <utility>

namespace dt {

// With these seals, no process can change the file's bytes or its size. The kernel
// refuses F_SEAL_WRITE while the file is mapped for writing.
constexpr int all_seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

void MessageBody::Unmap::operator()(void* from) const
{
    ::munmap(from, n_bytes);
}

Result<Ok> MessageBody::seal(const Fd& memfd)
{
    if (::fcntl(memfd.get(), F_ADD_SEALS, all_seals) != 0)
        return errno_error("seal a memfd");
    return Ok{};
}

Result<MessageBody> MessageBody::map(const Fd& memfd, std::uint64_t n_bytes)
{
    struct stat is {};
    const int seals =
        ::fcntl(memfd.get(), F_GET_SEALS); // only memfds have F_SEAL_WRITE
    // A file with holes could make the reader of the body allocate memory.
    constexpr std::uint64_t block_bytes = 512;
    if (seals < 0 || (seals & all_seals) != all_seals || n_bytes == 0 ||
        ::fstat(memfd.get(), &is) != 0 || std::cmp_not_equal(is.st_size, n_bytes) ||
        static_cast<std::uint64_t>(is.st_blocks) < n_bytes / block_bytes)
        return Error{Code::corrupt, "the body of a message is not in a sealed memfd"};
    void* at = ::mmap(nullptr, n_bytes, PROT_READ, MAP_PRIVATE, memfd.get(), 0);
    if (at == MAP_FAILED)
        return errno_error("map a memfd");
    MessageBody body;
    body.mapped_ = {at, Unmap{n_bytes}};
    body.bytes_ = {static_cast<const std::byte*>(at), n_bytes};
    return body;
}

} // namespace dt
