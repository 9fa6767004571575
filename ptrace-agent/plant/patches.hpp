// SPDX-License-Identifier: MIT
// The jumps in the text of one address space, and their trampolines.
//
//   window start ──▶ Planted ──▶ Patch (original bytes, jump, moved copy)
//
// A patch passes through three states:
//
//   prepared   Its trampoline is written, but no jump leads to it yet.
//   standing   Its jump is in the text.
//   retired    Its jump was removed. A thread may still be in the trampoline, which
//              therefore stays unchanged until reclaim().
//
// Text is overwritten only if it contains the expected bytes: the original ones, or our
// jump. Text with other bytes is left unchanged, and the caller is informed.
//
// Uprobes of other tracers may change bytes of a standing patch. Setting a uprobe writes
// an int3 over the first byte of an instruction, usually over the jump's opcode. When a
// thread reaches the int3, the kernel executes the original instruction and continues
// after it. If that address is inside the jump, the byte there traps
// (fasttrap/patch.hpp), and the thread continues in the copy. Removing the uprobe writes
// the original byte, which would then be followed by the rest of the jump. So
// UprobeWatch removes a changed patch.
#pragma once

#include "fasttrap/patch.hpp"

#include <functional>
#include <memory>
#include <set>
#include <span>
#include <vector>

namespace dt::agent {

class AddressSpace;

// A patch with its sites.
struct Planted {
    Patch patch;
    // A site's number in the runtime, and the address of its tracepoint. The address
    // may be that of an endbr64 before the window.
    struct Probed {
        std::uint32_t site = 0;
        TargetAddr at;
    };
    std::vector<Probed> probed; // ascending by address
    std::size_t n_room = 0;     // bytes that were allocated for the trampoline
    bool written = false;       // the jump is in the text
};

// Returns whether the text still contains the bytes of the patch, except bytes that
// uprobes have changed.
bool stands(const AddressSpace& text, const Planted& planted);
// Returns whether uprobes have made all changes to the bytes of the patch.
bool has_only_uprobes(const AddressSpace& text, const Planted& planted);

// A pc that is in a window or a trampoline.
struct Found {
    Planted* planted = nullptr;
    PatchPlace place;
};

class Patches {
public:
    TrampolineSpace& space() { return space_; }
    // Areas that are mapped for trampolines: first address, number of bytes.
    std::vector<std::pair<TargetAddr, std::uint64_t>> areas;
    // Start addresses of the parts of text for which one large area was requested. Each
    // area is requested only once, even if it cannot be mapped.
    std::set<TargetAddr> common_areas;
    bool in_areas(TargetAddr at) const { return space_.area_of(at).has_value(); }

    // Writes the trampolines and stubs of `all`, which is in ascending order of
    // windows. Retires and returns the patches for which that failed. Also retires
    // patches of the previous call if their jumps were not written.
    std::vector<Planted*> prepare(AddressSpace& text,
                                  std::vector<std::unique_ptr<Planted>> all);
    // Writes the jumps of the prepared patches. First calls move_threads, which moves
    // threads from the windows into the trampolines. Retires and returns the patches
    // whose text is not as expected or cannot be written.
    using MoveThreads = std::function<void(std::span<Planted* const> by_window)>;
    std::vector<Planted*> write(AddressSpace& text, const MoveThreads& move_threads);
    // Restores the original bytes where our jumps still are, and retires the patches.
    // Leaves the bytes that uprobes have changed as they are.
    void take_out(AddressSpace& text, const std::vector<TargetAddr>& windows);
    // Restores the original bytes in a forked child's copy of the memory.
    void restore_in(pid_t child) const;
    // Returns the windows that begin in [from, end) but no longer have a jump in the
    // text.
    std::vector<TargetAddr> gone(const AddressSpace& text, TargetAddr from,
                                 TargetAddr end) const;
    // Returns the windows in which any byte differs from the patch. Ignores pages that
    // the target has replaced, because reading them could wait for a FUSE server.
    std::vector<TargetAddr> changed(AddressSpace& text) const;
    // Returns whether a window begins in [from, end).
    bool any_in(TargetAddr from, TargetAddr end) const;
    // Retires the patches of these windows, without writing, because their text was
    // unmapped.
    void drop(const std::vector<TargetAddr>& windows);
    // Frees the trampolines of retired patches, except patches with a site at
    // `kept_site`. The caller ensures that each thread in a trampoline or in the
    // runtime has entered it at `kept_site`. Returns the numbers of the sites of the
    // freed patches.
    std::vector<std::uint32_t> reclaim(TargetAddr kept_site);
    void forget_all();

    // at(), covering() and first_from() find only standing patches.
    //
    // Returns the patch of the window that begins at this address, or null.
    Planted* at(TargetAddr window) const;
    // Returns the patch that contains the address, or null. A patch contains its window
    // and, if its jump is punned, the unchanged bytes that the jump uses.
    Planted* covering(TargetAddr address) const;
    // Returns the first patch that ends after the address, or null.
    Planted* first_from(TargetAddr address) const;
    // Returns the place of a pc in a window or a trampoline, or nothing.
    std::optional<Found> find(TargetAddr pc) const;
    bool empty() const { return standing_.empty(); }
    std::vector<TargetAddr> windows() const;

    // Replaces our jumps with the original text, in bytes that were read from address
    // `from`.
    void overlay_original(TargetAddr from, std::span<std::byte> bytes) const;

private:
    struct Standing {
        TargetAddr at; // planted->patch.at
        std::unique_ptr<Planted> planted;
    };
    struct Trampoline {
        TargetAddr at; // address of the trampoline's code, or of a stub
        Planted* planted;
    };
    using AllStanding = std::vector<Standing>;
    // Returns the first patch that begins after the address.
    AllStanding::const_iterator behind(TargetAddr address) const;
    Planted* covering(AllStanding::const_iterator after, TargetAddr address) const;
    template <class MayRead, class Test>
    std::vector<TargetAddr> windows_failing(const AddressSpace& text, TargetAddr from,
                                            TargetAddr end, MayRead may_read,
                                            Test test) const;
    void retire(const std::vector<Planted*>& selected,
                std::vector<std::unique_ptr<Planted>>& from);

    // standing_, prepared_ and trampolines_ are in ascending order of addresses.
    AllStanding standing_;
    std::vector<std::unique_ptr<Planted>> prepared_;
    std::vector<std::unique_ptr<Planted>> retired_;
    std::vector<Trampoline> trampolines_; // of all patches above
    TrampolineSpace space_;
};

} // namespace dt::agent
