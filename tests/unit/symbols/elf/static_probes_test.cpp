// SPDX-License-Identifier: MIT
#include "libdtrace/symbols/elf/static_probes.hpp"

#include "libdtrace/symbols/elf/elf_image.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

namespace dt {
namespace {

StaticProbes of_file(const std::string& path)
{
    auto image = ElfImage::open(path);
    EXPECT_TRUE(image) << path;
    return image ? (*image)->static_probes() : StaticProbes{};
}

TEST(StaticProbes, InLibstdcxxAreThrowCatchAndRethrow)
{
    StaticProbes all = of_file("/usr/lib/x86_64-linux-gnu/libstdc++.so.6");
    EXPECT_TRUE(all.troubles.empty());
    std::vector<std::string> names;
    for (const StaticProbe& probe : all.probes)
        names.push_back(probe.provider + ":" + probe.function + ":" + probe.name);
    EXPECT_EQ(names, (std::vector<std::string>{"libstdcxx:__cxa_begin_catch:catch",
                                               "libstdcxx:__cxa_rethrow:rethrow",
                                               "libstdcxx:__cxa_throw:throw"}));
    for (const StaticProbe& probe : all.probes) {
        ASSERT_EQ(probe.sites.size(), 1u);
        EXPECT_EQ(probe.sites[0].semaphore, 0u);
        EXPECT_FALSE(probe.sites[0].arguments.empty());
    }
}

TEST(StaticProbes, InPythonHaveSemaphoresInItsData)
{
    auto image = ElfImage::open("/usr/bin/python3.11");
    ASSERT_TRUE(image);
    StaticProbes all = (*image)->static_probes();
    EXPECT_TRUE(all.troubles.empty());
    std::set<std::string> names;
    for (const StaticProbe& probe : all.probes) {
        EXPECT_EQ(probe.provider, "python");
        names.insert(probe.name);
        for (const StaticSite& site : probe.sites) {
            EXPECT_NE((*image)->text_segment(site.at), nullptr);
            EXPECT_NE(site.semaphore, 0u) << probe.name;
        }
    }
    EXPECT_EQ(names,
              (std::set<std::string>{"audit", "function-entry", "function-return",
                                     "gc-done", "gc-start", "import-find-load-done",
                                     "import-find-load-start", "line"}));
}

TEST(StaticProbes, AFileWithoutNotesHasNone)
{
    StaticProbes none = of_file("/usr/bin/true");
    EXPECT_TRUE(none.probes.empty());
    EXPECT_TRUE(none.troubles.empty());
}

} // namespace
} // namespace dt
