// SPDX-License-Identifier: MIT
// Starts the agent, sends requests, and receives replies and events.
#include "ptrace-agent/wire/client.hpp"

#include "base/clock_ns.hpp"
#include "ptrace-agent/wire/door.hpp"
#include "ptrace-agent/wire/protocol.hpp"
#include "ptrace-agent/wire/site_list.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <functional>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dt {

using namespace agent;

constexpr const char* agent_has_exited = "the ptrace-agent has exited";
constexpr const char* agent_was_silent =
    "the ptrace-agent did not respond for 15 s and was killed";
constexpr const char* joined_agent_was_silent =
    "the ptrace-agent did not respond for 15 s";
static_assert(agent_silence_ns == 15'000'000'000);

namespace {

// Measures how long a process uses no CPU time while the caller waits for it.
class SilenceWatch {
public:
    explicit SilenceWatch(pid_t pid) : pid_(pid), used_ns_(used_ns()) {}

    // Returns whether the process has used no CPU time for agent_silence_ns. Must be
    // called several times a second.
    bool is_over()
    {
        const std::uint64_t now = monotonic_ns(), used = used_ns();
        // If the time since the last call is long, this process was stopped, and the
        // agent may have been stopped too.
        silent_ns_ =
            used == used_ns_ ? silent_ns_ + std::min(now - last_ns_, longest_ns) : 0;
        used_ns_ = used;
        last_ns_ = now;
        return silent_ns_ >= agent_silence_ns;
    }

private:
    // Returns the CPU time of all threads of the process, or 0 if it has exited.
    std::uint64_t used_ns() const
    {
        clockid_t clock{};
        timespec used{};
        if (clock_getcpuclockid(pid_, &clock) != 0 || clock_gettime(clock, &used) != 0)
            return 0;
        return static_cast<std::uint64_t>(used.tv_sec) * 1'000'000'000 +
               static_cast<std::uint64_t>(used.tv_nsec);
    }

    // The maximum time that one call to is_over() counts.
    static constexpr std::uint64_t longest_ns = 1'000'000'000;
    pid_t pid_;
    std::uint64_t used_ns_, silent_ns_ = 0, last_ns_ = monotonic_ns();
};

// Waits for these poll(2) events. Gives up and returns false if the process uses no CPU
// time for agent_silence_ns.
bool wait_until_ready(int descriptor, short events, pid_t pid)
{
    constexpr int look_again_ms = 200;
    SilenceWatch silence(pid);
    for (;;) {
        pollfd fd{descriptor, events, 0};
        if (poll(&fd, 1, look_again_ms) > 0)
            return true;
        if (silence.is_over())
            return false;
    }
}

} // namespace

std::string_view text_of(NeverProbed never)
{
    switch (never) {
#define X(name, text)                                                                  \
    case NeverProbed::name:                                                            \
        return text;
        DT_NEVER_PROBED(X)
#undef X
    }
    return {};
}

AgentClient::AgentClient(Fd socket, pid_t agent, bool joined)
    : socket_(std::move(socket)), agent_(agent),
      exit_(static_cast<int>(syscall(SYS_pidfd_open, agent, 0))), joined_(joined)
{
}

AgentClient::AgentClient(AgentClient&& other) noexcept
{
    *this = std::move(other);
}

AgentClient& AgentClient::operator=(AgentClient&& other) noexcept
{
    if (this != &other) {
        close();
        socket_ = std::move(other.socket_);
        agent_ = std::exchange(other.agent_, 0);
        broker_ = std::exchange(other.broker_, 0);
        exit_ = std::move(other.exit_);
        inbox_ = std::move(other.inbox_);
        events_ = std::move(other.events_);
        n_execs_ = std::move(other.n_execs_);
        reply_ = std::move(other.reply_);
        n_unread_ = std::exchange(other.n_unread_, 0);
        gone_ = other.gone_;
        joined_ = other.joined_;
        goodbye_ = other.goodbye_;
    }
    return *this;
}

AgentClient::~AgentClient()
{
    close();
}

void AgentClient::hang_up()
{
    if (socket_)
        shutdown(socket_.get(), SHUT_WR);
}

// Kills an agent that was silent for too long. Does not kill an agent that another dtrace
// process started.
void AgentClient::kill_silent()
{
    if (!joined_)
        ::kill(agent_, SIGKILL);
}

// Waits until the agent has ended the session. Returns false if it is silent for too
// long.
bool AgentClient::await_end()
{
    while (socket_) {
        if (!wait_until_ready(socket_.get(), POLLIN, agent_))
            return false;
        if (!receive(false))
            socket_.reset();
        while (take_message()) {
        }
    }
    return true;
}

void AgentClient::close()
{
    if (agent_ == 0)
        return;
    // The agent notices that no more requests will arrive, and releases its targets. It
    // then says goodbye or, after the last session, exits.
    hang_up();
    if (!await_end())
        kill_silent();
    socket_.reset();
    if (joined_ || goodbye_) {
        agent_ = 0;
        return;
    }
    if (exit_ && !wait_until_ready(exit_.get(), POLLIN, agent_)) {
        ::kill(agent_, SIGKILL);
        (void)wait_until_ready(exit_.get(), POLLIN, agent_);
    }
    // Without a pidfd (before Linux 5.3), this waits as long as the agent takes.
    while (waitpid(agent_, nullptr, exit_ ? WNOHANG : 0) < 0 && errno == EINTR) {
    }
    agent_ = 0;
}

Result<AgentClient> AgentClient::start()
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return errno_error("start the ptrace-agent: socketpair");
    Fd client_end(ends[0]);
    Fd agent_end(ends[1]);

    // The two processes must not both print buffered output.
    fflush(nullptr);
    pid_t pid = fork();
    if (pid < 0)
        return errno_error("start the ptrace-agent: fork");
    if (pid == 0) {
        client_end.reset();
        run_agent(std::move(agent_end));
        _exit(0);
    }
    return AgentClient(std::move(client_end), pid, false);
}

Result<AgentClient> AgentClient::join(pid_t agent)
{
    auto connected = knock(agent);
    if (!connected)
        return connected.error();
    return AgentClient(std::move(*connected), agent, true);
}

// Sends all n bytes, with the descriptors attached to the first byte. While the
// socket's buffer is full, calls await(), which returns whether to try again. Returns
// false on failure.
static bool send_all(int socket, const void* from, std::size_t n,
                     std::span<const int> fds, const std::function<bool()>& await)
{
    auto* bytes = static_cast<const std::byte*>(from);
    while (n != 0) {
        iovec part{const_cast<std::byte*>(bytes), n};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 4)];
        if (!fds.empty()) {
            message.msg_control = control;
            message.msg_controllen = CMSG_SPACE(fds.size_bytes());
            cmsghdr* rights = CMSG_FIRSTHDR(&message);
            rights->cmsg_level = SOL_SOCKET;
            rights->cmsg_type = SCM_RIGHTS;
            rights->cmsg_len = CMSG_LEN(fds.size_bytes());
            std::memcpy(CMSG_DATA(rights), fds.data(), fds.size_bytes());
        }
        ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno == EAGAIN && await())
            continue;
        if (sent <= 0)
            return false;
        fds = {};
        bytes += sent;
        n -= static_cast<std::size_t>(sent);
    }
    return true;
}

// Waits for these poll(2) events. If the agent is silent for too long, kills it and
// returns false.
bool AgentClient::await(short events)
{
    if (awaits_command_) {
        pollfd fd{socket_.get(), events, 0};
        while (poll(&fd, 1, -1) < 0)
            if (errno != EINTR)
                return false;
        return true;
    }
    if (wait_until_ready(socket_.get(), events, agent_))
        return true;
    kill_silent();
    agent_died(joined_ ? joined_agent_was_silent : agent_was_silent);
    return false;
}

void AgentClient::agent_died(std::string_view why)
{
    if (gone_)
        return;
    gone_ = true;
    socket_.reset();
    AgentEvent event;
    event.kind = AgentEvent::agent_gone;
    event.text = why;
    events_.push_back(std::move(event));
}

static AgentEvent read_event(std::span<const std::byte> body)
{
    Reader in(body);
    AgentEvent event;
    event.kind = in.get<AgentEvent::Kind>();
    event.pid = in.get<pid_t>();
    event.child = in.get<pid_t>();
    event.status = in.get<int>();
    event.text = in.text();
    event.forgotten = in.array<ForgottenProbe>(in.get<std::uint32_t>());
    return event;
}

bool AgentClient::take_message()
{
    Header header;
    if (inbox_.size() < sizeof header)
        return false;
    std::memcpy(&header, inbox_.data(), sizeof header);
    std::size_t message_bytes = sizeof header + header.bytes;
    if (inbox_.size() < message_bytes)
        return false;
    auto body = std::span(inbox_).subspan(sizeof header, header.bytes);
    if (header.word == word_goodbye) {
        goodbye_ = true;
    } else if (header.word == word_event) {
        events_.push_back(read_event(body));
    } else if (n_unread_ != 0) {
        --n_unread_;
    } else {
        // The reply keeps its header, so that call() can distinguish ok from error.
        reply_.emplace(inbox_.begin(),
                       inbox_.begin() + static_cast<ptrdiff_t>(message_bytes));
    }
    inbox_.erase(inbox_.begin(),
                 inbox_.begin() + static_cast<ptrdiff_t>(message_bytes));
    return true;
}

Result<Ok> AgentClient::receive(bool wait)
{
    if (!socket_)
        return Error{Code::gone, agent_has_exited};
    std::byte buffer[65536];
    if (wait && !await(POLLIN))
        return Error{Code::gone, agent_was_silent};
    for (;;) {
        ssize_t n = recv(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
        if (n > 0) {
            inbox_.insert(inbox_.end(), buffer, buffer + n);
            return Ok{};
        }
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return Ok{};
        agent_died(agent_has_exited);
        return Error{Code::gone, agent_has_exited};
    }
}

bool AgentClient::send(std::uint32_t request, std::span<const std::byte> body,
                       std::span<const int> fds)
{
    Header header{request, static_cast<std::uint32_t>(body.size()),
                  static_cast<std::uint32_t>(fds.size())};
    auto await_space = [this] { return await(POLLOUT); };
    if (socket_ && send_all(socket_.get(), &header, sizeof header, fds, await_space) &&
        send_all(socket_.get(), body.data(), body.size(), {}, await_space))
        return true;
    agent_died(agent_has_exited);
    return false;
}

Result<std::vector<std::byte>> AgentClient::call(std::uint32_t request,
                                                 std::span<const std::byte> body,
                                                 std::span<const int> fds)
{
    if (!send(request, body, fds))
        return Error{Code::gone, agent_has_exited};
    reply_.reset();
    while (!reply_) {
        if (take_message())
            continue;
        if (auto received = receive(true); !received)
            return received.error();
    }
    std::vector<std::byte> reply = std::move(*reply_);
    reply_.reset();
    Header header;
    std::memcpy(&header, reply.data(), sizeof header);
    reply.erase(reply.begin(), reply.begin() + sizeof header);
    if (header.word == reply_ok)
        return reply;
    Reader in(reply);
    Error error;
    error.code = in.get<Code>();
    error.sys = in.get<int>();
    error.text = in.text();
    return error;
}

Result<Ok> AgentClient::call_ok(std::uint32_t request, std::span<const std::byte> body,
                                std::span<const int> fds)
{
    auto reply = call(request, body, fds);
    if (!reply)
        return reply.error();
    return Ok{};
}

Result<Ok> AgentClient::confine(std::span<const std::byte> domain)
{
    auto reply = call(request_confine, domain);
    if (!reply)
        return reply.error();
    broker_ = Reader(*reply).get<pid_t>();
    return Ok{};
}

Result<Ok> AgentClient::set_arena(int program_fd, std::uint64_t program_bytes,
                                  int data_fd, std::uint64_t data_bytes, int private_fd,
                                  std::uint64_t private_bytes)
{
    Writer out;
    out.put(program_bytes).put(data_bytes).put(private_bytes);
    const int fds[] = {program_fd, data_fd, private_fd};
    return call_ok(request_set_arena, out.body(),
                   std::span(fds).first(private_bytes != 0 ? 3 : 2));
}

Result<Target> AgentClient::create(const std::vector<std::string>& argv,
                                   const std::vector<EnvChange>& env, EvalTime evaltime)
{
    if (argv.empty())
        return Error{Code::invalid, "create a target: no command"};
    Writer out;
    out.put(evaltime).put(static_cast<std::uint32_t>(argv.size()));
    for (const std::string& arg : argv)
        out.text(arg);
    out.put(static_cast<std::uint32_t>(env.size()));
    for (const EnvChange& change : env) {
        out.text(change.name);
        out.put<std::uint8_t>(change.value ? 1 : 0);
        out.text(change.value ? *change.value : std::string());
    }
    // The command may run for any length of time before it stops.
    awaits_command_ = true;
    auto reply = call(request_create, out.body());
    awaits_command_ = false;
    if (!reply)
        return reply.error();
    return Target{Reader(*reply).get<pid_t>(), true};
}

Result<Target> AgentClient::grab(pid_t pid)
{
    Writer out;
    out.put(pid);
    auto reply = call(request_grab, out.body());
    if (!reply)
        return reply.error();
    // Our own number of execs may date from an earlier grab() of this pid, so the
    // agent's number is used. Queued events are subtracted, because next_event() will
    // count them.
    const auto n_waiting =
        std::count_if(events_.begin(), events_.end(), [pid](const AgentEvent& event) {
            return event.kind == AgentEvent::execed && event.pid == pid;
        });
    n_execs_[pid] =
        Reader(*reply).get<std::uint32_t>() - static_cast<std::uint32_t>(n_waiting);
    return Target{pid, false};
}

// Sends `body`, the number of sites, and the sites. More than few_sites sites are sent
// in a memfd.
Result<std::vector<std::byte>> AgentClient::call_with(std::span<const Site> sites,
                                                      std::uint32_t request,
                                                      std::span<const std::byte> body)
{
    Writer out;
    out.raw(body.data(), body.size()).put(static_cast<std::uint32_t>(sites.size()));
    if (sites.size() <= few_sites)
        return call(request, out.raw(sites.data(), sites.size_bytes()).body());
    auto list = list_of(sites);
    if (!list)
        return list.error();
    int fd = list->get();
    return call(request, out.body(), std::span<const int>(&fd, 1));
}

void AgentClient::expect(std::size_t n_sites, unsigned n_threads)
{
    if (send(request_expect,
             Writer().put<std::uint64_t>(n_sites).put<std::uint32_t>(n_threads).body()))
        ++n_unread_;
}

Result<std::vector<SitePlan>> AgentClient::plan(pid_t pid, std::span<const Site> sites,
                                                Mechanism mechanism)
{
    Writer out;
    out.put(pid).put(mechanism);
    auto reply = call_with(sites, request_plan, out.body());
    if (!reply)
        return reply.error();
    Reader in(*reply);
    std::vector<SitePlan> plans;
    for (std::size_t i = 0; i < sites.size() && in.ok(); ++i) {
        auto form = in.get<SitePlan::Form>();
        plans.push_back({form, in.text()});
    }
    if (!in.ok())
        return Error{Code::corrupt,
                     "plan probes: the reply of the ptrace-agent is too short"};
    return plans;
}

Result<PlantReport> AgentClient::plant(pid_t pid, std::span<const Site> sites,
                                       Mechanism mechanism,
                                       std::span<const SeenText> seen,
                                       const StaticTable& statics)
{
    Writer out;
    out.put(pid)
        .put(n_execs_[pid])
        .put(mechanism)
        .put(static_cast<std::uint32_t>(seen.size()));
    out.raw(seen.data(), seen.size_bytes());
    out.put(static_cast<std::uint32_t>(statics.sites.size()))
        .put(static_cast<std::uint32_t>(statics.operands.size()));
    out.raw(statics.sites.data(), statics.sites.size() * sizeof(StaticFacts));
    out.raw(statics.operands.data(), statics.operands.size() * sizeof(dt_operand));
    auto reply = call_with(sites, request_plant, out.body());
    if (!reply)
        return reply.error();
    Reader in(*reply);
    PlantReport report;
    report.n_planted = in.get<std::uint32_t>();
    report.n_tracepoints = in.get<std::uint32_t>();
    for (auto* list : {&report.refused, &report.breakpoints}) {
        auto n = in.get<std::uint32_t>();
        for (std::uint32_t i = 0; i < n && in.ok(); ++i) {
            auto site = in.get<std::uint32_t>();
            list->push_back({site, in.text()});
        }
    }
    report.gone = in.array<std::uint32_t>(in.get<std::uint32_t>());
    report.fired_by_loops = in.array<std::uint32_t>(in.get<std::uint32_t>());
    return report;
}

Result<Ok> AgentClient::remove(pid_t pid, std::span<const Site> sites)
{
    auto reply = call_with(sites, request_remove, Writer().put(pid).body());
    if (!reply)
        return reply.error();
    return Ok{};
}

Result<Ok> AgentClient::put_back(pid_t pid, const LeftBehind& left)
{
    Writer out;
    out.put(pid).put(static_cast<std::uint32_t>(left.texts.size()));
    for (const LeftText& text : left.texts) {
        out.put(text.at).put(static_cast<std::uint32_t>(text.now.size()));
        out.raw(text.now.data(), text.now.size());
        out.raw(text.before.data(), text.before.size());
    }
    out.put(static_cast<std::uint32_t>(left.runtimes.size()));
    out.raw(left.runtimes.data(), left.runtimes.size() * sizeof(TargetAddr));
    out.put(left.all_known);
    return call_ok(request_put_back, out.body());
}

Result<Ok> AgentClient::follow(pid_t pid, Follow what, FollowExec exec)
{
    return call_ok(request_follow, Writer().put(pid).put(what).put(exec).body());
}

Result<Ok> AgentClient::release_idle(bool on)
{
    return call_ok(request_release, Writer().put(on).body());
}

Result<Ok> AgentClient::resume(pid_t pid)
{
    return call_ok(request_resume, Writer().put(pid).body());
}

Result<Ok> AgentClient::resume_after_library_change(pid_t pid, int change)
{
    return call_ok(request_resume_libraries, Writer().put(pid).put(change).body());
}

Result<std::string> AgentClient::profile(std::span<const ProfileTimer> timers)
{
    Writer out;
    out.put(static_cast<std::uint32_t>(timers.size()));
    out.raw(timers.data(), timers.size_bytes());
    auto reply = call(request_profile, out.body());
    if (!reply)
        return reply.error();
    return Reader(*reply).text();
}

Result<Ok> AgentClient::detach(pid_t pid)
{
    return call_ok(request_detach, Writer().put(pid).body());
}

Result<Ok> AgentClient::kill(pid_t pid)
{
    return call_ok(request_kill, Writer().put(pid).body());
}

Result<std::optional<AgentEvent>> AgentClient::next_event()
{
    if (events_.empty() && socket_) {
        // If receive() fails, it has queued the event agent_gone.
        (void)receive(false);
        while (take_message()) {
        }
    }
    if (reply_) {
        reply_.reset();
        return Error{Code::corrupt, "the ptrace-agent sent a reply without a request"};
    }
    if (events_.empty())
        return std::optional<AgentEvent>();
    AgentEvent event = std::move(events_.front());
    events_.pop_front();
    if (event.kind == AgentEvent::execed)
        ++n_execs_[event.pid];
    if (event.kind == AgentEvent::exited)
        n_execs_.erase(event.pid);
    return std::optional<AgentEvent>(std::move(event));
}

} // namespace dt
