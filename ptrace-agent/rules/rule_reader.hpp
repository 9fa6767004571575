// SPDX-License-Identifier: MIT
// Reads the call frame information of files that targets have mapped, in a process
// without rights (process/jail/jail.hpp).
//
//   a walk needs a rule ──> RuleReader knows it? ── yes ──> the rule
//                                   │ no
//                                   └──> request ──> process ──> reply, for later walks
//
// The agent asks for rules while threads are stopped, so it never waits for the process.
// A rule that is not known yet is available to a later walk. Until then, the agent walks
// these stacks itself.
//
// A hostile file can end the process, or take control of it:
//   - If the process ends or does not reply in time, another process reads the other
//     files. A file for which this happens twice has no rules. After max_starts
//     processes, no more are started.
//   - The agent checks each reply (rule_messages.hpp), and compares each rule with its
//     own walk before a target's runtime uses the rule (unwind.cpp).
//
// Only one thread may use an object.
#pragma once

#include "base/fd.hpp"
#include "process/jail/channel.hpp"
#include "ptrace-agent/rules/rule_messages.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

namespace dt::agent {

class RuleReader {
public:
    static constexpr std::size_t max_files = 64;   // the oldest one is closed
    static constexpr std::size_t max_rules = 4096; // known ones of one file
    static constexpr std::size_t max_requests = 8; // without a reply
    static constexpr unsigned max_starts = 64;
    static constexpr unsigned max_ends = 2; // something else may have ended the first
    static constexpr std::uint64_t timeout_ns = 10'000'000'000; // for one request

    // A file with its rules. All processes that map the file share them.
    class File {
    public:
        File(Fd file, std::uint64_t number) : fd_(std::move(file)), number_(number) {}

    private:
        friend class RuleReader;
        Fd fd_;
        const std::uint64_t number_; // identifies the file in messages
        unsigned sent_to_ = 0;       // the process that has a descriptor of the file
        unsigned n_ends_ = 0;        // processes that ended while they read the file
        std::unordered_map<std::uint64_t, RuleAnswer> rules_; // by offset in the file
        std::set<std::uint64_t> wanted_; // offsets that no request contains yet
    };

    RuleReader();
    // For tests: with another main function of the process, and another timeout.
    RuleReader(std::function<void(Fd)> serve, std::uint64_t timeout);
    ~RuleReader(); // kills the process
    RuleReader(const RuleReader&) = delete;
    RuleReader& operator=(const RuleReader&) = delete;

    // Returns the file, which the caller must not keep if it may be closed. An empty Fd
    // is a file without rules.
    std::weak_ptr<File> open(Fd file);
    // Returns the rule for the text at this offset in the file. If the rule is not known
    // yet, the next exchange() requests it.
    RuleAnswer rule_at(File& file, std::uint64_t offset);
    // Takes the replies that have arrived, and sends requests. Does not wait. Returns
    // whether a rule that was requested is not known yet.
    bool exchange();

private:
    struct Request {
        std::shared_ptr<File> file;
        RuleRequest message;
    };
    using Key = std::vector<std::uint64_t>;

    bool is_waiting() const;
    void receive();
    bool send(const std::shared_ptr<File>& file);
    bool start();
    bool has_given_up() const { return !channel_ && n_started_ >= max_starts; }
    static bool is_refused(const File& file) { return file.n_ends_ >= max_ends; }
    enum class Cause { first_request, unknown };
    void end(Cause cause);
    void close_oldest();

    const std::function<void(Fd)> serve_;
    const std::uint64_t timeout_ns_;
    std::deque<std::pair<Key, std::shared_ptr<File>>> files_; // the latest is last
    std::uint64_t n_files_ = 0;
    std::optional<Channel> channel_;
    Fd process_; // a pidfd
    unsigned n_started_ = 0;
    std::deque<Request> requests_; // without a reply
    std::uint64_t first_since_ns_ =
        0; // when requests_ received its present first element
};

} // namespace dt::agent
