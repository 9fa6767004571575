// SPDX-License-Identifier: MIT
#include "process/trust_domain.hpp"

#include "process/proc_files.hpp"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dt;

namespace {

// A child that calls `prepare` and then waits until it is killed.
class Child {
public:
    explicit Child(void (*prepare)())
    {
        int ready[2];
        EXPECT_EQ(pipe(ready), 0);
        pid_ = fork();
        if (pid_ == 0) {
            prepare();
            (void)!write(ready[1], "", 1);
            for (;;)
                pause();
        }
        char byte;
        EXPECT_EQ(read(ready[0], &byte, 1), 1);
        close(ready[0]);
        close(ready[1]);
    }
    ~Child()
    {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    pid_t pid() const { return pid_; }

private:
    pid_t pid_ = 0;
};

void enter_sandbox()
{
    sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    sock_fprog filter{1, &allow};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

} // namespace

TEST(TrustDomain, IsTheSameForProcessesOfOneUser)
{
    const Child one([] {}), other([] {});
    ASSERT_TRUE(trust_domain_of(one.pid()));
    EXPECT_EQ(trust_domain_of(one.pid()), trust_domain_of(other.pid()));
    EXPECT_EQ(trust_domain_of(one.pid()), trust_domain_of(getpid()));
}

TEST(TrustDomain, DiffersIfOneOfTheFourUserIdsDoes)
{
    if (geteuid() != 0)
        GTEST_SKIP() << "only root can run processes of several users";
    const Child all([] { (void)!setresuid(65534, 65534, 65534); });
    const Child saved([] { (void)!setresuid(65534, 65534, 0); });
    EXPECT_NE(trust_domain_of(all.pid()), trust_domain_of(getpid()));
    EXPECT_NE(trust_domain_of(all.pid()), trust_domain_of(saved.pid()));
}

TEST(TrustDomain, DiffersIfTheGroupsOrTheCapabilitiesDo)
{
    if (geteuid() != 0)
        GTEST_SKIP() << "only root can change its group and keep capabilities";
    const Child one([] { (void)!(setgid(65534) != 0 || setuid(65534) != 0); });
    const Child other([] { (void)!(setgid(65533) != 0 || setuid(65534) != 0); });
    const Child capable([] {
        prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
        (void)!(setgid(65534) != 0 || setuid(65534) != 0);
    });
    EXPECT_NE(trust_domain_of(one.pid()), trust_domain_of(other.pid()));
    EXPECT_NE(trust_domain_of(one.pid()), trust_domain_of(capable.pid()));
    // If a process may trace all other processes, its groups are ignored.
    const Child root([] { (void)!setgid(65533); });
    EXPECT_EQ(trust_domain_of(root.pid()), trust_domain_of(getpid()));
}

TEST(TrustDomain, IsItsOwnForEachSandboxedProcess)
{
    if (prctl(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER)
        GTEST_SKIP() << "the test itself runs in a sandbox";
    const Child plain([] {}), one(enter_sandbox), other(enter_sandbox);
    EXPECT_NE(trust_domain_of(one.pid()), trust_domain_of(plain.pid()));
    EXPECT_NE(trust_domain_of(one.pid()), trust_domain_of(other.pid()));
    EXPECT_EQ(trust_domain_of(one.pid()), trust_domain_of(one.pid()));
}

TEST(TrustDomain, IsNotKnownOfAProcessThatHasExited)
{
    pid_t exited = fork();
    if (exited == 0)
        _exit(0);
    waitpid(exited, nullptr, 0);
    EXPECT_EQ(trust_domain_of(exited), std::nullopt);
}

// Tests of covers().

static bool covers_process(const Child& domain, const Child& process)
{
    const auto key = trust_domain_of(domain.pid());
    return key && covers(*key, process.pid());
}

TEST(TrustDomainCovers, TheProcessesOfItsUserOnly)
{
    if (geteuid() != 0)
        GTEST_SKIP() << "only root can run processes of several users";
    const Child one([] { (void)!setresuid(65534, 65534, 65534); });
    const Child same([] { (void)!setresuid(65534, 65534, 65534); });
    const Child other([] { (void)!setresuid(65533, 65533, 65533); });
    const Child root([] {});
    EXPECT_TRUE(covers_process(one, same));
    EXPECT_FALSE(covers_process(one, other));
    EXPECT_FALSE(covers_process(one, root));
    EXPECT_FALSE(covers(*trust_domain_of(one.pid()), getppid()));
}

TEST(TrustDomainCovers, NoProcessThatHasGainedAnId)
{
    if (geteuid() != 0)
        GTEST_SKIP() << "only root can run processes of several users";
    const Child plain([] { (void)!setresuid(65534, 65534, 65534); });
    const Child gained([] { (void)!setresuid(65534, 0, 0); });
    const Child group([] {
        (void)!setresgid(0, 5, 5);
        (void)!setresuid(65534, 65534, 65534);
    });
    const Child both([] { (void)!setresuid(65534, 65533, 65533); });
    EXPECT_FALSE(covers_process(plain, gained));
    EXPECT_FALSE(covers_process(plain, group));
    EXPECT_FALSE(covers_process(plain, both));
    EXPECT_TRUE(
        covers_process(both, plain)); // it can take the ids of the other process
}

TEST(TrustDomainCovers, NoOtherSandboxAndNothingOutsideASandbox)
{
    if (status_number(read_proc_file(getpid(), "status"), "Seccomp") != 0)
        GTEST_SKIP() << "the test itself runs in a sandbox";
    const Child plain([] {}), one(enter_sandbox), other(enter_sandbox);
    const auto key = trust_domain_of(one.pid());
    ASSERT_TRUE(key);
    EXPECT_TRUE(covers(*key, one.pid()));
    EXPECT_FALSE(covers(*key, other.pid()));
    EXPECT_FALSE(covers(*key, plain.pid()));
    EXPECT_TRUE(covers_process(plain, one));
}

TEST(TrustDomainCovers, AllRemainingProcessesOfAnOwnerWithoutMoreRights)
{
    if (geteuid() != 0)
        GTEST_SKIP() << "only root can run processes of several users";
    const Child plain([] { (void)!setresuid(65534, 65534, 65534); });
    const Child gained([] { (void)!setresuid(65534, 0, 0); });
    const TrustDomain remaining = remaining_domain(65534);
    EXPECT_TRUE(covers(remaining, plain.pid()));
    EXPECT_FALSE(covers(remaining, gained.pid()));
    EXPECT_FALSE(covers(remaining_domain(65533), plain.pid()));
}

// Root of another user namespace has all capabilities, but only there.
TEST(TrustDomain, IsNotPrivilegedInAnotherUserNamespace)
{
    if (::geteuid() != 0)
        GTEST_SKIP() << "needs root";
    const Child same([] {}), other([] { (void)::unshare(CLONE_NEWUSER); });
    if (read_proc_link(other.pid(), "ns/user") == read_proc_link(getpid(), "ns/user"))
        GTEST_SKIP() << "no user namespace can be created here";
    EXPECT_EQ(is_privileged(same.pid()), is_privileged(getpid()));
    EXPECT_FALSE(is_privileged(other.pid()));
}
