// SPDX-License-Identifier: MIT
#include "libdtrace/api/shell_command.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dt {

// Runs in the new process. Calls only functions that are async-signal-safe, because
// another thread of the caller may have held a lock at the fork.
[[noreturn]] static void wait_and_execute(int gate, const char* command)
{
    char none = 0;
    while (::read(gate, &none, 1) < 0 && errno == EINTR)
        continue;
    const char* argv[] = {"sh", "-c", command, nullptr};
    ::execve("/bin/sh", const_cast<char**>(argv), environ);
    ::_exit(127); // as with system(3)
}

ShellCommand::ShellCommand(const std::string& command)
{
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGINT, &ignore, &interrupt_);
    ::sigaction(SIGQUIT, &ignore, &quit_);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return;
    Fd read_end(ends[0]);
    gate_ = Fd(ends[1]);
    pid_ = ::fork();
    if (pid_ == 0) {
        ::close(ends[1]);
        ::sigaction(SIGINT, &interrupt_, nullptr);
        ::sigaction(SIGQUIT, &quit_, nullptr);
        wait_and_execute(ends[0], command.c_str());
    }
    if (pid_ > 0)
        ended_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
}

ShellCommand::~ShellCommand()
{
    if (gate_ && pid_ > 0) {
        ::kill(pid_, SIGKILL);
        (void)::waitpid(pid_, nullptr, 0);
    }
    ::sigaction(SIGINT, &interrupt_, nullptr);
    ::sigaction(SIGQUIT, &quit_, nullptr);
}

std::optional<int> ShellCommand::status()
{
    int status = 0;
    const pid_t reaped = ::waitpid(pid_, &status, WNOHANG);
    if (reaped == pid_)
        return status;
    if (reaped < 0 && errno != EINTR)
        return -1;
    return std::nullopt;
}

} // namespace dt
