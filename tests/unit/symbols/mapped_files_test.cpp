// SPDX-License-Identifier: MIT
#include "libdtrace/symbols/mapped_files.hpp"

#include "libdtrace/symbols/debug/debug_folders.hpp"
#include "process/regular_file.hpp"
#include "process/server_file.hpp"

#include "scratch.hpp"

#include <array>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

// A file of one page, which is mapped into this process while the object exists.
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
            maps ? maps->at(dt::TargetAddr{reinterpret_cast<std::uint64_t>(at_)})
                 : nullptr;
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

TEST(MappedFiles, ARewrittenFileIsAnotherVersionOfTheSameFile)
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

// A target can map a file and replace it with a FIFO. So only regular files are opened.
TEST(RegularFile, IsOpenedAndNothingElseIs)
{
    dt::Scratch scratch;
    const std::string file = scratch.path("file"), fifo = scratch.path("fifo"),
                      device = scratch.path("device"), link = scratch.path("link");
    ASSERT_EQ(::close(::open(file.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
    ASSERT_EQ(::truncate(file.c_str(), off_t{1} << 20), 0);
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    ASSERT_EQ(::symlink("/dev/tty", device.c_str()), 0);
    ASSERT_EQ(::symlink(file.c_str(), link.c_str()), 0);

    EXPECT_TRUE(dt::open_regular(file));
    EXPECT_TRUE(dt::open_regular(link));
    EXPECT_FALSE(dt::open_regular(fifo)); // must not wait for a writer
    EXPECT_FALSE(dt::open_regular(device));
    EXPECT_FALSE(dt::open_regular(scratch.path(".")));
    EXPECT_FALSE(dt::open_regular(file, (1 << 20) - 1)); // too large
    EXPECT_EQ(::fcntl(dt::open_regular(file).get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST(RegularFile, OfAFileSystemInMemoryIsLocal)
{
    const dt::Fd found(::open("/dev/shm", O_PATH | O_CLOEXEC));
    ASSERT_TRUE(found);
    EXPECT_TRUE(dt::is_local(found, "/dev/shm"));
}

// Returns the ids of the processes that this thread has started, also of zombies.
static std::string own_children()
{
    std::ifstream list("/proc/thread-self/children");
    return {std::istreambuf_iterator<char>(list), {}};
}

// test_faults_files opens files of a FUSE server.
TEST(RegularFile, IsTheSameIfAnotherProcessOpensIt)
{
    const std::string children = own_children();
    dt::Scratch scratch;
    const std::string path = scratch.path("file"), fifo = scratch.path("fifo");
    std::ofstream(path) << "text";
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    const dt::Fd found(::open(path.c_str(), O_PATH | O_CLOEXEC));

    dt::ServerFile by_name = dt::open_with_server(path, 4);
    dt::ServerFile by_descriptor = dt::open_with_server(found, 4);
    for (const dt::ServerFile* opened : {&by_name, &by_descriptor}) {
        struct stat is {};
        char text[8] = {};
        ASSERT_TRUE(opened->file);
        EXPECT_EQ(::read(opened->file.get(), text, sizeof text), 4);
        EXPECT_EQ(::fstat(opened->file.get(), &is), 0);
        EXPECT_EQ(is.st_ino, opened->inode);
        EXPECT_FALSE(opened->is_copy);
    }
    EXPECT_FALSE(dt::open_with_server(path, 3).file);
    EXPECT_FALSE(dt::open_with_server(fifo, 4).file);
    EXPECT_FALSE(dt::open_with_server(scratch.path("none"), 4).file);
    EXPECT_EQ(own_children(), children) << "a child was not reaped";
}

TEST(RegularFile, ForAMappingIsOnlyTheOneWithItsDeviceAndInode)
{
    dt::Scratch scratch;
    const std::string path = scratch.path("file"), other = scratch.path("other");
    const int fd = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    ASSERT_EQ(::ftruncate(fd, 4096), 0);
    void* at = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    auto maps = dt::ProcessMaps::read(::getpid());
    ASSERT_TRUE(maps);
    dt::MappedName name = dt::mapped_name(
        ::getpid(), *maps->at(dt::TargetAddr{reinterpret_cast<std::uint64_t>(at)}));
    struct stat was {
    }, is{};
    ASSERT_EQ(::fstat(fd, &was), 0);
    auto inode_of = [&is](const dt::Fd& file) {
        return file && ::fstat(file.get(), &is) == 0 ? is.st_ino : 0;
    };
    EXPECT_EQ(inode_of(dt::open_mapped(name)), was.st_ino);
    name.end = name.end + 4096; // no mapping has this range, so only the path is used
    EXPECT_EQ(inode_of(dt::open_mapped(name)), was.st_ino);
    ++name.minor;
    EXPECT_FALSE(dt::open_mapped(name));
    --name.minor;

    const pid_t child = ::fork();
    if (child == 0)
        ::_exit(0);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    dt::MappedName of_exited = name;
    of_exited.pid = child;
    EXPECT_EQ(inode_of(dt::open_mapped(of_exited)), was.st_ino);
    ++of_exited.inode;
    EXPECT_FALSE(dt::open_mapped(of_exited));

    ASSERT_EQ(::rename(path.c_str(), other.c_str()), 0);
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    EXPECT_FALSE(dt::open_mapped(name));
    ASSERT_EQ(::unlink(path.c_str()), 0);
    ASSERT_EQ(::close(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
    EXPECT_FALSE(dt::open_mapped(name));
    ::munmap(at, 4096);
    ::close(fd);
}

TEST(DebugFolders, ArePathsNotPrefixes)
{
    EXPECT_TRUE(dt::in_debug_folder("/usr/lib/debug/.dwz/a.debug"));
    EXPECT_FALSE(dt::in_debug_folder("/usr/lib/debugger/a.debug"));
    EXPECT_FALSE(dt::in_debug_folder("/usr/lib/debug"));
    EXPECT_FALSE(dt::in_debug_folder("/usr/lib/debug/../../../tmp/a.dwo"));
    EXPECT_FALSE(dt::in_debug_folder("usr/lib/debug/a"));
    dt::add_debug_folder("/folder/of/a/build/");
    EXPECT_TRUE(dt::in_debug_folder("/folder/of/a/build/x.dwo"));
    EXPECT_FALSE(dt::in_debug_folder("/folder/of/a/building/x.dwo"));
}
