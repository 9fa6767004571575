// SPDX-License-Identifier: MIT
// Sites on the way from client to agent: a few in the request's body, or megabytes that
// nobody copies more than once.
//
//   client   list_of(sites) ──▶ memfd, sealed ──▶ with the request
//   agent    SiteList::take(body, memfd) ──▶ span of them, read-only
//
// Sealed against everything: the agent looks at a site again and again, and beyond the
// end of a file that was cut it would die of SIGBUS.
#pragma once

#include "base/fd.hpp"
#include "base/result.hpp"
#include "ptrace-agent/wire/protocol.hpp"

#include <span>
#include <vector>

namespace dt::agent {

constexpr std::size_t few_sites = 256; // in the body

// Errors: memfd_create(2), write(2), fcntl(2).
Result<Fd> list_of(std::span<const Site> sites);

class SiteList {
public:
    // The number is next in the body, which ends with it or with the sites; fds: those of the
    // request. Code::invalid when neither holds so many, or the body ended before.
    static Result<SiteList> take(Reader& body, std::span<const Fd> fds);
    SiteList(SiteList&& other) noexcept;
    SiteList& operator=(SiteList&&) = delete;
    ~SiteList();

    std::span<const Site> all() const { return mapped_.empty() ? few_ : mapped_; }

private:
    SiteList() = default;
    std::vector<Site> few_;
    std::span<const Site> mapped_;
};

} // namespace dt::agent
