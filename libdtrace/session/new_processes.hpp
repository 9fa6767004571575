// SPDX-License-Identifier: MIT
// Finds processes that start, or execute another program, while a session traces.
//
//   the kernel's process events   netlink connector, proc_event of exec (needs
//                                 CAP_NET_ADMIN and the host's own network and pid
//                                 namespaces)
//   /proc                         read ten times a second if events are not available;
//                                 misses processes that live less than 100 ms, and an
//                                 exec of the same file
//
// A process is reported several times in its first seconds, because it loads its
// libraries one after the other.
#pragma once

#include "base/fd.hpp"

#include <cstdint>
#include <map>
#include <sys/types.h>
#include <utility>
#include <vector>

struct proc_event; // <linux/cn_proc.h>

namespace dt {

class NewProcesses {
public:
    // Starts the search. A second call has no effect.
    void begin();
    // Returns whether due() reads /proc.
    bool polls() const { return began_ && !events_; }
    // Returns a descriptor that is readable when events are pending. Returns -1 if
    // /proc is read instead.
    int fd() const { return events_.get(); }

    // Returns the processes that must be checked now. now_ns is monotonic time.
    std::vector<pid_t> due(std::uint64_t now_ns);
    void forget(pid_t pid) { checks_.erase(pid); }
    void check_again(pid_t pid, std::uint64_t now_ns) { checks_[pid] = {now_ns, 0}; }

    // Waits at most 50 ms for the kernel's answer to a subscription. Returns whether
    // the kernel has accepted the subscription. Handles events in the meantime.
    bool wait_for_answer(int fd);

private:
    bool listen();
    void handle(const proc_event& event, std::uint64_t now_ns);
    void read_events(std::uint64_t now_ns);
    void read_proc(std::uint64_t now_ns, bool all_are_new);

    struct Checks {
        std::uint64_t since = 0;
        std::size_t n_done = 0;
    };
    using Program = std::pair<std::uint64_t, std::uint64_t>; // st_dev, st_ino

    bool began_ = false;
    Fd events_;
    std::map<pid_t, Checks> checks_;
    // The processes that were found when /proc was last read.
    std::map<pid_t, Program> known_;
    std::uint64_t read_at_ = 0;
};

} // namespace dt
