// SPDX-License-Identifier: MIT
#include "process/jail/channel.hpp"

#include "base/fd_message.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

namespace dt {

// The body is in the last memfd of the message if in_memfd is not 0.
struct Channel::Header {
    std::uint32_t word = 0;
    std::uint32_t in_memfd = 0;
    std::uint64_t n_bytes = 0;
    std::uint32_t n_fds = 0;
    std::uint32_t has_news = 0;
};

namespace {

constexpr std::size_t max_fds = 2; // the sender's descriptor, and a memfd with the body

Error gone()
{
    return {Code::gone, "the other process has exited"};
}

Result<Fd> memfd_with(std::span<const std::byte> bytes)
{
    Fd memfd(::memfd_create("dtrace-symbols", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!memfd)
        return errno_error("memfd_create");
    while (!bytes.empty()) {
        const ssize_t n = ::write(memfd.get(), bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return errno_error("write a memfd");
        bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
    if (auto sealed = MessageBody::seal(memfd); !sealed)
        return sealed.error();
    return memfd;
}

} // namespace

Result<Ok> Channel::wait_forever(int socket, short events)
{
    pollfd ready{socket, events, 0};
    while (::poll(&ready, 1, -1) < 0 && errno == EINTR) {
    }
    return Ok{};
}

bool Channel::is_readable() const
{
    pollfd ready{socket_.get(), POLLIN, 0};
    return ::poll(&ready, 1, 0) > 0;
}

// Sends all bytes. The descriptors are sent with the first byte.
Result<Ok> Channel::send_all(std::span<const std::byte> bytes, std::span<const int> fds)
{
    while (!bytes.empty()) {
        const ssize_t n = send_with_fds(socket_.get(), bytes, fds, MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN) {
            if (auto ready = wait_(socket_.get(), POLLOUT); !ready)
                return ready;
            continue;
        }
        if (n <= 0)
            return gone();
        fds = {};
        bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
    return Ok{};
}

// Fills `into`, and appends the descriptors that arrive to *fds. If fds is null,
// descriptors are an error.
Result<Ok> Channel::receive_all(std::span<std::byte> into, std::vector<Fd>* fds)
{
    while (!into.empty()) {
        std::array<Fd, max_fds> arrived;
        const ReceivedFds received =
            receive_with_fds(socket_.get(), into, arrived, MSG_DONTWAIT);
        if (received.n_bytes < 0 && errno == EAGAIN) {
            if (auto ready = wait_(socket_.get(), POLLIN); !ready)
                return ready;
            continue;
        }
        if (received.n_bytes <= 0)
            return gone();
        if ((fds == nullptr && received.n_fds != 0) || received.has_more)
            return Error{Code::corrupt, "a message has unexpected descriptors"};
        for (std::size_t i = 0; i < received.n_fds; i++)
            fds->push_back(std::move(arrived[i]));
        into = into.subspan(static_cast<std::size_t>(received.n_bytes));
    }
    return Ok{};
}

Result<Ok> Channel::send(std::uint32_t word, std::span<const std::byte> body, int fd,
                         bool has_news)
{
    if (body.size() > largest_bytes)
        return Error{Code::limit, "a message is larger than " +
                                      std::to_string(largest_bytes >> 20) + " MiB"};
    Header header;
    header.word = word;
    header.n_bytes = body.size();
    std::vector<int> fds;
    if (fd >= 0)
        fds.push_back(fd);
    Fd memfd;
    if (body.size() > largest_inline_bytes) {
        auto made = memfd_with(body);
        if (!made)
            return made.error();
        memfd = std::move(*made);
        fds.push_back(memfd.get());
        header.in_memfd = 1;
        body = {};
    }
    header.n_fds = static_cast<std::uint32_t>(fds.size());
    header.has_news = has_news ? 1 : 0;
    // One call sends the header and the body, so that the receiver wakes up only once.
    std::vector<std::byte> message(sizeof header + body.size());
    std::memcpy(message.data(), &header, sizeof header);
    std::copy(body.begin(), body.end(), message.begin() + sizeof header);
    return send_all(message, fds);
}

Result<ReaderMessage> Channel::receive()
{
    Header header;
    std::vector<Fd> fds;
    auto received = receive_all(std::as_writable_bytes(std::span(&header, 1)), &fds);
    if (!received)
        return received.error();
    const bool in_memfd = header.in_memfd != 0;
    if (fds.size() != header.n_fds || fds.size() > max_fds ||
        (in_memfd && fds.empty()) || header.n_bytes > largest_bytes ||
        (!in_memfd && (header.n_bytes > largest_inline_bytes || fds.size() > 1)))
        return Error{Code::corrupt, "a message has an invalid header"};
    ReaderMessage message;
    message.word = header.word;
    message.has_news = header.has_news != 0;
    if (in_memfd) {
        auto body = MessageBody::map(fds.back(), header.n_bytes);
        if (!body)
            return body.error();
        message.body = std::move(*body);
        fds.pop_back();
    } else {
        std::vector<std::byte> body(header.n_bytes);
        if (received = receive_all(body, nullptr); !received)
            return received.error();
        message.body = std::move(body);
    }
    if (!fds.empty())
        message.fd = std::move(fds.front());
    return message;
}

} // namespace dt
