// SPDX-License-Identifier: MIT
// Tests the data about open files, with the files of this process.
#include "process/open_file.hpp"

#include "base/fd.hpp"
#include "dif/vars.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace dt::agent {
namespace {

OpenFile of(std::uint32_t fd)
{
    return {getpid(), static_cast<pid_t>(syscall(SYS_gettid)), fd};
}

OpenFile of(const Fd& fd)
{
    return of(static_cast<std::uint32_t>(fd.get()));
}

TEST(OpenFile, TellsWhatProcKnows)
{
    Fd fd(open("/proc/self/status", O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    ASSERT_EQ(lseek(fd.get(), 7, SEEK_SET), 7);
    EXPECT_EQ(of(fd).text(DIF_VAR_fi_name), "status");
    EXPECT_EQ(of(fd).text(DIF_VAR_fi_dirname), "/proc/" + std::to_string(getpid()));
    EXPECT_EQ(of(fd).text(DIF_VAR_fi_fs), "proc");
    EXPECT_EQ(of(fd).text(DIF_VAR_fi_mount), "/proc");
    EXPECT_EQ(of(fd).number(DIF_VAR_fi_offset), 7u);
    EXPECT_EQ(of(fd).number(DIF_VAR_fi_oflags), 0u | O_CLOEXEC | O_NOFOLLOW);
}

TEST(OpenFile, IsNoneForAClosedDescriptor)
{
    for (std::uint32_t fd : {1000000u, 0x7fffffffu, 0xffffffffu}) {
        for (unsigned text : {DIF_VAR_fi_name, DIF_VAR_fi_dirname, DIF_VAR_fi_pathname,
                              DIF_VAR_fi_fs, DIF_VAR_fi_mount})
            EXPECT_EQ(of(fd).text(text), "<none>");
        EXPECT_EQ(of(fd).number(DIF_VAR_fi_offset), 0u);
        EXPECT_EQ(of(fd).number(DIF_VAR_fi_oflags), 0u);
    }
    OpenFile of_no_thread(getpid(), 0, 0);
    EXPECT_EQ(of_no_thread.text(DIF_VAR_fi_name), "<none>");
}

TEST(OpenFile, HasOnlyTheMembersOfFileinfo)
{
    EXPECT_EQ(of(0).text(DIF_VAR_jailname), std::nullopt);
    EXPECT_EQ(of(0).text(DIF_VAR_fi_offset), std::nullopt);
    EXPECT_EQ(of(0).number(DIF_VAR_uregs), std::nullopt);
    EXPECT_EQ(of(0).number(DIF_VAR_fi_name), std::nullopt);
}

TEST(OpenFile, OnAFileSystemWithoutAMountPointHasNoMount)
{
    Fd memory(memfd_create("some", 0)), epoll(epoll_create1(0));
    EXPECT_EQ(of(memory).text(DIF_VAR_fi_fs), "tmpfs");
    EXPECT_EQ(of(memory).text(DIF_VAR_fi_mount), "<none>");
    EXPECT_EQ(of(epoll).text(DIF_VAR_fi_fs), "anon_inodefs");
    EXPECT_EQ(of(epoll).text(DIF_VAR_fi_dirname), "<none>");
    EXPECT_EQ(of(epoll).number(DIF_VAR_fi_oflags), 0u | O_RDWR);
}

TEST(OpenFile, ThatIsInTheRootDirectoryIsNamedSo)
{
    Fd root(open("/", O_PATH));
    EXPECT_EQ(of(root).text(DIF_VAR_fi_name), "/");
    EXPECT_EQ(of(root).text(DIF_VAR_fi_dirname), "/");
    EXPECT_EQ(of(root).number(DIF_VAR_fi_oflags), 0u | O_PATH);
    Fd proc(open("/proc", O_PATH));
    EXPECT_EQ(of(proc).text(DIF_VAR_fi_name), "proc");
    EXPECT_EQ(of(proc).text(DIF_VAR_fi_dirname), "/");
}

TEST(FindMount, ReadsLinesOfAnyForm)
{
    const std::string text =
        "25 30 0:23 / /sys rw,nosuid - sysfs sysfs rw\n"
        "230 1 8:1 / / rw shared:1 master:2 - ext4 /dev/sda1 rw\n"
        "31 30 0:40 /sub /mnt/a\\040b\\134c rw - fuse.sshfs me@there:/ rw\n"
        "32 30 0:41 / /broken rw\n"
        "33 30";
    EXPECT_EQ(find_mount(text, 230)->at, "/");
    EXPECT_EQ(find_mount(text, 230)->type, "ext4");
    EXPECT_EQ(find_mount(text, 31)->at, "/mnt/a b\\c");
    EXPECT_EQ(find_mount(text, 31)->type, "fuse.sshfs");
    EXPECT_FALSE(find_mount(text, 23));
    EXPECT_FALSE(find_mount(text, 30));
    EXPECT_FALSE(find_mount(text, 32));
    EXPECT_FALSE(find_mount(text, 33));
    EXPECT_FALSE(find_mount("", 0));
}

} // namespace
} // namespace dt::agent
