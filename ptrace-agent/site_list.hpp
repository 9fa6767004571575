// SPDX-License-Identifier: MIT
// Sites on the way from client to agent: megabytes that nobody copies more than once.
//
//   client   list_of(sites) ──▶ memfd, sealed ──▶ with the request
//   agent    SiteList::map(memfd) ──▶ span of them, read-only
//
// Sealed against everything: the agent looks at a site again and again, and beyond the
// end of a file that was cut it would die of SIGBUS.
#pragma once

#include "base/fd.hpp"
#include "base/result.hpp"
#include "ptrace-agent/client.hpp"

#include <span>

namespace dt::agent {

// Errors: memfd_create(2), write(2), fcntl(2). No sites, no memfd.
Result<Fd> list_of(std::span<const Site> sites);

class SiteList {
public:
    // fds: those of the request. Code::invalid when they hold no sealed list of n.
    static Result<SiteList> map(std::span<const Fd> fds, std::uint32_t n);
    SiteList(SiteList&& other) noexcept;
    SiteList& operator=(SiteList&&) = delete;
    ~SiteList();

    std::span<const Site> all() const { return all_; }

private:
    SiteList() = default;
    std::span<const Site> all_;
};

} // namespace dt::agent
