// SPDX-License-Identifier: MIT
// Compiled clauses in one target: DT_RT_CODE of its runtime, and who uses what of it.
//
// A routine is made when the first site wants it, and stays: a thread may be in it. So
// the area only fills up; what finds no room goes through the engine.
#pragma once

#include "base/target_addr.hpp"
#include "ptrace-agent/native/native.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace dt::agent {

class AddressSpace;

class NativeCode {
public:
    // What every thread of the target has, if it has.
    std::optional<native::RseqArea> rseq;

    // Where the clause's routine is, written there the first time.
    std::optional<TargetAddr> routine(AddressSpace& space, const void* arena,
                                      std::uint32_t clause, native::Arguments arguments,
                                      native::Place place);
    // A thread that faulted there has no struct rseq after all: where it goes on.
    std::optional<TargetAddr> after_fault(TargetAddr pc) const;
    void forget();

private:
    std::map<std::tuple<std::uint32_t, native::Arguments, native::Place>,
             std::optional<TargetAddr>>
        routines_;
    struct Fixup {
        TargetAddr end, to;
    };
    std::map<TargetAddr, Fixup> fixups_; // by where they begin
    std::uint64_t used_bytes_ = 0;
};

} // namespace dt::agent
