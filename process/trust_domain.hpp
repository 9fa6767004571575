// SPDX-License-Identifier: MIT
// The trust domain of a process. Two processes are in the same domain if each may
// control the other with ptrace(2). This is the case if they have the same user and
// group ids, user namespace and capabilities.
//
// A sandboxed process has no_new_privs and a seccomp filter. It is in a domain of its
// own.
#pragma once

#include "base/message.hpp"

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

// Returns a domain for all processes of an owner that have no domain of their own.
TrustDomain remaining_domain(std::uint64_t owner);

// Returns the domain of a process. Returns nullopt if the process has exited or may not
// be traced by the calling process. If the calling process is sandboxed itself, other
// sandboxed processes are treated as not sandboxed.
std::optional<TrustDomain> trust_domain_of(pid_t pid);

// Returns whether the processes of the domain could give themselves all rights of the
// process `pid`. This is true for each process of the domain, and remains true when the
// process changes its ids within its rights, or creates a user namespace or a sandbox.
// It is false if the process has gained rights by executing a program. The domain of a
// sandboxed process covers only this process, its descendants, and processes that the
// calling process traces.
bool covers(const TrustDomain& domain, pid_t pid);

// Returns whether a process has CAP_SYS_PTRACE and is not sandboxed. Also compares the
// mapping of user ids with that of the calling process, because a process in another user
// namespace has its capabilities only there. Reads only files that every user may read.
bool is_privileged(pid_t pid);

// Write and read a domain in a message (base/message.hpp).
void put_domain(MessageWriter& out, const TrustDomain& domain);
TrustDomain get_domain(MessageReader& in);

} // namespace dt
