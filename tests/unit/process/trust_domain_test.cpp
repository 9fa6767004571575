// SPDX-License-Identifier: MIT
#include "process/trust_domain.hpp"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
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
