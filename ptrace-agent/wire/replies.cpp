// SPDX-License-Identifier: MIT
#include "ptrace-agent/wire/replies.hpp"

#include "base/printable.hpp"

#include <algorithm>

namespace dt::agent {

bool read_event(std::span<const std::byte> body, AgentEvent& event)
{
    Reader in(body);
    event.kind = in.get<AgentEvent::Kind>();
    event.pid = in.get<pid_t>();
    event.child = in.get<pid_t>();
    event.status = in.get<int>();
    event.text = in.text();
    event.forgotten = in.array<ForgottenProbe>(in.get<std::uint32_t>());
    return in.complete() && event.kind < AgentEvent::agent_gone;
}

bool read_plans(std::span<const std::byte> body, std::size_t n_sites,
                std::vector<SitePlan>& plans)
{
    Reader in(body);
    for (std::size_t i = 0; i < n_sites && in.ok(); ++i) {
        const auto form = in.get<SitePlan::Form>();
        if (form > SitePlan::refused)
            return false;
        plans.push_back({form, in.text()});
    }
    return in.complete();
}

// Reads a list of sites with reasons. A correct agent lists no site more than twice.
static bool read_refusals(Reader& in, std::size_t n_sites, std::vector<Refusal>& list)
{
    const auto n = in.get<std::uint32_t>();
    if (n > 2 * n_sites)
        return false;
    for (std::uint32_t i = 0; i < n && in.ok(); ++i) {
        const auto site = in.get<std::uint32_t>();
        if (site >= n_sites)
            return false;
        list.push_back({site, in.text()});
    }
    return in.ok();
}

// Reads a list of sites in ascending order.
static bool read_sites(Reader& in, std::size_t n_sites,
                       std::vector<std::uint32_t>& list)
{
    list = in.array<std::uint32_t>(in.get<std::uint32_t>());
    return in.ok() && std::is_sorted(list.begin(), list.end()) &&
           (list.empty() || list.back() < n_sites);
}

bool read_report(std::span<const std::byte> body, std::size_t n_sites,
                 PlantReport& report)
{
    Reader in(body);
    report.n_planted = in.get<std::uint32_t>();
    report.n_tracepoints = in.get<std::uint32_t>();
    return read_refusals(in, n_sites, report.refused) &&
           read_refusals(in, n_sites, report.breakpoints) &&
           read_sites(in, n_sites, report.gone) &&
           read_sites(in, n_sites, report.fired_by_loops) && in.complete();
}

Error read_error(std::span<const std::byte> body)
{
    Reader in(body);
    Error error;
    error.code = in.get<Code>();
    error.sys = in.get<int>();
    error.text = in.text();
    if (!in.complete() || error.code < Code::invalid || error.code > Code::corrupt)
        return Error{Code::corrupt, "the ptrace-agent sent a malformed error"};
    return error;
}

std::string safe_text(std::string_view text)
{
    constexpr std::size_t max_bytes = 1000;
    return printable(text.substr(0, max_bytes), Escaping::Names);
}

} // namespace dt::agent
