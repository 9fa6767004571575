// SPDX-License-Identifier: MIT
// The trust domain of a process. Two processes are in the same domain if each may
// control the other with ptrace(2). This is the case if they have the same user and
// group ids, user namespace and capabilities.
//
// A sandboxed process has no_new_privs and a seccomp filter. It is in a domain of its
// own.
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
    // control every process, so its other capabilities are not stored.
    std::uint64_t capabilities = 0;
    std::string user_namespace; // for example "user:[4026531837]"
    // The owner of the outermost user namespace that contains the process but not the
    // calling process. If both are in the same user namespace, the owner is the real
    // user id of the process.
    std::uint64_t owner = 0;
    pid_t sandboxed = 0; // the process id if the process is sandboxed, otherwise 0

    bool operator==(const TrustDomain&) const = default;
};

// Returns the domain of a process. Returns nullopt if the process has exited or may not
// be traced by the calling process. If the calling process is sandboxed itself, other
// sandboxed processes are treated as not sandboxed.
std::optional<TrustDomain> trust_domain_of(pid_t pid);

} // namespace dt
