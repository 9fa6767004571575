// SPDX-License-Identifier: MIT
// The compiled clauses (routines) of one target, in the area DT_RT_CODE of its runtime.
//
// A routine is compiled when the first site needs it. It remains in the target for as
// long as the runtime does, because a thread may be executing it. So space in the area
// is never freed. The engine executes clauses if no space is left for their routines.
//
// Probes share the routine of a clause. Static probes share it if the arguments that
// the clause reads are in the same registers and stack slots.
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
    // The position of struct rseq, if it is the same in all threads of the target.
    std::optional<native::RseqArea> rseq;

    // Identifies a routine: a clause, compiled for probes of one kind. For static
    // probes, `list` identifies their list of operands; otherwise it is 0.
    struct Use {
        std::uint32_t clause = 0;
        native::Arguments arguments = native::Arguments::of_call;
        native::Place place;
        std::uint64_t list = 0; // dt_rt_firing::arg0
        auto operator<=>(const Use&) const = default;
    };
    // Returns the address of the routine. The first call compiles and writes it.
    // Returns nothing if the clause cannot be compiled or the area is full.
    std::optional<TargetAddr> routine(AddressSpace& space, const void* arena,
                                      const Use& use,
                                      std::span<const dt_operand> operands);
    // Returns the address at which a thread continues after a fault in compiled code.
    // Such a fault means that the thread has no struct rseq, or that an argument cannot
    // be read. Returns nothing if no fault of compiled code is expected at pc.
    std::optional<TargetAddr> after_fault(TargetAddr pc) const;
    void forget();

private:
    std::optional<TargetAddr> compile(AddressSpace& space,
                                      const native::ClausePlan& plan);

    std::map<Use, std::optional<TargetAddr>> routines_;
    // The same routines, keyed by the operands that they read. The string in the key
    // contains these operands, and Use::list is 0.
    std::map<std::pair<Use, std::string>, std::optional<TargetAddr>> by_operands_;
    struct Fixup {
        TargetAddr end, to;
    };
    std::map<TargetAddr, Fixup> fixups_; // key: first address that may fault
    std::uint64_t used_bytes_ = 0;
};

// Compiles the clauses of a site that has one probe, in program order. Stops at the
// first clause that cannot be compiled. The engine executes that clause and the clauses
// after it. Does nothing if arena is null.
void compile_site(const dt_arena* arena, AddressSpace& space, std::uint32_t site,
                  const std::vector<dt_rt_firing>& firings);

} // namespace dt::agent
