// SPDX-License-Identifier: MIT
// Matches descriptions against this test's own process and its static probes. The
// test's backend only records which probes it should enable.
#include "libdtrace/session/process_matcher.hpp"

#include "silent_listener.hpp"
#include "usdt/include/dtrace/sdt.h"

#include <cerrno>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace dt;

namespace {

[[gnu::noinline, gnu::used]] void probed()
{
    DTRACE_PROBE(matched, first);
    DTRACE_PROBE(matched, second);
}

class RecordingBackend : public Backend {
public:
    using Backend::Backend;
    using Ids = std::vector<std::uint32_t>;
    // The index of a clause in the arena, and the ids of its enabled probes.
    std::vector<std::pair<std::size_t, Ids>> enabled;
    bool is_full = false;

    int make_arena() override { return 0; }
    int prepare_agents() override { return 0; }
    int load(std::span<const std::byte>, dt_u32&, dt_u32&, dt_load_error&) override
    {
        return 0;
    }
    int add_probes() override { return is_full ? s_.fail(ENOSPC, "full") : 0; }
    int enable(std::span<const std::uint32_t> ids, std::size_t clause) override
    {
        enabled.emplace_back(clause, Ids(ids.begin(), ids.end()));
        return 0;
    }
    int plant(ps_prochandle&, const std::vector<Site>&, const StaticTable&) override
    {
        return 0;
    }
    void unplant(ps_prochandle&) override {}
    void fire(std::uint32_t) override {}
    int start_timers() override { return 0; }
    std::uint32_t owner() const override { return 0; }
    const std::string& shared_between_targets() const override { return nothing_; }
    bool can_rename_probes() const override { return true; }

private:
    const std::string nothing_;
};

constexpr std::uint32_t first_clause = 5;

struct ProcessMatcherTest : testing::Test {
    SilentListener listener;
    SessionState state{listener};
    RecordingBackend backend{state};
    ProbeRecycler recycler{state};
    ImageCache images;
    ps_prochandle process{::getpid(), TargetKind::matched};
    std::shared_ptr<Program> program = std::make_shared<Program>();
    dtrace_prog prog;

    void SetUp() override
    {
        auto symbols = ProcessSymbols::open(::getpid(), images);
        ASSERT_TRUE(symbols);
        process.symbols = std::move(*symbols);
        prog.program = program;
        state.enabled.push_back({&prog, first_clause, true});
    }
    void add_clause(const std::string& provider, const std::string& name)
    {
        ProbeSpec spec;
        spec.provider = provider;
        spec.name = name;
        program->clauses.emplace_back().probes.push_back(spec);
    }
    int add_probes()
    {
        return ProcessMatcher(state, backend, recycler, process).add_probes();
    }
    std::vector<std::string> names(const RecordingBackend::Ids& ids) const
    {
        std::vector<std::string> names;
        for (std::uint32_t id : ids)
            names.emplace_back(state.registry.at(id).name);
        return names;
    }
};

using Names = std::vector<std::string>;

} // namespace

TEST_F(ProcessMatcherTest, EnablesTheProbesThatEachClauseMatches)
{
    add_clause("matched*", "first");
    add_clause("matched*", "*");
    ASSERT_EQ(add_probes(), 0);
    ASSERT_EQ(backend.enabled.size(), 2u);
    EXPECT_EQ(backend.enabled[0].first, first_clause);
    EXPECT_EQ(names(backend.enabled[0].second), Names{"first"});
    EXPECT_EQ(backend.enabled[1].first, first_clause + 1);
    EXPECT_EQ(names(backend.enabled[1].second), (Names{"first", "second"}));
    for (std::uint32_t id : backend.enabled[1].second)
        EXPECT_EQ(state.registry.at(id).provider,
                  "matched" + std::to_string(::getpid()));
}

TEST_F(ProcessMatcherTest, MatchesADescriptionOfSeveralClausesOnce)
{
    add_clause("matched*", "second");
    add_clause("matched*", "second");
    ASSERT_EQ(add_probes(), 0);
    ASSERT_EQ(backend.enabled.size(), 2u);
    EXPECT_EQ(backend.enabled[0].second, backend.enabled[1].second);
    EXPECT_EQ(names(process.unplanted), Names{"second"});
}

TEST_F(ProcessMatcherTest, IgnoresDescriptionsOfOtherProcesses)
{
    add_clause("matched" + std::to_string(::getppid()), "first");
    add_clause("pid" + std::to_string(::getppid()), "entry");
    ASSERT_EQ(add_probes(), 0);
    for (const auto& [clause, ids] : backend.enabled)
        EXPECT_TRUE(ids.empty()) << clause;
    EXPECT_TRUE(process.unplanted.empty());
}

TEST_F(ProcessMatcherTest, EnablesNothingOfAProgramThatIsNotLoaded)
{
    state.enabled[0].loaded = false;
    add_clause("matched*", "first");
    ASSERT_EQ(add_probes(), 0);
    EXPECT_TRUE(backend.enabled.empty());
    EXPECT_EQ(names(process.unplanted), Names{"first"});
}

TEST_F(ProcessMatcherTest, FailsIfTheBackendHasNoRoomForTheProbes)
{
    backend.is_full = true;
    add_clause("matched*", "first");
    EXPECT_EQ(add_probes(), -1);
    EXPECT_EQ(state.error_text, "full");
    EXPECT_TRUE(backend.enabled.empty());
}

TEST_F(ProcessMatcherTest, RecyclesOnlyProbesOfProgramsThatWereExecutedUnderFollowExec)
{
    add_clause("matched*", "first");
    process.execed = true;
    ASSERT_EQ(add_probes(), 0);
    EXPECT_EQ(process.program_probes, nullptr);
    state.options.follow = FollowOption::exec;
    ASSERT_EQ(add_probes(), 0);
    ASSERT_NE(process.program_probes, nullptr);
    EXPECT_EQ(process.program_probes->kin, "pid" + std::to_string(::getpid()));
}
