// SPDX-License-Identifier: MIT
// What a record's EPID stands for: the arena's ECB joined with the program's clause.
//
//   EPID ──arena ecbs──> clause number ──add()──> CompiledClause
//        └─────────────> probe names
//
// The arena's clause says where bytes lie, the program says what they mean; both have
// the same actions in the same order. Rows are made when their EPID is first met, and
// kept, because probes can appear while tracing. Records in a shard that targets map
// are accepted only for clauses that are enabled at a probe which fires in targets.
// Only the arena's program part is read here, which targets cannot write.
#pragma once

#include "libdtrace/consume/aggregates.hpp"
#include "libdtrace/consume/constants.hpp"
#include "libdtrace/consume/format_plan.hpp"
#include "libdtrace/consume/record.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace dt {

// An aggregating action of a clause.
struct Aggregating {
    AggDesc desc;
    AggDesc* declared = nullptr; // its entry in Aggregates; null: not yet declared
};

struct EcbState {
    EcbInfo info;
    bool own = false;       // fires in the consumer and the agent, never in a target
    Flow flow = Flow::None; // by the probe's name alone
    std::string_view prefix;
    // Values of actions that change the consumer or its output. A record without them is
    // forged.
    std::vector<RecordedConstant> constants;
    // Of the first record of each printf, system and freopen; else null.
    std::vector<std::unique_ptr<FormatPlan>> plans;
    // By index of the aggregating action in the clause.
    std::map<std::uint32_t, Aggregating> aggregations;
};

class EcbTable {
public:
    explicit EcbTable(const dt_arena* arena) : arena_(arena) {}
    void add(std::shared_ptr<const Program> program, std::uint32_t first_clause);

    // Updates the probe's provider name from the arena, also in descriptions that were
    // handed out before.
    void rename(std::uint32_t id);
    // Null: no such EPID, or no program told of its clause.
    EcbState* find(std::uint32_t epid)
    {
        if (epid < states_.size() && states_[epid])
            return states_[epid].get();
        return make(epid);
    }
    // Also returns null if no host that uses this shard runs the EPID's clause.
    EcbState* find_in(std::uint32_t shard, std::uint32_t epid)
    {
        EcbState* state = find(epid);
        const bool from_target =
            shard < arena_->n_shared && arena_->n_shared < arena_->n_shards;
        return state && state->own && from_target ? nullptr : state;
    }

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
    std::vector<std::unique_ptr<EcbState>> states_;  // by EPID
    std::vector<std::unique_ptr<ProbeName>> probes_; // by id
};

} // namespace dt
