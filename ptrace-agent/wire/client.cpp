// SPDX-License-Identifier: MIT
// Starts the agent, sends requests, and receives replies and events.
#include "ptrace-agent/wire/client.hpp"

#include "base/clock_ns.hpp"
#include "base/fd_message.hpp"
#include "base/pidfd.hpp"
#include "ptrace-agent/wire/door.hpp"
#include "ptrace-agent/wire/protocol.hpp"
#include "ptrace-agent/wire/replies.hpp"
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
constexpr const char* foreign_agent_was_slow =
    "the ptrace-agent of another user did not reply in time";
constexpr const char* agent_sent_garbage =
    "the ptrace-agent sent a message that is malformed or too long";
static_assert(agent_silence_ns == 15'000'000'000);

// Limits for the messages of a foreign agent.
constexpr std::size_t max_foreign_reply_bytes = 64 << 20;
constexpr std::size_t max_foreign_event_bytes = 16 << 20;
constexpr std::size_t max_foreign_events_bytes = 64 << 20;
constexpr std::size_t max_foreign_complaints = 100;
constexpr std::size_t max_foreign_processes = 1 << 16;
// The wait for the end of a session is shorter, because nothing depends on its result.
constexpr std::uint64_t foreign_end_ns = 5'000'000'000;

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
// time for agent_silence_ns, or at the time `ends_ns` if this is not 0.
bool wait_until_ready(int descriptor, short events, pid_t pid, std::uint64_t ends_ns)
{
    constexpr std::uint64_t look_again_ms = 200, ns_per_ms = 1'000'000;
    SilenceWatch silence(pid);
    for (;;) {
        std::uint64_t pause_ms = look_again_ms;
        if (ends_ns != 0) {
            const std::uint64_t now = monotonic_ns();
            if (now >= ends_ns)
                return false;
            pause_ms = std::min(pause_ms, (ends_ns - now) / ns_per_ms + 1);
        }
        pollfd fd{descriptor, events, 0};
        if (poll(&fd, 1, static_cast<int>(pause_ms)) > 0)
            return true;
        if (silence.is_over())
            return false;
    }
}

std::size_t bytes_of(const AgentEvent& event)
{
    return sizeof event + event.text.size() +
           event.forgotten.size() * sizeof(ForgottenProbe);
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

class AgentClient::TimedWait {
public:
    explicit TimedWait(AgentClient& client, std::uint64_t longest_ns = agent_silence_ns)
        : client_(client)
    {
        const std::uint64_t now = monotonic_ns();
        if (client_.foreign_)
            client_.wait_ends_ns_ =
                std::min(client_.patience_.begin(now), now + longest_ns);
    }
    ~TimedWait()
    {
        if (client_.foreign_)
            client_.patience_.end(monotonic_ns());
        client_.wait_ends_ns_ = 0;
    }
    TimedWait(const TimedWait&) = delete;
    TimedWait& operator=(const TimedWait&) = delete;

private:
    AgentClient& client_;
};

AgentClient::AgentClient(Fd socket, pid_t agent)
    : socket_(std::move(socket)), agent_(agent), exit_(open_pidfd(agent)),
      user_(geteuid())
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
        broker_exit_ = std::move(other.broker_exit_);
        exit_ = std::move(other.exit_);
        inbox_ = std::move(other.inbox_);
        events_ = std::move(other.events_);
        events_bytes_ = other.events_bytes_;
        n_execs_ = std::move(other.n_execs_);
        reply_ = std::move(other.reply_);
        n_unread_ = std::exchange(other.n_unread_, 0);
        gone_ = other.gone_;
        why_gone_ = std::move(other.why_gone_);
        joined_ = other.joined_;
        user_ = other.user_;
        foreign_ = other.foreign_;
        patience_ = other.patience_;
        n_complaints_ = other.n_complaints_;
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

// Kills an agent that was silent for too long, and its broker. Does not kill an agent
// that another dtrace process started.
void AgentClient::kill_silent()
{
    if (joined_)
        return;
    ::kill(agent_, SIGKILL);
    if (!broker_exit_)
        return;
    // A broker that is stopped does not notice the end of its agent.
    constexpr int longest_ms = 1000;
    kill_process(broker_exit_);
    pollfd exited{broker_exit_.get(), POLLIN, 0};
    (void)poll(&exited, 1, longest_ms);
}

// Waits until the agent has ended the session. Returns false if it is silent for too
// long.
bool AgentClient::await_end()
{
    const TimedWait limit(*this, foreign_end_ns);
    while (socket_) {
        if (!wait_until_ready(socket_.get(), POLLIN, agent_, wait_ends_ns_))
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
    if (exit_ && !wait_until_ready(exit_.get(), POLLIN, agent_, 0)) {
        ::kill(agent_, SIGKILL);
        (void)wait_until_ready(exit_.get(), POLLIN, agent_, 0);
    }
    // Without a pidfd (before Linux 5.3), this waits as long as the agent takes.
    while (waitpid(agent_, nullptr, exit_ ? WNOHANG : 0) < 0 && errno == EINTR) {
    }
    agent_ = 0;
}

Result<AgentClient> AgentClient::start()
{
    auto starter = AgentStarter::begin();
    if (!starter)
        return starter.error();
    return start(*starter);
}

Result<AgentClient> AgentClient::start(AgentStarter& starter)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return errno_error("start the ptrace-agent: socketpair");
    Fd client_end(ends[0]);
    auto agent = starter.start(Fd(ends[1]));
    if (!agent)
        return agent.error();
    return AgentClient(std::move(client_end), *agent);
}

Result<AgentClient> AgentClient::join(pid_t agent, bool confined)
{
    auto opened = knock(agent);
    if (!opened)
        return opened.error();
    const uid_t self = geteuid();
    if (opened->user != self && self != 0 && !(opened->user == 0 && confined)) {
        const std::string text =
            "process " + std::to_string(agent) +
            " (ptrace-agent) belongs to a dtrace of another user (" +
            std::to_string(opened->user) + "); ";
        return Error{Code::permission,
                     text + (opened->user == 0
                                 ? "to trace the process, too, start that dtrace with "
                                   "-x trust=confined, or run this dtrace as root"
                                 : "run this dtrace as that user or as root")};
    }
    AgentClient client(std::move(opened->socket), agent);
    client.joined_ = true;
    client.user_ = opened->user;
    client.foreign_ = opened->user != self && opened->user != 0;
    return client;
}

// Sends all n bytes, with the descriptors attached to the first byte. While the
// socket's buffer is full, calls await(), which returns whether to try again. Returns
// false on failure.
static bool send_all(int socket, const void* from, std::size_t n,
                     std::span<const int> fds, const std::function<bool()>& await)
{
    std::span bytes(static_cast<const std::byte*>(from), n);
    while (!bytes.empty()) {
        const ssize_t sent = send_with_fds(socket, bytes, fds, MSG_DONTWAIT);
        if (sent < 0 && errno == EAGAIN && await())
            continue;
        if (sent <= 0)
            return false;
        fds = {};
        bytes = bytes.subspan(static_cast<std::size_t>(sent));
    }
    return true;
}

// Waits for these poll(2) events. If the agent is silent for too long, kills it and
// returns false. Only hangs up if another dtrace has started the agent.
bool AgentClient::await(short events)
{
    if (awaits_command_) {
        pollfd fd{socket_.get(), events, 0};
        while (poll(&fd, 1, -1) < 0)
            if (errno != EINTR)
                return false;
        return true;
    }
    if (wait_until_ready(socket_.get(), events, agent_, wait_ends_ns_))
        return true;
    kill_silent();
    agent_died(foreign_  ? foreign_agent_was_slow
               : joined_ ? joined_agent_was_silent
                         : agent_was_silent);
    return false;
}

void AgentClient::agent_died(std::string_view why)
{
    if (gone_)
        return;
    gone_ = true;
    why_gone_ = why;
    socket_.reset();
    inbox_.clear();
    AgentEvent event;
    event.kind = AgentEvent::agent_gone;
    event.text = why;
    events_bytes_ += bytes_of(event);
    events_.push_back(std::move(event));
}

Error AgentClient::lost() const
{
    return Error{Code::gone, why_gone_.empty() ? agent_has_exited : why_gone_};
}

// Hangs up, because the agent has broken the rules of the protocol.
Error AgentClient::malformed()
{
    agent_died(agent_sent_garbage);
    return lost();
}

// Returns a text that the agent has sent. The text of a foreign agent is made safe.
std::string AgentClient::safe(std::string text) const
{
    return foreign_ ? safe_text(text) : std::move(text);
}

// Returns whether the client accepts a message of this kind and size now.
bool AgentClient::may_accept(std::uint32_t word, std::size_t bytes) const
{
    switch (word) {
    case word_goodbye:
        return bytes == 0;
    case word_event:
        return foreign_ ? bytes <= max_foreign_event_bytes &&
                              events_bytes_ + bytes <= max_foreign_events_bytes
                        : bytes <= max_body_bytes;
    case reply_ok:
    case reply_error:
        return bytes <= (foreign_ ? max_foreign_reply_bytes : max_body_bytes) &&
               (n_unread_ != 0 || (awaits_reply_ && !reply_));
    default:
        return false;
    }
}

bool AgentClient::take_event(std::span<const std::byte> body)
{
    AgentEvent event;
    if (!read_event(body, event))
        return false;
    if (foreign_ && event.kind == AgentEvent::agent_error &&
        ++n_complaints_ > max_foreign_complaints)
        return true;
    event.text = safe(std::move(event.text));
    events_bytes_ += bytes_of(event);
    events_.push_back(std::move(event));
    return true;
}

bool AgentClient::take_message()
{
    Header header;
    if (inbox_.size() < sizeof header)
        return false;
    std::memcpy(&header, inbox_.data(), sizeof header);
    if (!may_accept(header.word, header.bytes)) {
        (void)malformed();
        return false;
    }
    std::size_t message_bytes = sizeof header + header.bytes;
    if (inbox_.size() < message_bytes)
        return false;
    auto body = std::span(inbox_).subspan(sizeof header, header.bytes);
    if (header.word == word_goodbye) {
        goodbye_ = true;
    } else if (header.word == word_event) {
        if (!take_event(body)) {
            (void)malformed();
            return false;
        }
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
        return lost();
    std::byte buffer[65536];
    if (wait && !await(POLLIN))
        return lost();
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
        return lost();
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
    const TimedWait limit(*this);
    if (!send(request, body, fds))
        return lost();
    awaits_reply_ = true;
    while (!reply_) {
        if (take_message())
            continue;
        if (auto received = receive(true); !received)
            break;
    }
    awaits_reply_ = false;
    if (!reply_)
        return lost();
    std::vector<std::byte> reply = std::move(*reply_);
    reply_.reset();
    Header header;
    std::memcpy(&header, reply.data(), sizeof header);
    reply.erase(reply.begin(), reply.begin() + sizeof header);
    if (header.word == reply_ok)
        return reply;
    Error error = read_error(reply);
    error.text = safe(std::move(error.text));
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
    broker_exit_ = open_pidfd(broker_);
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
    Reader in(*reply);
    n_execs_[pid] = in.get<std::uint32_t>() - static_cast<std::uint32_t>(n_waiting);
    return Target{pid, false, in.get<TracedBefore>()};
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
    const TimedWait limit(*this);
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
    std::vector<SitePlan> plans;
    if (!read_plans(*reply, sites.size(), plans))
        return malformed();
    for (SitePlan& each : plans)
        each.text = safe(std::move(each.text));
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
    PlantReport report;
    if (!read_report(*reply, sites.size(), report))
        return malformed();
    for (auto* list : {&report.refused, &report.breakpoints})
        for (Refusal& each : *list)
            each.reason = safe(std::move(each.reason));
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

Result<Ok> AgentClient::set_call_probes(const CallProbes& probes)
{
    if (probes == call_probes_)
        return Ok{};
    auto set = call_ok(request_calls, Writer().put(probes).body());
    if (set)
        call_probes_ = probes;
    return set;
}

Result<Ok> AgentClient::set_task_probes(pid_t pid, const TaskProbes& probes)
{
    return call_ok(request_tasks, Writer().put(pid).put(probes).body());
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
    return safe(Reader(*reply).text());
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
    if (events_.empty())
        return std::optional<AgentEvent>();
    events_bytes_ -= bytes_of(events_.front());
    AgentEvent event = std::move(events_.front());
    events_.pop_front();
    if (event.kind == AgentEvent::execed &&
        (!foreign_ || n_execs_.size() < max_foreign_processes))
        ++n_execs_[event.pid];
    if (event.kind == AgentEvent::exited)
        n_execs_.erase(event.pid);
    return std::optional<AgentEvent>(std::move(event));
}

} // namespace dt
