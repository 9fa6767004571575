// SPDX-License-Identifier: MIT
#include "libdtrace/consume/cpu_flows.hpp"

#include <algorithm>

namespace dt {

void CpuFlows::set(std::span<const RoundRecord> records, std::size_t index,
                   ProbeData& data)
{
    CpuFlow& flow = flows_[records[index].cpu];
    if (data.flow == Flow::Entry && flow.last_probe == data.probe->id)
        data.flow = Flow::None;
    if (data.flow == Flow::Return) {
        if (next_on_cpu_.empty())
            link(records);
        const std::uint32_t next = next_on_cpu_[index];
        if (next < records.size() && records[next].ecb->info.probe == data.probe)
            data.flow = Flow::None;
    }
    if (data.flow == Flow::None)
        data.prefix = "| ";
    if (data.flow == Flow::Return && flow.indent > 0)
        flow.indent -= 2;
    data.indent = flow.indent;
    if (data.flow == Flow::Entry)
        // Without a limit, a trace of entries without returns would be indented further
        // in each row.
        flow.indent = std::min(flow.indent + 2, 512);
    flow.last_probe = data.probe->id;
}

// Computes next_on_cpu_ in one pass. A separate search for each record would take
// quadratic time if a target forged the CPU numbers.
void CpuFlows::link(std::span<const RoundRecord> records)
{
    const auto none = static_cast<std::uint32_t>(records.size());
    std::unordered_map<std::uint16_t, std::uint32_t> later;
    next_on_cpu_.resize(records.size());
    for (std::uint32_t i = none; i-- > 0;) {
        std::uint32_t& next = later.try_emplace(records[i].cpu, none).first->second;
        next_on_cpu_[i] = next;
        next = i;
    }
}

} // namespace dt
