// SPDX-License-Identifier: MIT
// Compiled clauses in one target: DT_RT_CODE of its runtime, and who uses what of it.
//
// A routine is made when the first site wants it, and stays: a thread may be in it. So
// the area only fills up; what finds no room goes through the engine. Probes share it, as
// far as a static probe's arguments, those that the clause reads, are in the same places.
#pragma once

#include "base/target_addr.hpp"
#include "ptrace-agent/native/native.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dt::agent {

class AddressSpace;

class NativeCode {
public:
    // What every thread of the target has, if it has.
    std::optional<native::RseqArea> rseq;

    // A clause for probes of one kind, and of static ones their list of operands.
    struct Use {
        std::uint32_t clause = 0;
        native::Arguments arguments = native::Arguments::of_call;
        native::Place place;
        std::uint64_t list = 0; // dt_rt_firing::arg0
        auto operator<=>(const Use&) const = default;
    };
    // Where its routine is, written there the first time.
    std::optional<TargetAddr> routine(AddressSpace& space, const void* arena,
                                      const Use& use,
                                      std::span<const dt_operand> operands);
    // A thread that faulted there has no struct rseq after all: where it goes on.
    std::optional<TargetAddr> after_fault(TargetAddr pc) const;
    void forget();

private:
    std::optional<TargetAddr> compile(AddressSpace& space,
                                      const native::ClausePlan& plan);

    std::map<Use, std::optional<TargetAddr>> routines_;
    // The same without the list, and the operands that it reads.
    std::map<std::pair<Use, std::string>, std::optional<TargetAddr>> by_operands_;
    struct Fixup {
        TargetAddr end, to;
    };
    std::map<TargetAddr, Fixup> fixups_; // by where they begin
    std::uint64_t used_bytes_ = 0;
};

// Compiles the clauses of a site with one probe, one after the other, up to the first that
// is the engine's, which then does the rest. arena: null: nothing is compiled.
void compile_site(const dt_arena* arena, AddressSpace& space, std::uint32_t site,
                  const std::vector<dt_rt_firing>& firings);

} // namespace dt::agent
