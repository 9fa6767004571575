// SPDX-License-Identifier: MIT
// hostile_agent HOW PID [OTHER [NAME]] traces the process PID, and listens for dtrace processes
// as a ptrace-agent does. It prints "listening", and the process of each request to plant
// probes. It replies to each request as HOW says, and exits at the end of its input. OTHER
// is the process that it names in events, and NAME is its own name.
//
//   silent      never replies
//   busy        never replies, and uses CPU time
//   drips       sends one byte of a reply each 0.1 s
//   garbage     replies with random bytes
//   huge        announces a message of 4 GiB
//   long        sends a reply without end
//   flood       sends events without end instead of a reply
//   codes       replies with errors that do not exist
//   counts      lists 2^32-1 sites in the reply to `plant`
//   reports     sends errors with control characters without end
//   children    reports OTHER as a child of the process, and then that it executed a program
//   events      sends every kind of event for OTHER and for process ids that do not exist
//   files       sends descriptors with each reply
//   unasked     sends replies without a request
//   hides       replies correctly, but does not report that the process exits
//   keeps       replies correctly, but never ends the session
//   leaves      replies correctly, but detaches from the process before `plant`
#include "ptrace-agent/wire/protocol.hpp"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dt;
using namespace dt::agent;

namespace {

constexpr std::uint32_t all_ones = ~0u;

int listen_as_agent()
{
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    const std::string text = door_name(getpid());
    text.copy(name.sun_path + 1, sizeof name.sun_path - 1);
    const auto bytes = offsetof(sockaddr_un, sun_path) + 1 + text.size();
    const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(made, reinterpret_cast<sockaddr*>(&name), static_cast<socklen_t>(bytes)) !=
            0 ||
        listen(made, 8) != 0)
        return -1;
    return made;
}

class Agent {
public:
    Agent(std::string_view how, int socket, pid_t pid, pid_t other)
        : how_(how), socket_(socket), pid_(pid), other_(other)
    {
    }

    // Serves one client until it hangs up.
    void serve()
    {
        Header header;
        while (read_all(&header, sizeof header)) {
            Body body(header.bytes);
            if (!read_all(body.data(), body.size()))
                break;
            if (header.word == request_plant) {
                std::printf("plant %d\n", Reader(body).get<pid_t>());
                std::fflush(stdout);
            }
            answer(header.word);
        }
        while (how_ == "keeps")
            pause();
    }

private:
    bool read_all(void* to, std::size_t n)
    {
        auto* at = static_cast<char*>(to);
        while (n != 0) {
            const ssize_t got = read(socket_, at, n); // descriptors are discarded
            if (got <= 0)
                return false;
            at += got;
            n -= static_cast<std::size_t>(got);
        }
        return true;
    }

    bool send_bytes(const void* from, std::size_t n)
    {
        return send(socket_, from, n, MSG_NOSIGNAL) == static_cast<ssize_t>(n);
    }

    bool send_message(std::uint32_t word, const Body& body, std::uint32_t n_fds = 0)
    {
        const Header header{word, static_cast<std::uint32_t>(body.size()), n_fds};
        return send_bytes(&header, sizeof header) &&
               (body.empty() || send_bytes(body.data(), body.size()));
    }

    bool send_event(AgentEvent::Kind kind, pid_t pid, int status,
                    const std::string& text = "", pid_t child = 0)
    {
        Writer out;
        out.put(kind).put(pid).put(child).put(status).text(text);
        out.put(std::uint32_t{1}).put(ForgottenProbe{{all_ones}, all_ones, all_ones});
        return send_message(word_event, out.body());
    }

    void reply_well(std::uint32_t request)
    {
        Writer out;
        if (request == request_grab)
            out.put(std::uint32_t{0});
        if (request == request_plant)
            for (int i = 0; i < 6; i++)
                out.put(std::uint32_t{0});
        if (request == request_profile)
            out.text("");
        send_message(reply_ok, out.body());
    }

    void send_all_events()
    {
        for (pid_t pid : {pid_, other_, 1, -1, 0x7fffffff})
            for (int kind = 0; kind < AgentEvent::agent_gone; kind++)
                if (pid != pid_ ||
                    (kind != AgentEvent::exited && kind != AgentEvent::given_up))
                    send_event(static_cast<AgentEvent::Kind>(kind), pid, 1,
                               "/etc/shadow", other_);
    }

    void answer(std::uint32_t request)
    {
        const bool planted = request == request_plant;
        if (how_ == "leaves" && request == request_set_arena)
            leave();
        if (how_ == "silent")
            return;
        if (how_ == "busy")
            while (!is_closed()) {
            }
        if (how_ == "drips") {
            const Header header{reply_ok, 4096, 0};
            send_bytes(&header, sizeof header);
            for (int i = 0; i < 4096 && send_bytes("", 1); i++)
                usleep(100'000);
        } else if (how_ == "garbage" && request != request_grab) {
            char bytes[4096];
            for (char& byte : bytes)
                byte = static_cast<char>(rand());
            send_bytes(bytes, sizeof bytes);
        } else if (how_ == "huge" && planted) {
            const Header header{reply_ok, all_ones, all_ones};
            send_bytes(&header, sizeof header);
        } else if (how_ == "long" && planted) {
            const Header header{reply_ok, 255 << 20, 0};
            send_bytes(&header, sizeof header);
            static const char zeros[1 << 16] = {};
            while (send_bytes(zeros, sizeof zeros)) {
            }
        } else if (how_ == "flood" && planted) {
            const std::string text(10'000, 'x');
            while (send_event(AgentEvent::execed, pid_ + rand() % 1000, 0, text)) {
            }
        } else if (how_ == "codes" && planted) {
            Writer out;
            out.put(1'000'000'000).put(-1).text("\033[2J\033[31m");
            send_message(reply_error, out.body());
        } else if (how_ == "counts" && planted) {
            Writer out;
            for (int i = 0; i < 16; i++)
                out.put(all_ones);
            send_message(reply_ok, out.body());
        } else if (how_ == "reports") {
            reply_well(request);
            for (int i = 0; planted && i < 100'000; i++)
                send_event(AgentEvent::agent_error, pid_, 0, "\033]0;report\a\n");
        } else if (how_ == "children") {
            reply_well(request);
            if (planted) {
                send_event(AgentEvent::forked, pid_, 1, "", other_);
                send_event(AgentEvent::execed, other_, 1, "/bin/true");
                send_event(AgentEvent::libraries_changed, other_, 1);
            }
        } else if (how_ == "events") {
            reply_well(request);
            if (planted)
                send_all_events();
        } else if (how_ == "files") {
            send_files();
            reply_well(request);
        } else if (how_ == "unasked") {
            reply_well(request);
            if (planted)
                reply_well(request_grab);
        } else {
            reply_well(request);
        }
    }

    void leave() const
    {
        ptrace(PTRACE_INTERRUPT, pid_, nullptr, nullptr);
        waitpid(pid_, nullptr, __WALL);
        ptrace(PTRACE_DETACH, pid_, nullptr, nullptr);
    }

    bool is_closed() const
    {
        pollfd client{socket_, POLLIN | POLLRDHUP, 0};
        return poll(&client, 1, 0) > 0 && (client.revents & (POLLHUP | POLLERR)) != 0;
    }

    // Sends an event with descriptors that must not reach the client's code.
    void send_files()
    {
        Writer event;
        event.put(AgentEvent::agent_error).put(pid_).put(pid_t{0}).put(0).text("files");
        event.put(std::uint32_t{0});
        Header header{word_event, static_cast<std::uint32_t>(event.body().size()), 3};
        iovec part{&header, sizeof header};
        const int fds[] = {open("/dev/zero", O_RDWR), open("/", O_RDONLY), socket_};
        alignas(cmsghdr) char control[CMSG_SPACE(sizeof fds)] = {};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        cmsghdr* rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof fds);
        std::memcpy(CMSG_DATA(rights), fds, sizeof fds);
        sendmsg(socket_, &message, MSG_NOSIGNAL);
        send_bytes(event.body().data(), event.body().size());
        close(fds[0]);
        close(fds[1]);
    }

    std::string_view how_;
    int socket_;
    pid_t pid_, other_;
};

} // namespace

int main(int argc, char** argv)
{
    if (argc < 3)
        return 2;
    const pid_t pid = atoi(argv[2]), other = argc > 3 ? atoi(argv[3]) : 1;
    prctl(PR_SET_NAME, argc > 4 ? argv[4] : "ptrace-agent");
    const int door = listen_as_agent();
    if (door < 0 || ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) != 0) {
        perror("hostile_agent");
        return 1;
    }
    puts("listening");
    fflush(stdout);
    for (;;) {
        pollfd fds[] = {{0, POLLIN, 0}, {door, POLLIN, 0}};
        if (poll(fds, 2, -1) > 0 && fds[0].revents != 0)
            return 0;
        if (fds[1].revents == 0)
            continue;
        const int client = accept4(door, nullptr, nullptr, SOCK_CLOEXEC);
        Agent(argv[1], client, pid, other).serve();
        close(client);
    }
}
