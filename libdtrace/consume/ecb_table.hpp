// SPDX-License-Identifier: MIT
// Finds the clause and the probe of a record's EPID.
//
//   EPID ──arena ecbs──> clause number ──add()──> CompiledClause
//        └─────────────> probe names
//
// The arena's clause gives the offsets of the data in a record, and the program's
// clause gives their meaning. An EcbState is created when its EPID first occurs. This
// code reads only the program part of the arena, which targets cannot write.
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

struct Aggregating {
    AggDesc desc;
    // the result of Aggregates::declare(), or null
    AggDesc* declared = nullptr;
};

struct EcbState {
    EcbInfo info;
    bool own = false;         // the ECB's probe never fires in a target
    std::uint32_t clause = 0; // index in the arena
    Flow flow = Flow::None;   // Entry or Return if the probe's name ends with that word
    std::string_view prefix;
    // The constant arguments of actions that change the consumer or its output. A
    // record with other values is forged.
    std::vector<RecordedConstant> constants;
    // Indexed like EcbInfo::records. Null except for the first value of a printf,
    // system or freopen.
    std::vector<std::unique_ptr<FormatPlan>> plans;
    // Indexed like the clause's actions.
    std::map<std::uint32_t, Aggregating> aggregations;
};

class EcbTable {
public:
    explicit EcbTable(const dt_arena* arena) : arena_(arena) {}
    void add(std::shared_ptr<const Program> program, std::uint32_t first_clause);

    // Called when a probe is reused for another process. Rereads the name of the
    // probe's provider, also for existing ECBs. Undoes the calls to bind() for this
    // probe.
    void rename(std::uint32_t id);
    // Returns null if the EPID is unknown, or if its clause was not added.
    EcbState* find(std::uint32_t epid)
    {
        if (epid < states_.size() && states_[epid])
            return states_[epid].get();
        return make(epid);
    }
    // Records that a probe may fire in an arena. Called after clauses have been enabled
    // at the probe. A probe for which bind() was never called may fire in every arena.
    // If `arena` is nullopt, the probe may fire only in the arenas of earlier calls.
    void bind(std::uint32_t probe, std::optional<std::uint32_t> arena);
    // Like find(), but also returns null if the EPID's probe cannot fire in this arena
    // and shard.
    EcbState* find_in(std::uint32_t arena, std::uint32_t shard, std::uint32_t epid);
    // Like find_in(), but for counters, which all ECBs of a clause share. Returns null
    // if none of these ECBs can fire in the arena.
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
    // The arenas of each probe, indexed by probe id. Nullopt if bind() was not called.
    std::vector<std::optional<std::vector<std::uint32_t>>> arenas_of_probe_;
    std::map<std::uint32_t, std::set<std::uint32_t>> arenas_of_clause_;
};

} // namespace dt
