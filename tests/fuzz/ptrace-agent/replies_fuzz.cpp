// SPDX-License-Identifier: MIT
// Reads arbitrary bytes as messages of a ptrace-agent that may belong to another user.
// The first byte selects the kind of message, the second one is the number of sites in
// the request, and the rest is the message.
//
//   replies_fuzz -max_total_time=60 -rss_limit_mb=2048 -timeout=20 CORPUS
//
// replies_seeds writes a corpus.
#include "ptrace-agent/wire/replies.hpp"
#include "tests/fuzz/require.hpp"

#include <algorithm>

using namespace dt;
using namespace dt::agent;
using dt::fuzz::require;

namespace {

using Message = std::span<const std::byte>;

void use_event(Message message)
{
    AgentEvent event;
    if (!read_event(message, event))
        return;
    require(event.kind < AgentEvent::agent_gone);
    require(event.text.size() <= message.size());
    require(event.forgotten.size() * sizeof(ForgottenProbe) <= message.size());
}

void use_plans(Message message, std::size_t n_sites)
{
    std::vector<SitePlan> plans;
    if (!read_plans(message, n_sites, plans))
        return;
    require(plans.size() == n_sites);
    for (const SitePlan& each : plans)
        require(each.form <= SitePlan::refused);
}

void use_report(Message message, std::size_t n_sites)
{
    PlantReport report;
    if (!read_report(message, n_sites, report))
        return;
    for (const auto* list : {&report.refused, &report.breakpoints}) {
        require(list->size() <= 2 * n_sites);
        for (const Refusal& each : *list)
            require(each.site < n_sites);
    }
    for (const auto* list : {&report.gone, &report.fired_by_loops})
        require(std::is_sorted(list->begin(), list->end()) &&
                (list->empty() || list->back() < n_sites));
}

void use_error(Message message)
{
    const Error error = read_error(message);
    require(error.code >= Code::invalid && error.code <= Code::corrupt);
}

void use_text(Message message)
{
    const std::string text =
        safe_text({reinterpret_cast<const char*>(message.data()), message.size()});
    require(std::none_of(text.begin(), text.end(),
                         [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; }));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    if (size < 2)
        return 0;
    constexpr unsigned n_kinds = 5;
    const Message message = std::as_bytes(std::span(data, size)).subspan(2);
    switch (data[0] % n_kinds) {
    case 0:
        use_event(message);
        break;
    case 1:
        use_plans(message, data[1]);
        break;
    case 2:
        use_report(message, data[1]);
        break;
    case 3:
        use_error(message);
        break;
    default:
        use_text(message);
    }
    return 0;
}
