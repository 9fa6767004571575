// SPDX-License-Identifier: MIT
#include "ptrace-agent/rules/rule_server.hpp"

#include "base/seccomp_filter.hpp"
#include "process/call_frames.hpp"
#include "process/jail/channel.hpp"
#include "process/jail/jail.hpp"
#include "ptrace-agent/rules/rule_messages.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <new>
#include <sys/resource.h>

namespace dt::agent {

namespace {

// A call frame table uses at most 256 MiB for the section and 160 MiB for its entries.
constexpr rlim_t max_memory_bytes = rlim_t{1} << 30;
// Ends a process that outlives the agent.
constexpr rlim_t max_cpu_s = 120;

void lower_limit(__rlimit_resource what, rlim_t most)
{
    rlimit limit{};
    if (::getrlimit(what, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max = std::min(most, limit.rlim_max);
    (void)::setrlimit(what, &limit);
}

// The process needs no files except those that the agent has sent.
class NoFiles final : public JailBroker {
public:
    Fd open_file(const char*) override { return {}; }
    std::string path_of(int) override { return {}; }
};

class RuleServer {
public:
    explicit RuleServer(Fd socket) : channel_(std::move(socket)) {}

    void run()
    {
        for (;;) {
            auto message = channel_.receive();
            if (!message)
                return;
            MessageReader in(message->body);
            if (message->word == rules_close) {
                files_.erase(in.get<std::uint64_t>());
                continue;
            }
            auto request = read_request(in);
            if (!request)
                return;
            MessageWriter out;
            write_answers(out, request->file, answer(*request, std::move(message->fd)));
            if (!channel_.send(rules_found, out.body()))
                return;
        }
    }

private:
    static RuleAnswer answer(CallFrames& frames, std::uint64_t offset)
    {
        auto address = frames.address_of(offset);
        const FrameRow* row = address ? frames.frame_at(*address) : nullptr;
        if (row == nullptr)
            return {RuleAnswer::guess, {}};
        auto rule = rule_of(*row, {*address});
        if (!rule)
            return {RuleAnswer::none, {}};
        return {RuleAnswer::rule, *rule};
    }

    std::vector<RuleAnswer> answer(const RuleRequest& request, Fd file)
    {
        std::vector<RuleAnswer> answers(request.offsets.size(), {RuleAnswer::none, {}});
        try {
            std::unique_ptr<CallFrames>& frames = files_[request.file];
            if (file || frames == nullptr)
                frames = std::make_unique<CallFrames>(std::move(file));
            std::ranges::transform(
                request.offsets, answers.begin(),
                [&](std::uint64_t offset) { return answer(*frames, offset); });
        } catch (const std::bad_alloc&) {
            files_.erase(request.file); // its text has no rules
        }
        return answers;
    }

    Channel channel_;
    std::map<std::uint64_t, std::unique_ptr<CallFrames>> files_;
};

} // namespace

void serve_rules(Fd socket)
{
    static NoFiles no_files;
    if (!has_sanitizer) // AddressSanitizer maps terabytes
        lower_limit(RLIMIT_DATA, max_memory_bytes);
    lower_limit(RLIMIT_CPU, max_cpu_s);
    if (enter_jail(socket.get(), no_files))
        RuleServer(std::move(socket)).run();
}

} // namespace dt::agent
