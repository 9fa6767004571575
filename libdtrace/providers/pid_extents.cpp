// SPDX-License-Identifier: MIT
// The extents of a process' sites: each site's module, each image's map once.
#include "libdtrace/providers/pid_provider.hpp"

namespace dt {

void PidProvider::find_extents(ProcessSymbols& symbols,
                               std::span<const std::uint32_t> ids)
{
    const Module* module = nullptr; // of the site before: mostly the same
    const ExtentMap* extents = nullptr;
    for (std::uint32_t id : ids) {
        if (id >= probes_.size() || probes_[id].pid != symbols.pid())
            continue;
        for (PidSite& site : probes_[id].sites) {
            if (site.end != TargetAddr{})
                continue;
            if (module == nullptr || !module->contains(site.at)) {
                module = symbols.module_at(site.at);
                if (module == nullptr || module->image == nullptr) {
                    module = nullptr;
                    continue;
                }
                extents = extents_.of(module->image);
            }
            if (extents == nullptr)
                continue;
            Extent extent = extents->extent({module->link_addr(site.at)});
            site.restartable = extents->is_restartable({module->link_addr(site.at)});
            site.first = module->target_addr(extent.first.value);
            site.end = module->target_addr(extent.end.value);
            site.beyond = module->target_addr(extents->extent(extent.end).end.value);
        }
    }
}

} // namespace dt
