// SPDX-License-Identifier: MIT
// Messages between dtrace and a reader process, on a local stream socket.
//
//   message = header, then a small body; or a header and a memfd that contains the body
//
// dtrace does not trust the reader. A memfd from the reader is accepted only if it is
// sealed, so that nobody can change or truncate it while dtrace reads it.
#pragma once

#include "base/fd.hpp"
#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace dt {

// The body of a message, in memory of this process or in a mapped memfd.
class MessageBody {
public:
    MessageBody() = default;
    explicit MessageBody(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
    // Maps the memfd for reading. Errors: corrupt if it is not sealed or too short.
    static Result<MessageBody> map(const Fd& memfd, std::uint64_t n_bytes);
    MessageBody(MessageBody&& other) noexcept;
    MessageBody& operator=(MessageBody&& other) noexcept;
    ~MessageBody();

    std::span<const std::byte> bytes() const
    {
        return mapped_ != nullptr ? std::span(mapped_, n_mapped_) : std::span(bytes_);
    }

private:
    std::vector<std::byte> bytes_;
    const std::byte* mapped_ = nullptr;
    std::size_t n_mapped_ = 0;
};

struct ReaderMessage {
    std::uint32_t word = 0; // ReaderWord (protocol.hpp)
    MessageBody body;
    Fd fd; // empty if none was sent
};

class Channel {
public:
    static constexpr std::size_t largest_inline_bytes = 64 << 10;
    static constexpr std::uint64_t largest_bytes = std::uint64_t{2} << 30;

    // Waits until the socket is ready for these poll(2) events. An error ends the
    // operation.
    using Wait = std::function<Result<Ok>(int socket, short events)>;
    static Result<Ok> wait_forever(int socket, short events);

    explicit Channel(Fd socket, Wait wait = wait_forever)
        : socket_(std::move(socket)), wait_(std::move(wait))
    {
    }

    // Errors: gone if the other process has exited; limit if the body is too large;
    // the errors of memfd_create(2); those of `wait`.
    Result<Ok> send(std::uint32_t word, std::span<const std::byte> body, int fd = -1);
    // Errors: gone if the other process has exited; corrupt if the message is
    // malformed; those of `wait`.
    Result<ReaderMessage> receive();

private:
    struct Header;
    Result<Ok> send_all(std::span<const std::byte> bytes, std::span<const int> fds);
    Result<Ok> receive_all(std::span<std::byte> into, std::vector<Fd>* fds);

    Fd socket_;
    Wait wait_;
};

} // namespace dt
