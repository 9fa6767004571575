// SPDX-License-Identifier: MIT
// The fixture of the agent's tests: an agent, the notebook of engine_double.hpp, and
// the victims that the agent traces.
#pragma once

#include "engine_double.hpp"
#include "ptrace-agent/wire/client.hpp"
#include "victim_image.hpp"

#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

namespace dt::test {

std::string victim(const std::string& name); // returns the path of a test program

// Returns an entry site of a function of the program, or of `object`. Fails the test if
// the function does not exist.
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
    Session(); // starts the agent; the victims that it creates write to a file
    ~Session();

    AgentClient& agent() { return *agent_; }
    Notebook& notes() { return *notes_; }
    std::uint64_t hits(unsigned probe) { return notes_->seen[probe].hits.load(); }
    // Waits until a probe was hit more than n times. Returns false after 30 s.
    bool wait_for_hits(unsigned probe, std::uint64_t n)
    {
        return wait_until([&] { return hits(probe) > n; });
    }

    // Starts a victim and holds it before main(), or at the point that `evaltime`
    // selects.
    pid_t create(const std::vector<std::string>& argv,
                 EvalTime evaltime = EvalTime::postinit,
                 const std::vector<EnvChange>& env = {});
    // Plants an entry probe on a function of the program, or of `object`.
    void plant_entry(pid_t pid, const std::string& function, std::uint32_t probe,
                     const std::string& object = "");
    void plant_return(pid_t pid, const std::string& function, std::uint32_t probe);
    // Plants sites. Fails the test if a site is refused.
    void plant(pid_t pid, const std::vector<Site>& sites);

    // Resumes the process, and handles events until it ends. Returns its wait status,
    // or -1 (and fails the test) if no event arrives for 30 s.
    int run_to_end(pid_t pid);
    // Returns the next event, or nullopt if no event arrives within this time.
    std::optional<AgentEvent> event(int timeout_ms = 10000);
    std::vector<AgentEvent> others; // the other events that run_to_end() received

    std::string output(); // returns all output of the victims so far
    // Returns the number after a word in the output, or -1. For the output "calls 12",
    // printed("calls") returns 12.
    long printed(const std::string& word);
    AgentClient release_agent() { return std::move(*agent_); }

private:
    std::string object_;
    int output_ = -1;
    int program_fd_ = -1, data_fd_ = -1;
    Notebook* notes_ = nullptr;
    std::optional<AgentClient> agent_;
};

// A victim that the test starts without an agent. Its stdin and stdout are pipes to the
// test.
class FreeVictim {
public:
    explicit FreeVictim(const std::vector<std::string>& argv,
                        const char* env = nullptr);
    ~FreeVictim();
    pid_t pid() const { return pid_; }
    std::string read_line();
    void say(const char* text);
    // Closes the victim's stdin, appends its output to `rest`, and waits for it.
    // Returns its wait status.
    int finish();
    std::string rest;

private:
    pid_t pid_ = 0;
    int in_ = -1, out_ = -1;
};

long number_after(const std::string& text, const std::string& word);

} // namespace dt::test
