// SPDX-License-Identifier: MIT
#include "process/trust_domain.hpp"

#include "process/proc_files.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/nsfs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dt {

static bool is_sandboxed(const std::string& status)
{
    constexpr std::uint64_t seccomp_filter = 2; // SECCOMP_MODE_FILTER
    return status_number(status, "NoNewPrivs") == 1 &&
           status_number(status, "Seccomp") == seccomp_filter;
}

// See TrustDomain::owner.
static std::uint64_t owner_of(pid_t pid, const TrustDomain& domain)
{
    std::uint64_t owner = domain.users[0];
    struct stat own {};
    if (read_proc_link(::getpid(), "ns/user") == domain.user_namespace ||
        ::stat("/proc/self/ns/user", &own) != 0)
        return owner;
    constexpr int max_levels = 32; // the kernel allows this depth of namespaces
    Fd space(::open(proc_path(pid, "ns/user").c_str(), O_RDONLY | O_CLOEXEC));
    for (int level = 0; level < max_levels && space; level++) {
        struct stat info {};
        if (::fstat(space.get(), &info) != 0 || info.st_ino == own.st_ino)
            break;
        uid_t uid = 0;
        if (::ioctl(space.get(), NS_GET_OWNER_UID, &uid) == 0)
            owner = uid;
        space = Fd(::ioctl(space.get(), NS_GET_PARENT));
    }
    return owner;
}

std::optional<TrustDomain> trust_domain_of(pid_t pid)
{
    const std::string status = read_proc_file(pid, "status");
    if (status.empty())
        return std::nullopt;
    TrustDomain domain;
    constexpr int hexadecimal = 16;
    domain.capabilities = status_number(status, "CapPrm", 0, hexadecimal);
    constexpr std::uint64_t tracing = 1ull << CAP_SYS_PTRACE;
    const bool controls_all = (domain.capabilities & tracing) != 0;
    if (controls_all)
        domain.capabilities = tracing;
    for (int n = 0; n < 4; n++) {
        const auto index = static_cast<std::size_t>(n);
        domain.users[index] = status_number(status, "Uid", n);
        domain.groups[index] = controls_all ? 0 : status_number(status, "Gid", n);
    }
    domain.user_namespace = read_proc_link(pid, "ns/user");
    if (domain.user_namespace.empty())
        return std::nullopt;
    domain.owner = owner_of(pid, domain);
    if (is_sandboxed(status) && !is_sandboxed(read_proc_file(::getpid(), "status")))
        domain.sandboxed = pid;
    return domain;
}

} // namespace dt
