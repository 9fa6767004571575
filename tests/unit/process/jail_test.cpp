// SPDX-License-Identifier: MIT
// Tests what a process in the jail can and cannot do.
#include "process/jail/jail.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dt;

#ifndef __SANITIZE_ADDRESS__ // a build with the sanitizer has no filter

namespace {

class FakeBroker final : public JailBroker {
public:
    explicit FakeBroker(int file) : file_(file) {}
    Fd open_file(const char* path) override
    {
        return std::strcmp(path, "/debug/file") == 0
                   ? Fd(::fcntl(file_, F_DUPFD_CLOEXEC, 0))
                   : Fd();
    }
    std::string path_of(int) override { return "/path/of/file"; }

private:
    int file_;
};

// Runs `action` in the jail. Returns the wait status of its process. The exit status is
// the result of the action.
int status_of(const std::function<int()>& action)
{
    const pid_t pid = ::fork();
    if (pid == 0) {
        const int kept = ::open("/etc/passwd", O_RDONLY | O_CLOEXEC);
        static FakeBroker broker(kept);
        if (!enter_jail(kept, broker))
            ::_exit(99);
        ::_exit(action());
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    return status;
}

bool is_killed(const std::function<long()>& call)
{
    const int status = status_of([&] { return call() < 0 ? 1 : 2; });
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
}

// Returns the exit status of the action, or -1 if it was killed.
int result_of(const std::function<int()>& action)
{
    const int status = status_of(action);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

} // namespace

TEST(Jail, KillsAProcessThatReachesOutside)
{
    const pid_t parent = ::getpid();
    EXPECT_TRUE(is_killed([] { return ::socket(AF_INET, SOCK_STREAM, 0); }));
    EXPECT_TRUE(is_killed([] { return ::socket(AF_UNIX, SOCK_STREAM, 0); }));
    EXPECT_TRUE(is_killed([=] { return ::kill(parent, 0); }));
    EXPECT_TRUE(is_killed([=] { return ::syscall(SYS_tgkill, parent, parent, 0); }));
    EXPECT_TRUE(is_killed([=] { return ::ptrace(PTRACE_SEIZE, parent, 0, 0); }));
    EXPECT_TRUE(is_killed([] { return ::fork(); }));
    EXPECT_TRUE(is_killed([] { return ::syscall(SYS_clone3, nullptr, 0); }));
    EXPECT_TRUE(is_killed([] { return ::execl("/bin/true", "true", nullptr); }));
    EXPECT_TRUE(is_killed([] { return ::unlink("/tmp/x"); }));
    EXPECT_TRUE(is_killed([] { return ::mkdir("/tmp/x", 0700); }));
    EXPECT_TRUE(is_killed([] { return ::unshare(CLONE_NEWUSER); }));
    EXPECT_TRUE(is_killed([] { return ::setuid(1); }));
    EXPECT_TRUE(is_killed(
        [=] { return ::process_vm_readv(parent, nullptr, 0, nullptr, 0, 0); }));
    EXPECT_TRUE(is_killed([] { return ::syscall(SYS_io_uring_setup, 1, nullptr); }));
    EXPECT_TRUE(is_killed([] { return ::syscall(SYS_userfaultfd, 0); }));
    EXPECT_TRUE(
        is_killed([] { return ::syscall(SYS_openat2, AT_FDCWD, "/", nullptr, 0); }));
}

TEST(Jail, ForbidsNewCode)
{
    auto map = [](int protection) {
        return ::mmap(nullptr, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
                       MAP_FAILED
                   ? -1
                   : 0;
    };
    EXPECT_TRUE(is_killed([=] { return map(PROT_READ | PROT_WRITE | PROT_EXEC); }));
    EXPECT_TRUE(is_killed([=] { return map(PROT_EXEC); }));
    EXPECT_EQ(result_of([=] { return map(PROT_READ | PROT_WRITE) == 0 ? 0 : 1; }), 0);
    EXPECT_TRUE(is_killed([] {
        void* page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return ::mprotect(page, 4096, PROT_READ | PROT_EXEC);
    }));
}

TEST(Jail, HasNoDescriptorsExceptTheKeptOneAndDevNull)
{
    const Fd secret(::open("/etc/hostname", O_RDONLY));
    EXPECT_EQ(result_of([&] {
                  for (int fd = 3; fd < 1024; fd++) {
                      std::array<char, 8> bytes{};
                      // Only the kept descriptor is readable.
                      if (::pread(fd, bytes.data(), bytes.size(), 0) >= 0 &&
                          std::memcmp(bytes.data(), "root:", 5) != 0)
                          return 1;
                  }
                  return 0;
              }),
              0);
}

TEST(Jail, OpensFilesThroughTheBroker)
{
    EXPECT_EQ(result_of([] {
                  const Fd file(::open("/debug/file", O_RDONLY));
                  std::array<char, 5> bytes{};
                  return file && ::read(file.get(), bytes.data(), bytes.size()) == 5 &&
                                 std::memcmp(bytes.data(), "root:", 5) == 0
                             ? 0
                             : 1;
              }),
              0);
    EXPECT_EQ(result_of([] { return ::open("/etc/shadow", O_RDONLY) < 0 ? errno : 0; }),
              ENOENT);
    EXPECT_EQ(result_of([] { return ::open("/debug/file", O_RDWR) < 0 ? errno : 0; }),
              EACCES);
    EXPECT_EQ(result_of([] {
                  return ::open("/tmp/made", O_RDONLY | O_CREAT, 0600) < 0 ? errno : 0;
              }),
              EACCES);
}

TEST(Jail, EmulatesCallsThatLookUpAName)
{
    EXPECT_EQ(
        result_of([] {
            struct stat is {};
            const bool found = ::stat("/debug/file", &is) == 0 && S_ISREG(is.st_mode);
            return found && ::stat("/etc/passwd", &is) < 0 && errno == ENOENT ? 0 : 1;
        }),
        0);
    EXPECT_EQ(result_of([] {
                  const Fd file(::open("/debug/file", O_RDONLY));
                  struct stat is {};
                  std::array<char, 64> path{};
                  const std::string link =
                      "/proc/self/fd/" + std::to_string(file.get());
                  const auto n = ::readlink(link.c_str(), path.data(), path.size());
                  const bool is_link =
                      ::lstat(link.c_str(), &is) == 0 && S_ISLNK(is.st_mode);
                  return is_link && ::fstat(file.get(), &is) == 0 && n == 13 &&
                                 std::strcmp(path.data(), "/path/of/file") == 0
                             ? 0
                             : 1;
              }),
              0);
}

TEST(Jail, ReportsAnAbortAsAnAbort)
{
    const int status = status_of([]() -> int { std::abort(); });
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), SIGABRT);
}

TEST(Jail, LimitsMemory)
{
    EXPECT_EQ(result_of([] {
                  const auto machine =
                      static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) *
                      static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
                  return ::mmap(nullptr, machine / 2 + 4096, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                                0) == MAP_FAILED
                             ? errno
                             : 0;
              }),
              ENOMEM);
}

#endif
