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

// Text with our breakpoints taken out, a page at a time: sites come in ascending order.
class TextWindow {
public:
    explicit TextWindow(const AddressSpace& space) : space_(space) {}

    // Up to 15 bytes from at on; fewer where the mapping ends.
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
        n_ = page; // the last page of its mapping
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

struct PlacedSites {
    explicit PlacedSites(AddressSpace& target) : space(target), window(target) {}

    AddressSpace& space;
    std::vector<SeenText> seen; // by the client; empty: nothing is compared
    StaticTable statics;        // of the client's; a listing has none
    std::vector<Mapping> mappings;
    TextWindow window;
    std::vector<std::uint32_t> gone; // sites where something else is mapped
    bool unreadable = false;         // what is mapped there was not to be had
    std::vector<std::pair<std::uint32_t, std::string>> refused; // by site
    std::vector<std::string> notes;                             // for the user
    std::vector<Tracepoint*> fresh;
    std::vector<TargetAddr> grown; // jumps with one more probe
    // Ascending, with their index in the request.
    std::vector<std::pair<TargetAddr, std::uint32_t>> sites;

    // Those that a tracepoint serves and that were not planted before.
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

// The sites into tracepoints or refused, by address.
void place_all(PlacedSites& work, std::span<const Site> sites,
               PeriodicTask periodic = {});

// A breakpoint that outlives the agent kills its target. Where the runtime is, a site that
// cannot have a jump gets one only when the user asks for it; a site of which the client
// knew no surroundings was never to have a jump.
// Returns whether the entry probe also fires when a loop jumps back to the first
// instruction.
bool is_fired_by_loops(const Tracepoint& tp);
SitePlan without_jump(const Tracepoint& tp, const JumpReport& jumps,
                      Mechanism mechanism);

} // namespace dt::agent
