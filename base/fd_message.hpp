// SPDX-License-Identifier: MIT
// Sends and receives descriptors through Unix sockets (SCM_RIGHTS).
//
// The functions call the system again after EINTR, and allocate no memory, so signal
// handlers and forked children may use them.
#pragma once

#include "base/fd.hpp"

#include <cstddef>
#include <span>
#include <sys/types.h>

namespace dt {

constexpr std::size_t max_fds_of_message = 4;

// Sends the bytes, and at most max_fds_of_message descriptors with the first of them.
// Returns the number of bytes sent, or -1 and errno. Sets MSG_NOSIGNAL.
ssize_t send_with_fds(int socket, std::span<const std::byte> bytes,
                      std::span<const int> fds, int flags = 0);

struct ReceivedFds {
    ssize_t n_bytes = -1; // the result of recvmsg(2)
    std::size_t n_fds = 0;
    // There was no room for more descriptors of the message. These are closed.
    bool has_more = false;
};

// Receives bytes, and the descriptors that were sent with them. Sets MSG_CMSG_CLOEXEC.
ReceivedFds receive_with_fds(int socket, std::span<std::byte> bytes, std::span<Fd> fds,
                             int flags = 0);

} // namespace dt
