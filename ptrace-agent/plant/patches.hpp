// SPDX-License-Identifier: MIT
// The jumps in the text of one address space, and the trampolines behind them.
//
//   window start ──▶ Planted ──▶ Patch (original bytes, jump, moved copy)
//
// A prepared patch has its trampoline in the target, and no jump leads there yet. That takes
// most of the time, and needs nobody to stand still. A planted one stands in the text. One that was taken out is retired: its trampoline
// stays as it is until it is known that no thread is in there. An address in a
// trampoline is therefore explained for as long as somebody can have it as a pc.
//
// Text is written only while it holds what was written or read before, a page's patches
// at once; what differs is left alone and named.
#pragma once

#include "fasttrap/patch.hpp"

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace dt::agent {

class AddressSpace;

struct Planted {
    Patch patch;
    // The runtime's number of a site, and its tracepoint's address: where the patch has
    // the probe, or the endbr64 before it.
    struct Probed {
        std::uint32_t site = 0;
        TargetAddr at;
    };
    std::vector<Probed> probed; // ascending by address
    std::size_t n_room = 0;     // bytes that were taken for the trampoline
    bool written = false;
};

// Its bytes are in the text, and nobody else's.
bool stands(const AddressSpace& text, const Planted& planted);

// Where a pc is in a patch.
struct Found {
    Planted* planted = nullptr;
    PatchPlace place;
};

class Patches {
public:
    TrampolineSpace& space() { return space_; }
    std::vector<std::pair<TargetAddr, std::uint64_t>> areas; // mapped for trampolines
    bool in_areas(TargetAddr at) const { return space_.area_of(at).has_value(); }

    // Trampolines and stubs; all: ascending by window. Those that cannot be written come
    // back, and are retired, as are those that were prepared before and never written.
    std::vector<Planted*> prepare(AddressSpace& text,
                                  std::vector<std::unique_ptr<Planted>> all);
    // The jumps to what is prepared. Those whose text is not as expected come back,
    // unwritten. Before, threads that stand in one of the windows are moved into its copy.
    using MoveThreads = std::function<void(std::span<Planted* const> by_window)>;
    std::vector<Planted*> write(AddressSpace& text, const MoveThreads& move_threads);
    // The original bytes again, where our jumps still stand; the windows are retired.
    void take_out(AddressSpace& text, const std::vector<TargetAddr>& windows);
    // Into a copy of the memory.
    void restore_in(pid_t child) const;
    // Windows in whose place something else is.
    std::vector<TargetAddr> gone(const AddressSpace& text, TargetAddr from,
                                 TargetAddr end) const;
    bool any_in(TargetAddr from, TargetAddr end) const; // windows that begin there
    // The mappings went away.
    void drop(const std::vector<TargetAddr>& windows);
    // Nobody's pc is in a trampoline or in the runtime, but for those whose site is at
    // `but`: room and the numbers of sites that may be used again.
    std::vector<std::uint32_t> reclaim(TargetAddr but);
    void forget_all();

    Planted* at(TargetAddr window) const;           // that begins there
    Planted* covering(TargetAddr address) const;    // whose window holds the address
    Planted* first_from(TargetAddr address) const;  // ends behind it; covers it or not
    std::optional<Found> find(TargetAddr pc) const; // in a window or a trampoline
    bool empty() const { return standing_.empty(); }
    std::vector<TargetAddr> windows() const;

    // Our jumps in bytes read from `from` on become the original text.
    void overlay_original(TargetAddr from, std::span<std::byte> bytes) const;

private:
    struct Standing {
        TargetAddr at; // patch->patch.at
        std::unique_ptr<Planted> planted;
    };
    struct Trampoline {
        TargetAddr at; // of the code or the stub
        Planted* planted;
    };
    using AllStanding = std::vector<Standing>;
    AllStanding::const_iterator behind(TargetAddr address) const; // the first that is
    Planted* covering(AllStanding::const_iterator behind, TargetAddr address) const;
    void retire(const std::vector<Planted*>& some,
                std::vector<std::unique_ptr<Planted>>& of);

    AllStanding standing_;                           // ascending
    std::vector<std::unique_ptr<Planted>> prepared_; // ascending
    std::vector<std::unique_ptr<Planted>> retired_;
    std::vector<Trampoline> trampolines_; // of all of these, ascending
    TrampolineSpace space_;
};

} // namespace dt::agent
