// SPDX-License-Identifier: MIT
// One agent, one notebook for an arena, and the victims that it holds.
#pragma once

#include "engine_double.hpp"
#include "ptrace-agent/wire/client.hpp"
#include "victim_image.hpp"

#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

namespace dt::test {

std::string victim(const std::string& name); // its path

// Where a function of the target's program, or of `object`, begins. Fails the test when it
// has none of this name.
Site entry_site(pid_t pid, const std::string& function, std::uint32_t probe,
                const std::string& object = "");

// Waits until a condition holds. Returns false after 30 s.
template <class Condition> bool wait_until(Condition holds)
{
    for (int i = 0; i < 30'000; i++) {
        if (holds())
            return true;
        ::usleep(1000);
    }
    return false;
}

class Session {
public:
    Session(); // starts the agent; the output of what it creates goes to a file
    ~Session();

    AgentClient& agent() { return *agent_; }
    Notebook& notes() { return *notes_; }
    std::uint64_t hits(unsigned probe) { return notes_->seen[probe].hits.load(); }
    // Waits until a probe was hit more than n times. Returns false after 30 s.
    bool wait_for_hits(unsigned probe, std::uint64_t n)
    {
        return wait_until([&] { return hits(probe) > n; });
    }

    // A victim held at main(), or at another point.
    pid_t create(const std::vector<std::string>& argv,
                 EvalTime evaltime = EvalTime::postinit,
                 const std::vector<EnvChange>& env = {});
    // Entry and return probes of a function of the program (or another object).
    void plant_entry(pid_t pid, const std::string& function, std::uint32_t probe,
                     const std::string& object = "");
    void plant_return(pid_t pid, const std::string& function, std::uint32_t probe);
    void plant(pid_t pid, const std::vector<Site>& sites); // none may be refused

    // Serves events until the process ends: its wait status, -1 after 30 s.
    int run_to_end(pid_t pid);
    // The next event within the time.
    std::optional<AgentEvent> event(int timeout_ms = 10000);
    std::vector<AgentEvent> others; // events that run_to_end() met

    std::string output(); // of everything created so far
    // The number behind a word of the output: "calls 12" is 12.
    long printed(const std::string& word);
    AgentClient release_agent() { return std::move(*agent_); }

private:
    std::string object_;
    int output_ = -1;
    int program_fd_ = -1, data_fd_ = -1;
    Notebook* notes_ = nullptr;
    std::optional<AgentClient> agent_;
};

// A victim that runs on its own: started by the test, stdin and stdout are ours.
class FreeVictim {
public:
    explicit FreeVictim(const std::vector<std::string>& argv,
                        const char* env = nullptr);
    ~FreeVictim();
    pid_t pid() const { return pid_; }
    std::string read_line();
    void say(const char* text);
    int finish(); // closes its stdin, reads the rest, waits: its status
    std::string rest;

private:
    pid_t pid_ = 0;
    int in_ = -1, out_ = -1;
};

long number_after(const std::string& text, const std::string& word);

} // namespace dt::test
