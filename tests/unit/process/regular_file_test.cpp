// SPDX-License-Identifier: MIT
#include "process/regular_file.hpp"

#include "base/fd.hpp"

#include <cstdint>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <string>

using namespace dt;

namespace {

constexpr std::uint64_t max_bytes = 1 << 20;

// FileSystems::local refuses a file if the name cannot be followed without waiting. The
// kernel knows the name, because this process has just opened the file.
TEST(RegularFile, BelowTheRootOfAProcessIsFoundWithoutWaiting)
{
    const std::string path = "/proc/self/root/etc/passwd";
    ASSERT_TRUE(Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)));
    EXPECT_TRUE(open_regular(path, max_bytes, FileSystems::local));
    EXPECT_TRUE(
        open_regular("/proc/self/root//etc/passwd", max_bytes, FileSystems::local));
    EXPECT_FALSE(open_regular("/proc/self/root/", max_bytes, FileSystems::local));
    EXPECT_FALSE(open_regular("/proc/self/root/etc/no-such-file", max_bytes,
                              FileSystems::local));
}

} // namespace
