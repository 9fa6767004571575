// SPDX-License-Identifier: MIT
#include "libdtrace/session/sampling/sampled_targets.hpp"

namespace dt {

void SampledTargets::change(const PerfTaskEvent& event)
{
    const auto target = keeps_on_exec_.find(event.pid);
    switch (event.kind) {
    case PerfTaskEvent::execed:
        if (target != keeps_on_exec_.end() && !target->second)
            keeps_on_exec_.erase(target);
        break;
    case PerfTaskEvent::forked:
        if (event.pid != event.tid)
            break; // a new thread
        // A target with this id has exited. An exited leader may leave other threads, so
        // the target is not removed earlier.
        keeps_on_exec_.erase(event.pid);
        if (follows_forks_ && contains(event.parent))
            add(event.pid, follows_execs_);
        break;
    case PerfTaskEvent::named:
    case PerfTaskEvent::exited:
        break;
    }
}

} // namespace dt
