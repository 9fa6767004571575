// SPDX-License-Identifier: MIT
#include "libdtrace/session/probe_recycler.hpp"

#include "base/clock_ns.hpp"

#include <algorithm>
#include <utility>

namespace dt {

void ProbeRecycler::end_program(ps_prochandle& process)
{
    std::shared_ptr<ProgramProbes> probes = std::move(process.program_probes);
    process.program_probes.reset();
    if (probes == nullptr)
        return;
    // This list is empty for a child that uses its parent's probe ids.
    for (std::uint32_t id : s_.probes.of_process(process.pid))
        if (s_.registry.at(id).owner == &s_.providers.pid)
            probes->ids.push_back(id);
    if (probes.use_count() == 1 && !probes->ids.empty())
        retired_.push_back({std::move(probes), monotonic_ns()});
}

void ProbeRecycler::recycle()
{
    while (!retired_.empty() &&
           retired_.front().since_ns < s_.consumer->consumed_until()) {
        ProgramProbes& probes = *retired_.front().probes;
        sort_ids(probes.ids);
        // The process may now execute a program with some of the same functions. The
        // probes of these functions have sites again and are not recycled.
        const std::string provider = "pid" + std::to_string(probes.pid);
        std::erase_if(probes.ids, [&](std::uint32_t id) {
            const ProcessProbe* probe = s_.probes.probe(id);
            return s_.registry.at(id).provider != provider || probe == nullptr ||
                   !probe->sites.empty();
        });
        s_.registry.recycle(probes.kin, probes.ids);
        retired_.pop_front();
    }
}

int ProbeRecycler::rename(Backend& backend)
{
    std::uint32_t like = 0;
    for (std::uint32_t id : s_.registry.take_renamed()) {
        if (dt_probe_rename(s_.arena->base(), id, s_.registry.at(id).provider.data(),
                            like) != 0)
            return s_.fail(
                ENOSPC,
                "there is no space left for the probe names of further processes");
        s_.consumer->rename_probe(id);
        backend.bind(id);
        like = id;
    }
    if (like != 0)
        s_.listener.probes_renamed();
    return 0;
}

} // namespace dt
