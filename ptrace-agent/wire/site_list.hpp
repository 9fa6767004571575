// SPDX-License-Identifier: MIT
// A list of sites that the client sends to the agent. A short list is in the body of
// the request. A long list may be megabytes in size, and is in a memfd.
//
//   client   list_of(sites) ──▶ sealed memfd ──▶ sent with the request
//   agent    SiteList::take(body, memfd) ──▶ read-only span
//
// The memfd has all seals. The agent reads a site several times and must find the same
// bytes each time. If the client truncated the file, the agent would die of SIGBUS.
#pragma once

#include "base/fd.hpp"
#include "base/result.hpp"
#include "ptrace-agent/wire/protocol.hpp"

#include <span>
#include <vector>

namespace dt::agent {

constexpr std::size_t few_sites = 256; // at most this many are sent in the body

// Returns a sealed memfd that contains the sites. Returns an Error if memfd_create(2),
// write(2) or fcntl(2) fails.
Result<Fd> list_of(std::span<const Site> sites);

class SiteList {
public:
    // Reads the number of sites, and then the sites from the body or the descriptor.
    // Fails with Code::invalid if there are fewer sites than this number, or if the
    // file is not sealed.
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
