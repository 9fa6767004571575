// SPDX-License-Identifier: MIT
#include "libdtrace/symbols/mapped_files.hpp"

#include "scratch.hpp"

#include <array>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

// A page of a file, mapped into this process while the object lives.
class MappedPage {
public:
    MappedPage()
    {
        fd_ = ::open(path_.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
        write("one", 4096);
        at_ = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd_, 0);
    }
    ~MappedPage()
    {
        ::munmap(at_, 4096);
        ::close(fd_);
    }
    void write(const char* text, off_t bytes)
    {
        ASSERT_EQ(::pwrite(fd_, text, 3, 0), 3);
        ASSERT_EQ(::ftruncate(fd_, bytes), 0);
    }
    void touch(long seconds)
    {
        const std::array<timespec, 2> times{timespec{seconds, 0}, timespec{seconds, 0}};
        ASSERT_EQ(::futimens(fd_, times.data()), 0);
    }
    void unlink() { ::unlink(path_.c_str()); }

    std::optional<dt::FileVersion> version() const
    {
        auto maps = dt::ProcessMaps::read(::getpid());
        const dt::Mapping* mapping =
            maps ? maps->at(dt::TargetAddr{reinterpret_cast<std::uint64_t>(at_)}) : nullptr;
        if (mapping == nullptr)
            return {};
        return dt::MappedFiles(::getpid()).version(*mapping);
    }

private:
    dt::Scratch scratch_;
    std::string path_ = scratch_.path("page");
    int fd_ = -1;
    void* at_ = nullptr;
};

} // namespace

TEST(MappedFiles, AFileThatIsWrittenAnewIsAnotherVersionOfTheSameFile)
{
    MappedPage page;
    page.touch(1000);
    auto first = page.version();
    ASSERT_TRUE(first);
    EXPECT_EQ(first->bytes, 4096);
    EXPECT_EQ(first->changed_ns, 1'000'000'000'000);
    EXPECT_EQ(page.version(), first);
    page.write("two", 8192);
    page.touch(1000);
    auto longer = page.version();
    page.touch(2000);
    auto later = page.version();
    ASSERT_TRUE(longer && later);
    EXPECT_EQ(longer->file, first->file);
    EXPECT_NE(longer, first);
    EXPECT_NE(later, longer);
}

TEST(MappedFiles, AFileThatHasNoNameAnyMoreHasItsVersionOrNoneWhereItMayNotBeSeen)
{
    MappedPage page;
    auto named = page.version();
    page.unlink();
    auto nameless = page.version();
    ASSERT_TRUE(named);
    EXPECT_EQ(nameless.value_or(*named), *named);
}
