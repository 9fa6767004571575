// SPDX-License-Identifier: MIT
#include "process/page_map.hpp"

#include "process/proc_files.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace dt {

PageMap::PageMap(pid_t pid)
    : file_(::open(proc_path(pid, "pagemap").c_str(), O_RDONLY | O_CLOEXEC))
{
}

std::vector<PageState> PageMap::pages(TargetAddr from, std::uint64_t bytes) const
{
    const std::uint64_t first = from.value / page_bytes;
    const std::uint64_t last = (from.value + bytes - 1) / page_bytes;
    std::vector<PageState> states(last - first + 1);
    static_assert(sizeof(PageState) == sizeof(std::uint64_t));
    const std::size_t size = states.size() * sizeof(PageState);
    if (!file_ || ::pread(file_.get(), states.data(), size,
                          static_cast<off_t>(first * sizeof(PageState))) !=
                      static_cast<ssize_t>(size))
        return {};
    return states;
}

} // namespace dt
