// SPDX-License-Identifier: MIT
// Finds the meaning of a record's EPID. Each entry of the table joins one of the
// arena's ECBs with its clause in the program.
//
//   EPID ──arena ecbs──> clause number ──add()──> CompiledClause
//        └─────────────> probe names
//
// The arena's clause gives the offsets of the bytes in a record, and the program's
// clause gives the meaning of the bytes. Both clauses have the same actions in the same
// order. A table entry is created when its EPID first occurs, because probes can appear
// during tracing. The entry is then kept. A record from a shard that targets map is
// accepted only if the ECB's probe fires in targets. This code reads only the program
// part of the arena, which targets cannot write.
#pragma once

#include "libdtrace/consume/aggregates.hpp"
#include "libdtrace/consume/constants.hpp"
#include "libdtrace/consume/format_plan.hpp"
#include "libdtrace/consume/record.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace dt {

// An aggregating action of a clause.
struct Aggregating {
    AggDesc desc;
    // the description that Aggregates::declare() returned; null if not declared yet
    AggDesc* declared = nullptr;
};

struct EcbState {
    EcbInfo info;
    bool own = false;         // the ECB's probe never fires in a target
    std::uint32_t clause = 0; // index in the arena
    Flow flow = Flow::None;   // Entry or Return if the probe's name ends with that word
    std::string_view prefix;
    // The constant arguments of actions that change the consumer or its output. If a
    // record contains different values, a target has forged it.
    std::vector<RecordedConstant> constants;
    // Indexed like EcbInfo::records. An element is null unless it belongs to the first
    // value of a printf, system or freopen.
    std::vector<std::unique_ptr<FormatPlan>> plans;
    // Indexed by the aggregating action's index in the clause.
    std::map<std::uint32_t, Aggregating> aggregations;
};

class EcbTable {
public:
    explicit EcbTable(const dt_arena* arena) : arena_(arena) {}
    void add(std::shared_ptr<const Program> program, std::uint32_t first_clause);

    // Called when a probe is used for another process. Rereads the name of the probe's
    // provider from the arena, also for existing ECBs. Undoes the calls to bind() for
    // this probe.
    void rename(std::uint32_t id);
    // Returns null if there is no such EPID, or if its clause was not added.
    EcbState* find(std::uint32_t epid)
    {
        if (epid < states_.size() && states_[epid])
            return states_[epid].get();
        return make(epid);
    }
    // Records that a probe may fire in an arena, in addition to the arenas of earlier
    // calls. Called after clauses have been enabled at the probe. If `arena` is
    // nullopt, adds no arena. Until the first call for a probe, the probe may fire in
    // every arena.
    void bind(std::uint32_t probe, std::optional<std::uint32_t> arena);
    // Like find(), but also returns null if the record or aggregation cannot be from
    // this shard of this arena: if targets map the shard and the EPID's probe never
    // fires in a target, or if the probe fires in another arena.
    EcbState* find_in(std::uint32_t arena, std::uint32_t shard, std::uint32_t epid);
    // Like find_in(), but for counters. All ECBs of a clause share its counters, so
    // it is sufficient if the probe of one of these ECBs may fire in the arena.
    EcbState* find_counted(std::uint32_t arena, std::uint32_t epid);

private:
    struct Known {
        std::shared_ptr<const Program> program;
        const CompiledClause* clause = nullptr;
    };
    EcbState* make(std::uint32_t epid);
    const ProbeName* probe(std::uint32_t id);
    void describe(EcbState& state, const dt_clause& clause, const Known& known) const;
    AggDesc describe_aggregation(const Known& known, const dt_action* actions,
                                 std::uint32_t index, std::uint32_t epid) const;

    const dt_arena* arena_;
    std::map<std::uint32_t, Known> clauses_;
    std::vector<std::unique_ptr<EcbState>> states_;  // indexed by EPID
    std::vector<std::unique_ptr<ProbeName>> probes_; // indexed by probe id
    // The arenas that bind() has recorded for each probe, indexed by probe id. An
    // element is nullopt until bind() is called for this probe.
    std::vector<std::optional<std::vector<std::uint32_t>>> arenas_of_probe_;
    std::map<std::uint32_t, std::set<std::uint32_t>> arenas_of_clause_;
};

} // namespace dt
