// SPDX-License-Identifier: MIT
// Messages between dtrace and a reader process, on a local stream socket.
//
//   message = header, then a small body; or a header and a memfd that contains the body
//
// dtrace does not trust the reader. It accepts only a sealed memfd, so the reader cannot
// change the body while dtrace reads it.
#pragma once

#include "base/fd.hpp"
#include "base/result.hpp"
#include "process/jail/message_body.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace dt {

struct ReaderMessage {
    std::uint32_t word = 0; // ReaderWord (protocol.hpp)
    bool has_news = false;  // see Channel::send()
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

    // Sends a message. In a reply, `has_news` says that the file has new messages about
    // truncated tables (reader_take_cuts). Errors: Code::gone if the other process has
    // exited, Code::limit if the body is too large, and the errors of memfd_create(2)
    // and of `wait`.
    Result<Ok> send(std::uint32_t word, std::span<const std::byte> body, int fd = -1,
                    bool has_news = false);
    // Returns whether receive() can receive a message, or can report that the other
    // process has exited, without waiting.
    bool is_readable() const;
    // Receives a message. Errors: Code::gone if the other process has exited,
    // Code::corrupt if the message is malformed, and the errors of `wait`.
    Result<ReaderMessage> receive();

private:
    struct Header;
    Result<Ok> send_all(std::span<const std::byte> bytes, std::span<const int> fds);
    Result<Ok> receive_all(std::span<std::byte> into, std::vector<Fd>* fds);

    Fd socket_;
    Wait wait_;
};

} // namespace dt
