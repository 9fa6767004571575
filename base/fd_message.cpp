// SPDX-License-Identifier: MIT
#include "base/fd_message.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>

namespace dt {

namespace {

// The part of a message that contains descriptors.
struct Control {
    alignas(cmsghdr)
        std::array<std::byte, CMSG_SPACE(sizeof(int) * max_fds_of_message)> bytes{};
};

} // namespace

ssize_t send_with_fds(int socket, std::span<const std::byte> bytes,
                      std::span<const int> fds, int flags)
{
    iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    Control control;
    if (fds.size() > max_fds_of_message) {
        errno = EINVAL;
        return -1;
    }
    if (!fds.empty()) {
        message.msg_control = control.bytes.data();
        message.msg_controllen = CMSG_SPACE(fds.size_bytes());
        cmsghdr* rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(fds.size_bytes());
        std::memcpy(CMSG_DATA(rights), fds.data(), fds.size_bytes());
    }
    ssize_t sent = -1;
    do
        sent = ::sendmsg(socket, &message, flags | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent;
}

ReceivedFds receive_with_fds(int socket, std::span<std::byte> bytes, std::span<Fd> fds,
                             int flags)
{
    iovec part{bytes.data(), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    Control control;
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
    ReceivedFds received;
    do
        received.n_bytes = ::recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
    while (received.n_bytes < 0 && errno == EINTR);
    if (received.n_bytes < 0)
        return received;
    received.has_more = (message.msg_flags & MSG_CTRUNC) != 0;
    for (cmsghdr* rights = CMSG_FIRSTHDR(&message); rights != nullptr;
         rights = CMSG_NXTHDR(&message, rights)) {
        if (rights->cmsg_level != SOL_SOCKET || rights->cmsg_type != SCM_RIGHTS)
            continue;
        for (std::size_t at = 0; CMSG_LEN(at + sizeof(int)) <= rights->cmsg_len;
             at += sizeof(int)) {
            int number = -1;
            std::memcpy(&number, CMSG_DATA(rights) + at, sizeof number);
            Fd fd(number);
            if (received.n_fds < fds.size())
                fds[received.n_fds++] = std::move(fd);
            else
                received.has_more = true;
        }
    }
    return received;
}

} // namespace dt
