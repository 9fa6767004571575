// SPDX-License-Identifier: MIT
// Runs a sequence of instructions twice from the same state: once unchanged, and once
// with patched windows in which probes fire.
//
//   arrange    Prepares a state in which one instruction, the key, can run.
//   patch      Chooses random sites and branch targets, and patches as the agent does.
//   runtime    ft_window_stub replaces dt_rt_enter. It counts the firing and jumps to
//              the tail.
//   compare    Compares the results, and how many times each site fired. Ignores the
//              words below the red zone, which heads and ft_window_stub write.
//
// run_and_leave() also moves the thread from a trampoline back to the original text.
#pragma once

#include "window_sequence.hpp"

#include <array>
#include <map>

namespace dt::test {

class WindowRuns {
public:
    enum Ended : std::uint8_t {
        skipped, // the runs cannot be compared, for example if rsp is not in a stack
        refused, // all sites were refused
        same,
        faulted, // both runs faulted in the same way
        differs, // report() gives the reason
    };

    explicit WindowRuns(Differential& differential);
    ~WindowRuns();
    WindowRuns(const WindowRuns&) = delete;
    WindowRuns& operator=(const WindowRuns&) = delete;

    // Runs a sequence, in the form that arrange_sequence() expects.
    Ended run(const std::vector<std::vector<std::byte>>& sequence, std::size_t key);
    // Also moves the thread from a trampoline back to the original text.
    Ended run_and_leave(const std::vector<std::vector<std::byte>>& sequence,
                        std::size_t key);
    bool dense_targets = false; // turns most instructions into branch targets
    const std::string& report() const { return report_; }

    // Counts for runs that ended with `same` or `faulted`. n_moved counts moved
    // instructions by control flow, and n_forms counts windows by form.
    std::map<ControlFlow, std::uint64_t> n_moved;
    std::map<PatchForm, std::uint64_t> n_forms;
    std::uint64_t n_prefixed = 0;    // windows whose jump has a prefix
    std::uint64_t n_from_behind = 0; // windows in runs that began inside the sequence
    std::uint64_t n_left[8] = {};    // indexed by PatchPlace::Kind

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
