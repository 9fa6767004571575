// SPDX-License-Identifier: MIT
#include "ptrace-agent/rules/rule_reader.hpp"

#include "base/clock_ns.hpp"
#include "base/pidfd.hpp"
#include "process/jail/start_jailed.hpp"
#include "ptrace-agent/confine/relayed_calls.hpp"
#include "ptrace-agent/rules/rule_server.hpp"

#include <algorithm>
#include <poll.h>
#include <sys/stat.h>
#include <utility>

namespace dt::agent {

namespace {

// A message is sent at once and completely, so the agent never waits for the rest of it.
Result<Ok> do_not_wait(int, short)
{
    return Error{Code::busy, "the process has not sent a complete message"};
}

} // namespace

RuleReader::RuleReader() : RuleReader(serve_rules, timeout_ns) {}

RuleReader::RuleReader(std::function<void(Fd)> serve, std::uint64_t timeout)
    : serve_(std::move(serve)), timeout_ns_(timeout)
{
}

RuleReader::~RuleReader()
{
    end(Cause::unknown);
}

std::weak_ptr<RuleReader::File> RuleReader::open(Fd fd)
{
    struct stat is {};
    if (!fd || ::fstat(fd.get(), &is) != 0)
        is = {};
    const Key key{is.st_dev, is.st_ino, static_cast<std::uint64_t>(is.st_size),
                  static_cast<std::uint64_t>(is.st_mtim.tv_sec),
                  static_cast<std::uint64_t>(is.st_mtim.tv_nsec)};
    auto known =
        std::ranges::find(files_, key, [](const auto& it) { return it.first; });
    if (known != files_.end()) {
        std::rotate(known, known + 1, files_.end());
        return files_.back().second;
    }
    if (files_.size() >= max_files)
        close_oldest();
    files_.emplace_back(key, std::make_shared<File>(std::move(fd), ++n_files_));
    return files_.back().second;
}

void RuleReader::close_oldest()
{
    const std::shared_ptr<File> oldest = std::move(files_.front().second);
    files_.pop_front();
    if (!channel_ || oldest->sent_to_ != n_started_)
        return;
    MessageWriter out;
    out.put(oldest->number_);
    if (!channel_->send(rules_close, out.body()))
        end(Cause::unknown);
}

RuleAnswer RuleReader::rule_at(File& file, std::uint64_t offset)
{
    if (!file.fd_)
        return {RuleAnswer::guess, {}};
    if (is_refused(file) || has_given_up())
        return {RuleAnswer::none, {}};
    if (file.rules_.size() >= max_rules && !file.rules_.contains(offset))
        file.rules_.clear();
    auto [known, is_new] = file.rules_.try_emplace(offset);
    if (is_new)
        file.wanted_.insert(offset);
    return known->second;
}

bool RuleReader::exchange()
{
    receive();
    for (const auto& [key, file] : files_)
        if (!file->wanted_.empty() && !is_refused(*file) && !send(file))
            break;
    return is_waiting();
}

bool RuleReader::is_waiting() const
{
    if (has_given_up())
        return false;
    return !requests_.empty() || std::ranges::any_of(files_, [](const auto& each) {
        return !each.second->wanted_.empty();
    });
}

// Sends one request for the rules of a file. Returns false if the request must be sent
// later.
bool RuleReader::send(const std::shared_ptr<File>& file)
{
    if (requests_.size() >= max_requests || (!channel_ && !start()))
        return false;
    Request request{file, {file->number_, {}}};
    const auto first = file->wanted_.begin();
    const auto last = std::next(
        first, static_cast<std::ptrdiff_t>(std::min(file->wanted_.size(), max_wanted)));
    request.message.offsets.assign(first, last);
    MessageWriter out;
    write_request(out, request.message);
    const bool is_first = requests_.empty();
    const bool is_sent = file->sent_to_ == n_started_;
    if (!channel_->send(rules_wanted, out.body(), is_sent ? -1 : file->fd_.get())) {
        end(Cause::unknown);
        return false;
    }
    file->wanted_.erase(first, last);
    file->sent_to_ = n_started_;
    if (is_first)
        first_since_ns_ = monotonic_ns();
    requests_.push_back(std::move(request));
    return true;
}

bool RuleReader::start()
{
    if (n_started_ >= max_starts)
        return false;
    n_started_++;
    if (relays_calls()) {
        // The process exits when the channel is closed.
        if (Fd socket = relay_rule_reader())
            channel_.emplace(std::move(socket), do_not_wait);
        return channel_.has_value();
    }
    // The agent waits for any child, and would mistake the process for a target.
    auto started = start_jailed("dtrace-rules", serve_, Parent::init);
    if (!started)
        return false;
    channel_.emplace(std::move(started->socket), do_not_wait);
    process_ = std::move(started->pidfd);
    return true;
}

void RuleReader::receive()
{
    while (channel_ && !requests_.empty()) {
        if (!channel_->is_readable()) {
            if (monotonic_ns() - first_since_ns_ > timeout_ns_)
                end(Cause::first_request);
            return;
        }
        auto message = channel_->receive();
        Request& first = requests_.front();
        std::optional<std::vector<RuleAnswer>> answers;
        if (message && message->word == rules_found && !message->fd) {
            MessageReader in(message->body);
            answers = read_answers(in, first.message);
        }
        if (!answers)
            return end(Cause::first_request);
        for (std::size_t i = 0; i < answers->size(); i++)
            first.file->rules_.insert_or_assign(first.message.offsets[i],
                                                (*answers)[i]);
        requests_.pop_front();
        first_since_ns_ = monotonic_ns();
    }
}

// Kills the process. Another one will receive the requests that have no reply.
void RuleReader::end(Cause cause)
{
    channel_.reset();
    kill_process(std::exchange(process_, {}));
    if (cause == Cause::first_request && !requests_.empty())
        requests_.front().file->n_ends_++;
    for (const Request& request : std::exchange(requests_, {}))
        request.file->wanted_.insert(request.message.offsets.begin(),
                                     request.message.offsets.end());
    for (const auto& [key, file] : files_)
        if (is_refused(*file))
            file->wanted_.clear();
}

} // namespace dt::agent
