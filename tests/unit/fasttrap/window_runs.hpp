// SPDX-License-Identifier: MIT
// A sequence of instructions run twice from one state: as it stands, and with windows
// planned, built and written over it, probes firing in them.
//
//   arrange    one instruction, the key, gets the state that it needs (arrange.cpp); the
//              others come before and behind it
//   patch      random sites and branch targets; plan_windows, TrampolineSpace, build_patch as they are used
//   runtime    a stub in the place of dt_rt_enter: counts, notes rsp, jumps to the tail
//   compare    all that Differential compares, but for the words below the red zone that
//              heads and stub write; and how often each site fired
//
// A second kind of run puts an int3 at some place of a trampoline, lets place_of() take
// the thread out there, and continues in the original text.
#pragma once

#include "window_sequence.hpp"

#include <array>
#include <map>

namespace dt::test {

class WindowRuns {
public:
    enum Ended : std::uint8_t {
        skipped, // no state for it, or its stack is none
        refused, // every site
        same,
        faulted, // in the same way
        differs, // see report()
    };

    explicit WindowRuns(Differential& differential);
    ~WindowRuns();
    WindowRuns(const WindowRuns&) = delete;
    WindowRuns& operator=(const WindowRuns&) = delete;

    // Sequences as arrange_sequence() takes them.
    Ended run(const std::vector<std::vector<std::byte>>& sequence, std::size_t key);
    // The same, and out of the trampoline in the middle.
    Ended run_and_leave(const std::vector<std::vector<std::byte>>& sequence,
                        std::size_t key);
    bool dense_targets = false; // most instructions are branch targets
    const std::string& report() const { return report_; }

    std::map<ControlFlow, std::uint64_t> n_moved; // of windows that were run
    std::map<PatchForm, std::uint64_t> n_forms;
    std::uint64_t n_prefixed = 0;    // windows whose jump has a prefix
    std::uint64_t n_from_behind = 0; // windows of runs that began behind a jump
    std::uint64_t n_left[8] = {};    // by PatchPlace::Kind

private:
    using Sequence = WindowSequence;
    void write_original(const Sequence& s);
    Outcome run_original(Sequence& s, TargetAddr entry);
    std::vector<TargetAddr> branch_targets(const Sequence& s);
    void map_for_stub(const Window& window);
    TargetAddr entry_of(const Sequence& s);
    bool patch(Sequence& s);
    void give_back(Sequence& s);
    Ended run_patched(Sequence& s, NativeState& ours);
    Ended compare(Sequence& s, const Outcome& native, NativeState& ours);
    std::vector<std::size_t> below_red_zones() const;
    bool reads(const Sequence& s, TargetAddr entry, const Outcome& native,
               const std::vector<std::size_t>& indices);
    bool leave(Sequence& s, NativeState& ours, TargetAddr pc);
    Ended fail(const Sequence& s, const std::string& what);
    std::byte* at(TargetAddr where) const;

    Differential& differential_;
    std::byte* area_ = nullptr;
    TrampolineSpace space_;
    std::size_t n_stub_areas_ = 0;
    std::string report_;
};

} // namespace dt::test
