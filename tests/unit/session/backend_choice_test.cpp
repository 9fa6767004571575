// SPDX-License-Identifier: MIT
// Tests the choice of backends for all 128 combinations of BackendFacts. Each test
// checks one rule.
#include "libdtrace/session/backends/backend_choice.hpp"

#include <functional>
#include <gtest/gtest.h>
#include <string>

using namespace dt;

namespace {

constexpr bool BackendFacts::*all_facts[] = {
    &BackendFacts::module_usable,  &BackendFacts::module_wanted,
    &BackendFacts::kernel_probes,  &BackendFacts::process_probes,
    &BackendFacts::profile_probes, &BackendFacts::tick_probes,
    &BackendFacts::named_targets};

std::string text_of(const BackendFacts& facts)
{
    constexpr const char* names[] = {
        "module_usable",  "module_wanted", "kernel_probes", "process_probes",
        "profile_probes", "tick_probes",   "named_targets"};
    std::string text;
    for (std::size_t i = 0; i < std::size(all_facts); i++)
        if (facts.*all_facts[i])
            text += std::string(text.empty() ? "" : ", ") + names[i];
    return text;
}

using Condition = std::function<bool(const BackendFacts&)>;

// Expects the same choice for all combinations that satisfy the condition. Returns the
// number of these combinations.
int expect_for(const Condition& condition, BackendChoice expected)
{
    int n = 0;
    for (unsigned bits = 0; bits < 1u << std::size(all_facts); bits++) {
        BackendFacts facts;
        for (std::size_t i = 0; i < std::size(all_facts); i++)
            facts.*all_facts[i] = (bits >> i & 1) != 0;
        if (!condition(facts))
            continue;
        EXPECT_EQ(choose_backend(facts), expected) << text_of(facts);
        n++;
    }
    return n;
}

bool needs_module(const BackendFacts& facts)
{
    return facts.kernel_probes || facts.module_wanted;
}

// Returns whether the module can be used but is not required.
bool is_free(const BackendFacts& facts)
{
    return facts.module_usable && !needs_module(facts);
}

} // namespace

TEST(BackendChoice, KernelProbesAndMechanismUprobeNeedTheModule)
{
    EXPECT_EQ(expect_for([](auto& f) { return needs_module(f) && f.module_usable; },
                         BackendChoice::module),
              48);
    EXPECT_EQ(expect_for([](auto& f) { return needs_module(f) && !f.module_usable; },
                         BackendChoice::module_unusable),
              48);
}

TEST(BackendChoice, WithoutTheModuleEverythingElseFiresInProcesses)
{
    EXPECT_EQ(expect_for([](auto& f) { return !needs_module(f) && !f.module_usable; },
                         BackendChoice::processes),
              16);
}

TEST(BackendChoice, ClockProbesAloneFireInTheModule)
{
    EXPECT_EQ(expect_for(
                  [](auto& f) {
                      return is_free(f) && !f.process_probes &&
                             (f.profile_probes || f.tick_probes);
                  },
                  BackendChoice::module),
              6);
}

TEST(BackendChoice, ProfileBesideProcessProbesFiresInTheModuleIfNoTargetIsNamed)
{
    EXPECT_EQ(expect_for(
                  [](auto& f) {
                      return is_free(f) && f.process_probes && f.profile_probes &&
                             !f.named_targets;
                  },
                  BackendChoice::module),
              2);
    EXPECT_EQ(expect_for(
                  [](auto& f) {
                      return is_free(f) && f.process_probes && f.profile_probes &&
                             f.named_targets;
                  },
                  BackendChoice::processes_for_profile),
              2);
}

TEST(BackendChoice, TickDoesNotMoveProcessProbesIntoTheModule)
{
    EXPECT_EQ(
        expect_for(
            [](auto& f) { return is_free(f) && f.process_probes && !f.profile_probes; },
            BackendChoice::processes),
        4);
}

TEST(BackendChoice, ASessionWithoutSuchProbesFiresInProcesses)
{
    EXPECT_EQ(expect_for(
                  [](auto& f) {
                      return is_free(f) && !f.process_probes && !f.profile_probes &&
                             !f.tick_probes;
                  },
                  BackendChoice::processes),
              2);
}
