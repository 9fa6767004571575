// SPDX-License-Identifier: MIT
// Tests that the client of an agent checks what the agent sends, and limits how long it
// waits. The agent may be any program of another user.
#include "ptrace-agent/wire/replies.hpp"

#include "ptrace-agent/wire/patience.hpp"

#include <gtest/gtest.h>

using namespace dt;
using namespace dt::agent;

namespace {

constexpr std::uint32_t all_ones = ~0u;

// Returns the body of an event of this kind.
Body event_of(unsigned kind, std::uint32_t n_forgotten = 0)
{
    Writer out;
    out.put(static_cast<std::uint8_t>(kind)).put(pid_t{1}).put(pid_t{2}).put(3);
    out.text("text").put(n_forgotten);
    return out.body();
}

// Returns the body of a report with one refused site.
Body report_of(std::uint32_t n_refused, std::uint32_t site, std::uint32_t gone)
{
    Writer out;
    out.put(1u).put(2u).put(n_refused).put(site).text("reason");
    out.put(0u).put(1u).put(gone).put(0u);
    return out.body();
}

TEST(Replies, AcceptTheEventsThatAnAgentSends)
{
    for (unsigned kind = 0; kind < AgentEvent::agent_gone; kind++) {
        AgentEvent event;
        ASSERT_TRUE(read_event(event_of(kind), event));
        EXPECT_EQ(event.kind, kind);
        EXPECT_EQ(event.child, 2);
        EXPECT_EQ(event.text, "text");
    }
}

TEST(Replies, RefuseUnknownTruncatedAndLongEvents)
{
    AgentEvent event;
    EXPECT_FALSE(read_event(event_of(AgentEvent::agent_gone), event));
    EXPECT_FALSE(read_event(event_of(255), event));
    EXPECT_FALSE(read_event(event_of(0, 1), event));
    EXPECT_FALSE(read_event(event_of(0, all_ones), event));
    Body longer = event_of(0);
    longer.push_back({});
    EXPECT_FALSE(read_event(longer, event));
    EXPECT_FALSE(read_event({}, event));
}

TEST(Replies, RefuseSitesThatWereNotInTheRequest)
{
    constexpr std::size_t n_sites = 4;
    PlantReport report;
    EXPECT_TRUE(read_report(report_of(1, 3, 3), n_sites, report));
    ASSERT_EQ(report.refused.size(), 1u);
    EXPECT_EQ(report.refused[0].reason, "reason");
    EXPECT_FALSE(read_report(report_of(1, 4, 3), n_sites, report = {}));
    EXPECT_FALSE(read_report(report_of(1, 3, 4), n_sites, report = {}));
    EXPECT_FALSE(read_report(report_of(2, 3, 3), n_sites, report = {}));
    EXPECT_FALSE(read_report(report_of(all_ones, 3, 3), n_sites, report = {}));
    EXPECT_FALSE(read_report({}, n_sites, report = {}));
}

TEST(Replies, RefuseAPlanOfAnUnknownForm)
{
    std::vector<SitePlan> plans;
    const Body good = Writer().put(SitePlan::refused).text("why").body();
    EXPECT_TRUE(read_plans(good, 1, plans));
    EXPECT_FALSE(read_plans(good, 2, plans));
    EXPECT_FALSE(read_plans(good, 0, plans));
    EXPECT_FALSE(read_plans(Writer().put(std::uint8_t{3}).text("").body(), 1, plans));
}

TEST(Replies, ReplaceAnUnknownErrorByCorrupt)
{
    auto error_of = [](int code) {
        return read_error(Writer().put(code).put(7).text("why").body());
    };
    EXPECT_EQ(error_of(static_cast<int>(Code::gone)).code, Code::gone);
    EXPECT_EQ(error_of(static_cast<int>(Code::gone)).text, "why");
    EXPECT_EQ(error_of(1'000'000'000).code, Code::corrupt);
    EXPECT_EQ(error_of(-1).code, Code::corrupt);
    EXPECT_EQ(read_error({}).code, Code::corrupt);
}

TEST(Replies, EscapeAndShortenTheTextsOfAnotherUser)
{
    EXPECT_EQ(safe_text("a\033[2J\n"), "a\\033[2J\\012");
    EXPECT_LE(safe_text(std::string(1 << 20, 'x')).size(), 1000u);
}

constexpr std::uint64_t second = 1'000'000'000, start = 1000 * second;

TEST(Patience, EndsTheSumOfAllWaitsAfterFifteenSeconds)
{
    Patience patience;
    EXPECT_EQ(patience.begin(start), start + 15 * second);
    patience.end(start + 10 * second);
    EXPECT_EQ(patience.begin(start + 10 * second), start + 15 * second);
    patience.end(start + 15 * second);
    EXPECT_EQ(patience.begin(start + 15 * second), start + 15 * second);
}

TEST(Patience, GrowsByATenthOfTheTimeBetweenWaits)
{
    Patience patience;
    (void)patience.begin(start);
    patience.end(start + 15 * second);
    EXPECT_EQ(patience.begin(start + 35 * second), start + 37 * second);
    patience.end(start + 35 * second);
    EXPECT_EQ(patience.begin(start + 1000 * second), start + 1015 * second);
}

} // namespace
