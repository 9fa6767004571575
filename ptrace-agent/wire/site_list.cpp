// SPDX-License-Identifier: MIT
#include "ptrace-agent/wire/site_list.hpp"

#include "base/memfd.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace dt::agent {

constexpr int all_seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

Result<Fd> list_of(std::span<const Site> sites)
{
    auto made = make_memfd("dtrace-sites", 0);
    if (!made)
        return made.error().during("list sites");
    Fd fd = std::move(made->writer);
    for (auto left = std::as_bytes(sites); !left.empty();) {
        ssize_t n = ::write(fd.get(), left.data(), left.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return errno_error("list sites: write to a memfd");
        left = left.subspan(static_cast<std::size_t>(n));
    }
    if (fcntl(fd.get(), F_ADD_SEALS, all_seals) != 0)
        return errno_error("list sites: seal a memfd");
    return fd;
}

Result<SiteList> SiteList::take(Reader& body, std::span<const Fd> fds)
{
    SiteList list;
    auto n = body.get<std::uint32_t>();
    if (n <= few_sites) {
        list.few_ = body.array<Site>(n);
        if (!body.ok())
            return Error{Code::invalid,
                         "read a list of sites: the request is truncated"};
        return list;
    }
    std::size_t bytes = n * sizeof(Site);
    struct stat info {};
    int seals = fds.size() == 1 ? fcntl(fds[0].get(), F_GET_SEALS) : -1;
    // Additional seals are accepted, because the kernel adds F_SEAL_EXEC if the sysctl
    // vm.memfd_noexec is set.
    if (seals < 0 || (seals & all_seals) != all_seals ||
        fstat(fds[0].get(), &info) != 0 ||
        static_cast<std::size_t>(info.st_size) < bytes)
        return Error{Code::invalid,
                     "map a list of sites: the file is not sealed or is too short"};
    void* base =
        mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fds[0].get(), 0);
    if (base == MAP_FAILED)
        return errno_error("map a list of sites");
    list.mapped_ = {static_cast<const Site*>(base), n};
    return list;
}

SiteList::SiteList(SiteList&& other) noexcept
    : few_(std::move(other.few_)), mapped_(std::exchange(other.mapped_, {}))
{
}

SiteList::~SiteList()
{
    if (!mapped_.empty())
        munmap(const_cast<Site*>(mapped_.data()), mapped_.size_bytes());
}

} // namespace dt::agent
