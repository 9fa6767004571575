// SPDX-License-Identifier: MIT
#include "ptrace-agent/inject/mapped_list.hpp"

#include "ptrace-agent/address_space.hpp"

namespace dt::agent {

void MappedList::add(AddressSpace& space, TargetAddr at, std::uint64_t bytes)
{
    all_.emplace_back(at, bytes);
    write_from(space, all_.size() - 1);
}

void MappedList::publish(AddressSpace& space) const
{
    write_from(space, 0);
}

void MappedList::write_from(AddressSpace& space, std::size_t first) const
{
    if (space.runtime.image.value == 0)
        return;
    std::vector<dt_rt_mapped> entries;
    for (std::size_t i = first; i < all_.size() && i < DT_RT_MAX_MAPPED; ++i)
        entries.push_back({all_[i].first.value, all_[i].second});
    if (entries.empty())
        return;
    const TargetAddr list = space.runtime.image + DT_RT_MAPPED;
    const std::uint64_t n = first + entries.size();
    // The entries are written before their number. Failures are ignored, because the
    // process may have exited.
    space.write_text(list + offsetof(dt_rt_mapped_list, all) +
                         first * sizeof(dt_rt_mapped),
                     std::as_bytes(std::span(entries)));
    space.write_text(list, std::as_bytes(std::span(&n, 1)));
}

} // namespace dt::agent
