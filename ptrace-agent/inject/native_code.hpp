// SPDX-License-Identifier: MIT
// The compiled clauses (routines) of one target, in the area DT_RT_CODE of its runtime.
//
// A routine is compiled when the first site needs it. It remains in the target as long
// as the runtime, because a thread may be executing it. If no space is left, the engine
// executes the clause.
//
// Probes share the routine of a clause. Static probes share it only if the arguments
// that the clause reads are in the same places.
#pragma once

#include "base/target_addr.hpp"
#include "ptrace-agent/native/native.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace dt::agent {

class AddressSpace;
class RuntimeMap;

class NativeCode {
public:
    // The position of struct rseq. Not set if it differs between threads of the target.
    std::optional<native::RseqArea> rseq;

    // Identifies a routine: a session's clause, compiled for probes of one kind. `list`
    // identifies the operands of a static probe; otherwise it is 0.
    struct Use {
        unsigned session = 0;
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
    // Returns nothing if no fault is expected at pc. Expected causes are a thread
    // without a struct rseq, and an argument that cannot be read.
    std::optional<TargetAddr> after_fault(TargetAddr pc) const;
    // Returns whether the routine at this address works while no agent traces the
    // thread (ClausePlan::runs_alone()). Returns false if no routine begins there.
    bool runs_alone(TargetAddr code) const { return alone_.contains(code); }
    void forget();
    // Frees the routines of a session. No thread may be in one of them.
    void forget_session(unsigned session);
    // Returns the session that the routine at this address belongs to, or nothing.
    std::optional<unsigned> session_at(const RuntimeMap& runtime, TargetAddr pc) const;

private:
    std::optional<TargetAddr> compile(AddressSpace& space, unsigned session,
                                      const native::ClausePlan& plan);
    std::optional<std::uint64_t> take_room(std::uint64_t bytes);

    std::map<Use, std::optional<TargetAddr>> routines_;
    // The same routines, keyed by the operands that they read. Use::list is 0 in these
    // keys.
    std::map<std::pair<Use, std::string>, std::optional<TargetAddr>> by_operands_;
    struct Fixup {
        TargetAddr end, to;
    };
    std::map<TargetAddr, Fixup> fixups_; // key: first address that may fault
    std::set<TargetAddr> alone_;
    struct Room {
        std::uint64_t at, bytes; // from the start of the area
    };
    std::multimap<unsigned, Room> used_; // key: session
    std::vector<Room> free_;
    std::uint64_t used_bytes_ = 0; // the area after this has never been used
};

// Compiles the clauses of a site that has one probe, in program order. The engine
// executes the first clause that cannot be compiled, and all clauses after it. Does
// nothing if arena is null.
void compile_site(const dt_arena* arena, AddressSpace& space, std::uint32_t site,
                  const std::vector<dt_rt_firing>& firings);

} // namespace dt::agent
