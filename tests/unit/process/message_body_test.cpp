// SPDX-License-Identifier: MIT
// Tests that the receiver of a message accepts only bodies that no process can change.
#include "process/jail/message_body.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

using namespace dt;

namespace {

constexpr std::string_view text = "the body of a message";

Fd memfd_with(std::string_view bytes)
{
    Fd memfd(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    EXPECT_EQ(::write(memfd.get(), bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
    return memfd;
}

bool is_refused(const Fd& file, std::uint64_t n_bytes)
{
    auto body = MessageBody::map(file, n_bytes);
    return !body && body.error().code == Code::corrupt;
}

} // namespace

TEST(MessageBody, MapsASealedMemfd)
{
    Fd memfd = memfd_with(text);
    ASSERT_TRUE(MessageBody::seal(memfd));
    auto body = MessageBody::map(memfd, text.size());
    ASSERT_TRUE(body);
    memfd.reset();
    MessageBody moved = std::move(*body);
    const std::span<const std::byte> bytes = moved;
    ASSERT_EQ(bytes.size(), text.size());
    EXPECT_EQ(std::memcmp(bytes.data(), text.data(), text.size()), 0);
    const std::span<const std::byte> left = *body;
    EXPECT_TRUE(left.empty());
}

TEST(MessageBody, CannotBeChangedAfterItWasSealed)
{
    const Fd memfd = memfd_with(text);
    ASSERT_TRUE(MessageBody::seal(memfd));
    EXPECT_EQ(::pwrite(memfd.get(), "T", 1, 0), -1);
    EXPECT_EQ(errno, EPERM);
    EXPECT_EQ(::ftruncate(memfd.get(), 0), -1);
    EXPECT_EQ(
        ::fallocate(memfd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1), -1);
    EXPECT_EQ(::mmap(nullptr, 1, PROT_WRITE, MAP_SHARED, memfd.get(), 0), MAP_FAILED);
}

TEST(MessageBody, RefusesAMemfdThatTheSenderCanChange)
{
    const Fd memfd = memfd_with(text);
    EXPECT_TRUE(is_refused(memfd, text.size()));
    for (int seal : {F_SEAL_GROW, F_SEAL_SHRINK, F_SEAL_SEAL}) {
        ASSERT_EQ(::fcntl(memfd.get(), F_ADD_SEALS, seal), 0);
        EXPECT_TRUE(is_refused(memfd, text.size()));
    }
}

TEST(MessageBody, CannotBeSealedWhileItIsMappedForWriting)
{
    const Fd memfd = memfd_with(text);
    void* at = ::mmap(nullptr, text.size(), PROT_WRITE, MAP_SHARED, memfd.get(), 0);
    ASSERT_NE(at, MAP_FAILED);
    EXPECT_FALSE(MessageBody::seal(memfd));
    EXPECT_TRUE(is_refused(memfd, text.size()));
    ::munmap(at, text.size());
}

TEST(MessageBody, RefusesAnotherSizeThanThatOfTheMemfd)
{
    const Fd memfd = memfd_with(text);
    ASSERT_TRUE(MessageBody::seal(memfd));
    EXPECT_TRUE(is_refused(memfd, text.size() + 1));
    EXPECT_TRUE(is_refused(memfd, text.size() - 1));
    EXPECT_TRUE(is_refused(memfd, 0));
}

// A file with holes could make the receiver allocate memory.
TEST(MessageBody, RefusesAMemfdWithHoles)
{
    const Fd memfd = memfd_with(text);
    ASSERT_EQ(::ftruncate(memfd.get(), 1 << 30), 0);
    ASSERT_TRUE(MessageBody::seal(memfd));
    EXPECT_TRUE(is_refused(memfd, 1 << 30));
}

TEST(MessageBody, RefusesFilesThatAreNotMemfds)
{
    const Fd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    EXPECT_TRUE(
        is_refused(file, static_cast<std::uint64_t>(::lseek(file.get(), 0, SEEK_END))));
}
