// SPDX-License-Identifier: MIT
// Emits the code that adds to the counters of aggregations.
#pragma once

#include "ptrace-agent/native/arch/x86_64/frame.hpp"

#include <functional>
#include <memory>

namespace dt::native::x86 {

class Counters : Part {
public:
    explicit Counters(Frame& frame) : Part(frame) {}

    // The register `key` contains the offset of the key's counters from the beginning
    // of the action's counters.
    void count(const dt_action& action, std::optional<Reg64> key);
    void sum(const dt_action& action, std::optional<Reg64> key, Reg64 value);
    void quantize(const dt_action& action, std::optional<Reg64> key, Reg64 value);
    void place_sections();
    void add_fixups(Compiled& to) const; // for accesses to struct rseq that may fault

private:
    // Calls add(shared) to emit the addition to a set of counters. rcx contains the
    // address of the set, plus the offset of the key's counters. If `shared` is true,
    // several CPUs use the set, so the addition must be locked.
    template <class Add> void add_on_cpu(std::optional<Reg64> key, Add add);

    struct Section {
        Label descriptor, start, end, abort, done;
        Label foreign;          // reached if this CPU has no set of counters
        Label access, accessed; // begin and end of the first accesses to struct rseq
        std::function<void()> shared, disarm;
    };
    std::vector<std::unique_ptr<Section>> sections_;
};

} // namespace dt::native::x86
