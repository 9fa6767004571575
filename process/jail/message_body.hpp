// SPDX-License-Identifier: MIT
// The body of a received message: a copy of its bytes, or a mapping of a memfd that no
// process can change.
#pragma once

#include "base/fd.hpp"
#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace dt {

class MessageBody {
public:
    MessageBody() = default;
    MessageBody(std::vector<std::byte> bytes)
        : copied_(std::move(bytes)), bytes_(copied_)
    {
    }
    MessageBody(MessageBody&& other) noexcept { *this = std::move(other); }
    MessageBody& operator=(MessageBody&& other) noexcept
    {
        mapped_ = std::move(other.mapped_);
        copied_ = std::move(other.copied_);
        bytes_ = std::exchange(other.bytes_, {});
        return *this;
    }

    // Prevents changes to a memfd, so that the receiver need not copy it. The calling
    // process must not have mapped it for writing. Returns the errors of fcntl(2).
    static Result<Ok> seal(const Fd& memfd);
    // Maps a memfd of this size. Returns Code::corrupt if the file is not a memfd for
    // which seal() was called, or if it has another size or contains holes. Otherwise
    // returns the errors of mmap(2). A read of the mapping cannot fail or block, as it
    // could for a file on a FUSE file system.
    static Result<MessageBody> map(const Fd& memfd, std::uint64_t n_bytes);

    bool empty() const { return bytes_.empty(); }
    operator std::span<const std::byte>() const { return bytes_; }

private:
    struct Unmap {
        std::size_t n_bytes;
        void operator()(void* from) const;
    };

    std::vector<std::byte> copied_;
    std::unique_ptr<void, Unmap> mapped_;
    std::span<const std::byte> bytes_; // of copied_ or mapped_
};

} // namespace dt
