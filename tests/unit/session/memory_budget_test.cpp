// SPDX-License-Identifier: MIT
// Tests how much memory the control groups of a process still permit.
#include "libdtrace/session/backends/memory_budget.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>

namespace dt {
namespace {

class ControlGroups : public testing::Test {
protected:
    ControlGroups()
    {
        std::string name =
            (std::filesystem::temp_directory_path() / "groups-XXXXXX").string();
        scratch_ = ::mkdtemp(name.data());
        folder_ = scratch_ + "/mount";
    }
    ~ControlGroups() override { std::filesystem::remove_all(scratch_); }

    // Creates a group with a memory limit and a usage in bytes. The limit may be "max".
    void add(const std::string& group, const char* limit, const char* used)
    {
        std::filesystem::create_directories(folder_ + group);
        std::ofstream(folder_ + group + "/memory.max") << limit << "\n";
        std::ofstream(folder_ + group + "/memory.current") << used << "\n";
    }
    std::uint64_t left(const std::string& group, const std::string& root = "/") const
    {
        return control_group_left("0::" + group + "\n",
                                  "30 1 0:26 " + root + " " + folder_ +
                                      " rw - cgroup2 cgroup2 rw\n");
    }

private:
    std::string scratch_, folder_;
};

TEST_F(ControlGroups, TheSmallestRestOfAGroupAndItsParentsCounts)
{
    add("/", "max", "7000");
    add("/services", "1000", "400");
    add("/services/db", "900", "100");
    EXPECT_EQ(left("/services/db"), 600U);
    EXPECT_EQ(left("/services"), 600U);
    EXPECT_EQ(left("/"), no_limit);
    EXPECT_EQ(left("/elsewhere"), no_limit);
}

TEST_F(ControlGroups, APathIsBelowTheRootOfTheMountOnlyAtASlash)
{
    add("/db", "900", "100");
    // This group is outside the mount. Its path /ab begins with the mount's root /a,
    // but /ab is not below /a.
    add("b", "50", "0");
    EXPECT_EQ(left("/a/db", "/a"), 800U);
    EXPECT_EQ(left("/a", "/a"), no_limit);
    EXPECT_EQ(left("/ab", "/a"), no_limit);
}

} // namespace
} // namespace dt
