// SPDX-License-Identifier: MIT
// Processes that begin, or begin another program, while a session looks on.
//
//   the kernel's process events   netlink connector, proc_event of exec (CAP_NET_ADMIN, and the
//                                 host's own network and pid namespaces)
//   else /proc                    read ten times a second: what lives shorter is missed, and an
//                                 exec of the same file is not seen
//
// A process is named several times in its first seconds, since its libraries come with time.
#pragma once

#include "base/fd.hpp"

#include <cstdint>
#include <map>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace dt {

class NewProcesses {
public:
    // Who is there now is not new. A second call changes nothing.
    void begin();
    bool began() const { return began_; }
    bool polls() const { return began_ && !events_; } // /proc
    int fd() const
    {
        return events_.get();
    } // becomes readable; -1: when to ask is open

    // Those to look at now, by the monotonic clock.
    std::vector<pid_t> due(std::uint64_t now_ns);
    void forget(pid_t pid) { looks_.erase(pid); } // it ended, or is known well enough
    void look_again(pid_t pid, std::uint64_t now_ns) { looks_[pid] = {now_ns, 0}; }

private:
    bool listen();
    void hear(std::uint64_t now_ns);
    void read_proc(std::uint64_t now_ns, bool all_are_new);

    struct Looks {
        std::uint64_t since = 0;
        std::size_t n_done = 0;
    };
    using Program = std::pair<std::uint64_t, std::uint64_t>; // st_dev, st_ino

    bool began_ = false;
    Fd events_;
    std::map<pid_t, Looks> looks_;
    std::map<pid_t, Program> known_; // without events
    std::uint64_t read_at_ = 0;
};

} // namespace dt
