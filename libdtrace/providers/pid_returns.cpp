// SPDX-License-Identifier: MIT
// Where a function is left: by what returns or jumps away from it, and from the parts that
// were split off from it. A jump from one of these to another stays.
#include "libdtrace/providers/pid_provider.hpp"

#include <algorithm>

namespace dt {

// Its target is known.
static bool is_direct(const ReturnSite& site)
{
    return site.kind == ReturnSite::tail_jump || site.kind == ReturnSite::tail_branch;
}

struct PidProvider::Part {
    const Function* function;
    TargetAddr start;
    std::vector<ReturnSite> returns;
};

// The function, and what was split off from it: by name, or by where it jumps to.
std::vector<PidProvider::Part> PidProvider::parts_of(const FunctionAt& at,
                                                     const FunctionSites& sites,
                                                     const ReadModule& read)
{
    ElfImage& image = *at.module->image;
    const FunctionTable& table = image.functions();
    std::vector<Part> parts;
    parts.push_back({at.function, at.addr, sites.returns});
    auto add = [&](const Function* part) {
        bool known = std::any_of(parts.begin(), parts.end(),
                                 [&](const Part& p) { return p.function == part; });
        auto text = known ? Result<std::span<const std::byte>>(Error{})
                          : image.bytes(part->addr, part->n_bytes);
        if (known || !text)
            return;
        TargetAddr start = at.module->target_addr(part->addr);
        if (auto found = analyze_function(x86_64, *text, start, read))
            parts.push_back({part, start, std::move(found->returns)});
    };
    for (const Function* cold :
         table.find_all(std::string(table.name(*at.function)) + ".cold"))
        add(cold);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        std::vector<std::uint64_t> targets;
        for (const ReturnSite& site : parts[i].returns)
            if (is_direct(site))
                targets.push_back(at.module->link_addr(site.target));
        for (std::uint64_t target : targets)
            if (const Function* to = table.at(target);
                to != nullptr && table.names(*to).front().split_off)
                add(to);
    }
    return parts;
}

std::vector<ProbeSite> PidProvider::return_sites(const FunctionAt& at,
                                               const FunctionSites& sites,
                                               const ReadModule& read)
{
    std::vector<Part> parts = parts_of(at, sites, read);
    std::vector<ProbeSite> returns;
    for (const Part& part : parts) {
        for (const ReturnSite& site : part.returns) {
            bool stays =
                is_direct(site) &&
                std::any_of(parts.begin(), parts.end(), [&](const Part& other) {
                    return other.function->contains(at.module->link_addr(site.target));
                });
            TargetAddr place = part.start + site.offset;
            if (!stays)
                returns.push_back({place, ProbeSiteKind::Return,
                                   static_cast<std::int64_t>(place - at.addr)});
        }
    }
    return returns;
}

} // namespace dt
