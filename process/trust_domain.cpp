// SPDX-License-Identifier: MIT
#include "process/trust_domain.hpp"

#include "process/proc_files.hpp"

#include <algorithm>
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

constexpr int max_levels = 32; // the kernel allows this depth of user namespaces

// Returns the owner of a user namespace that contains the process. It is the one in which
// the parent is the namespace `outer`, which is given as a link such as
// "user:[4026531837]". Returns nullopt if the process is in `outer` itself or outside it.
static std::optional<std::uint64_t> owner_below(pid_t pid, const std::string& outer)
{
    Fd space(::open(proc_path(pid, "ns/user").c_str(), O_RDONLY | O_CLOEXEC));
    std::optional<std::uint64_t> owner;
    for (int level = 0; level < max_levels && space; level++) {
        struct stat info {};
        if (::fstat(space.get(), &info) != 0)
            break;
        if ("user:[" + std::to_string(info.st_ino) + "]" == outer)
            return owner;
        uid_t uid = 0;
        owner = ::ioctl(space.get(), NS_GET_OWNER_UID, &uid) == 0
                    ? std::optional<std::uint64_t>(uid)
                    : std::nullopt;
        space = Fd(::ioctl(space.get(), NS_GET_PARENT));
    }
    return std::nullopt;
}

// See TrustDomain::owner.
static std::uint64_t owner_of(pid_t pid, const TrustDomain& domain)
{
    const std::string own = read_proc_link(::getpid(), "ns/user");
    if (own == domain.user_namespace)
        return domain.users[0];
    return owner_below(pid, own).value_or(domain.users[0]);
}

constexpr std::uint64_t bit(int capability)
{
    return 1ull << capability;
}

bool is_privileged(pid_t pid)
{
    constexpr int hexadecimal = 16;
    const std::string status = read_proc_file(pid, "status");
    return !is_sandboxed(status) &&
           (status_number(status, "CapPrm", 0, hexadecimal) & bit(CAP_SYS_PTRACE)) !=
               0 &&
           read_proc_file(pid, "uid_map") == read_proc_file(::getpid(), "uid_map");
}

std::optional<TrustDomain> trust_domain_of(pid_t pid)
{
    const std::string status = read_proc_file(pid, "status");
    if (status.empty())
        return std::nullopt;
    TrustDomain domain;
    constexpr int hexadecimal = 16;
    domain.capabilities = status_number(status, "CapPrm", 0, hexadecimal);
    constexpr std::uint64_t tracing = bit(CAP_SYS_PTRACE);
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

constexpr const char* no_namespace = "further processes";

TrustDomain remaining_domain(std::uint64_t owner)
{
    TrustDomain key;
    key.user_namespace = no_namespace;
    key.owner = owner;
    return key;
}

// Returns whether the process is in the sandbox of the process `root`.
static bool is_in_sandbox(pid_t pid, pid_t root)
{
    constexpr int max_depth = 64; // the parents may change during the loop
    for (int depth = 0; pid > 1 && depth < max_depth; depth++) {
        if (pid == root)
            return true;
        const std::string status = read_proc_file(pid, "status");
        if (!is_sandboxed(status))
            return false;
        if (status_number(status, "TracerPid") == static_cast<std::uint64_t>(getpid()))
            return true;
        pid = static_cast<pid_t>(status_number(status, "PPid"));
    }
    return false;
}

static bool covers_ids(const std::array<std::uint64_t, 4>& domain,
                       const std::array<std::uint64_t, 4>& other)
{
    return std::all_of(other.begin(), other.end(), [&](std::uint64_t id) {
        return std::find(domain.begin(), domain.end(), id) != domain.end();
    });
}

// Returns whether the process belongs to the owner. A process in the caller's user
// namespace must have only this user id and no capabilities. A process in another user
// namespace only needs the same owner.
static bool is_of_owner(const TrustDomain& process, std::uint64_t owner)
{
    if (process.user_namespace != read_proc_link(::getpid(), "ns/user"))
        return process.owner == owner;
    return process.capabilities == 0 &&
           std::all_of(process.users.begin(), process.users.end(),
                       [owner](std::uint64_t id) { return id == owner; });
}

bool covers(const TrustDomain& domain, pid_t pid)
{
    const auto process = trust_domain_of(pid);
    if (!process)
        return false;
    if (domain.user_namespace == no_namespace)
        return is_of_owner(*process, domain.owner);
    if (domain.sandboxed != 0 && !is_in_sandbox(pid, domain.sandboxed))
        return false;
    if (process->user_namespace != domain.user_namespace) {
        // The owner of a user namespace has all rights in it.
        const auto owner = owner_below(pid, domain.user_namespace);
        return owner && std::find(domain.users.begin(), domain.users.end(), *owner) !=
                            domain.users.end();
    }
    const std::uint64_t rights = domain.capabilities;
    if ((rights & bit(CAP_SYS_PTRACE)) != 0)
        return true;
    return (process->capabilities & ~rights) == 0 &&
           ((rights & bit(CAP_SETUID)) != 0 ||
            covers_ids(domain.users, process->users)) &&
           ((rights & bit(CAP_SETGID)) != 0 ||
            covers_ids(domain.groups, process->groups));
}

void put_domain(MessageWriter& out, const TrustDomain& domain)
{
    out.put(domain.users).put(domain.groups).put(domain.capabilities);
    out.text(domain.user_namespace).put(domain.owner).put(domain.sandboxed);
}

TrustDomain get_domain(MessageReader& in)
{
    TrustDomain domain;
    domain.users = in.get<std::array<std::uint64_t, 4>>();
    domain.groups = in.get<std::array<std::uint64_t, 4>>();
    domain.capabilities = in.get<std::uint64_t>();
    domain.user_namespace = in.text();
    domain.owner = in.get<std::uint64_t>();
    domain.sandboxed = in.get<pid_t>();
    return domain;
}

} // namespace dt
