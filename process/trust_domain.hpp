// SPDX-License-Identifier: MIT
// The trust domain of a process. Two processes are in the same domain if each of them
// may control the other with ptrace(2): they have the same user and group ids, user
// namespace and capabilities. A sandboxed process, which has no_new_privs and a seccomp
// filter, is in a domain of its own, because its sandbox protects other processes of its
// user from it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>

namespace dt {

struct TrustDomain {
    std::array<std::uint64_t, 4> users{};  // real, effective, saved and file system id
    std::array<std::uint64_t, 4> groups{}; // 0 if the process has CAP_SYS_PTRACE
    // The permitted capabilities (capabilities(7)). A process with CAP_SYS_PTRACE can
    // control every process, so its further capabilities are not stored.
    std::uint64_t capabilities = 0;
    std::string user_namespace; // for example "user:[4026531837]"
    // The user that is responsible for the process: the real user id or, if the process is
    // in another user namespace than this process, the owner of that namespace.
    std::uint64_t owner = 0;
    pid_t sandboxed = 0; // the process, or 0 if it is not sandboxed

    bool operator==(const TrustDomain&) const = default;
};

// Returns the domain of a process. Returns nullopt if the process has exited, or if
// this process may not trace it. If this process is sandboxed itself, other sandboxed
// processes share the domain of their user, because the sandbox then probably belongs
// to a container that contains all of them.
std::optional<TrustDomain> trust_domain_of(pid_t pid);

} // namespace dt
