// SPDX-License-Identifier: MIT
// Turns the sites that a client sent into tracepoints, for planter.cpp and dry_run.cpp.
#pragma once

#include "ptrace-agent/plant/jump_writer.hpp"
#include "ptrace-agent/plant/periodic_task.hpp"
#include "ptrace-agent/wire/site_list.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace dt::agent {

// Reads the original text, without our breakpoints and jumps. Keeps only one page,
// because sites are handled in ascending order.
class TextWindow {
public:
    explicit TextWindow(const AddressSpace& space) : space_(space) {}

    // Returns 15 bytes from the address, or fewer at the end of a mapping. Returns an
    // empty span if the address cannot be read.
    std::span<const std::byte> at(TargetAddr at)
    {
        if (!covers(at) && !fill(at))
            return {};
        std::size_t skip = at - from_;
        return std::span(text_).subspan(skip, std::min<std::size_t>(15, n_ - skip));
    }

    void forget() { n_ = 0; }

private:
    static constexpr std::size_t page = 4096;

    bool covers(TargetAddr at) const
    {
        return at >= from_ && at - from_ < n_ && (at - from_ + 15 <= n_ || short_);
    }
    bool fill(TargetAddr at)
    {
        from_ = TargetAddr{at.value & ~std::uint64_t(page - 1)};
        short_ = false;
        n_ = page + 16;
        if (space_.read_original(from_, {text_.data(), n_}))
            return true;
        n_ = page; // the next page may not be readable
        short_ = true;
        if (space_.read_original(from_, {text_.data(), n_}))
            return true;
        n_ = 0;
        return false;
    }

    const AddressSpace& space_;
    TargetAddr from_;
    std::size_t n_ = 0;
    bool short_ = false;
    std::array<std::byte, page + 16> text_;
};

// The sites of one request, and the tracepoints that were created from them.
struct PlacedSites {
    PlacedSites(AddressSpace& target, unsigned of)
        : space(target), session(of), window(target),
          watched_before(target.watched.tracer_calls)
    {
    }

    AddressSpace& space;
    unsigned session = 0; // the session that sent the request
    // The mappings in which the client found the sites. If the list is empty,
    // place_all() does not check whether these mappings have changed.
    std::vector<SeenText> seen;
    // Sent by the client. Empty for dtrace -lv.
    StaticTable statics;
    std::vector<Mapping> mappings;
    TextWindow window;
    const bool watched_before; // whether the request found the tracer calls watched
    std::vector<std::uint32_t> gone; // indices of sites in changed mappings
    bool unreadable = false;         // the text of a site could not be read
    std::vector<std::pair<std::uint32_t, std::string>> refused; // index, reason
    std::vector<std::string> notes;                             // for the user
    std::vector<Tracepoint*> fresh;                             // new tracepoints
    // Addresses of existing jump tracepoints that now serve an additional probe, and the
    // indices of its sites.
    std::vector<std::pair<TargetAddr, std::uint32_t>> grown;
    // Addresses and indices of the sites with unwritten tracepoints, in ascending
    // order.
    std::vector<std::pair<TargetAddr, std::uint32_t>> sites;

    // Returns the indices of the sites that a new tracepoint serves.
    std::vector<std::uint32_t> sites_of(const Tracepoint& tp) const
    {
        std::vector<std::uint32_t> indices;
        auto first = std::lower_bound(sites.begin(), sites.end(),
                                      std::pair(tp.at(), std::uint32_t(0)));
        for (; first != sites.end() && first->first == tp.at(); ++first)
            indices.push_back(first->second);
        return indices;
    }
};

// Makes tracepoints from the sites, or refuses them.
void place_all(PlacedSites& work, std::span<const Site> sites,
               PeriodicTask periodic = {});

// Returns whether the entry probe also fires when a loop jumps back to the function's
// start.
bool is_fired_by_loops(const Tracepoint& tp);
// Returns whether a site without a jump gets a breakpoint or is refused. SitePlan::text
// is the reason.
//
// A breakpoint can end its target if the agent is killed. So with Mechanism::automatic,
// a site gets a breakpoint only in three cases:
// - no site can have a jump (JumpReport::note)
// - the user permits it (Tracepoint::may_be_breakpoint)
// - the client does not know the code around the site
// A site with Tracepoint::only_jump never gets a breakpoint.
SitePlan without_jump(const Tracepoint& tp, const JumpReport& jumps,
                      Mechanism mechanism);

} // namespace dt::agent
