// SPDX-License-Identifier: MIT
#include "ptrace-agent/wire/door.hpp"

#include "ptrace-agent/wire/protocol.hpp"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace dt::agent {

namespace {

constexpr int max_waiting = 64; // connections that the agent has not accepted yet

struct Address {
    explicit Address(pid_t agent)
    {
        name.sun_family = AF_UNIX;
        // The first byte of an abstract name is 0.
        const std::string text = door_name(agent);
        text.copy(name.sun_path + 1, sizeof name.sun_path - 1);
        bytes =
            static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
    }
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&name); }

    sockaddr_un name{};
    socklen_t bytes = 0;
};

bool get_peer(int socket, ucred& peer)
{
    socklen_t bytes = sizeof peer;
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0;
}

} // namespace

Door::Door() : owner_(geteuid())
{
    Fd made(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const Address address(getpid());
    if (!made || bind(made.get(), address.get(), address.bytes) != 0 ||
        listen(made.get(), max_waiting) != 0)
        return;
    fcntl(made.get(), F_SETOWN, getpid());
    fcntl(made.get(), F_SETFL, O_NONBLOCK | O_ASYNC);
    socket_ = std::move(made);
}

std::vector<Door::Caller> Door::take()
{
    std::vector<Caller> all;
    while (socket_) {
        Fd client(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        ucred peer{};
        if (!client && (errno == EINTR || errno == ECONNABORTED))
            continue;
        if (!client)
            break;
        if (get_peer(client.get(), peer))
            all.push_back({std::move(client), peer.pid, peer.uid});
    }
    return all;
}

Result<OpenedDoor> knock(pid_t agent)
{
    const Error no_door{Code::not_found,
                        "process " + std::to_string(agent) + " has no door for dtrace"};
    Fd made(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!made)
        return errno_error("create a socket");
    const Address address(agent);
    // A full queue of connections must not make this call wait.
    fcntl(made.get(), F_SETFL, O_NONBLOCK);
    ucred peer{};
    if (connect(made.get(), address.get(), address.bytes) != 0 ||
        !get_peer(made.get(), peer) || peer.pid != agent)
        return no_door;
    return OpenedDoor{std::move(made), peer.uid};
}

} // namespace dt::agent
