// SPDX-License-Identifier: MIT
// Joins the arena's ECBs with the programs' clauses.
#include "libdtrace/consume/ecb_table.hpp"

#include "libdtrace/consume/agg_value.hpp"

#include <algorithm>

namespace dt {

// Returns null if the index is out of range.
template <class T>
static const T* entry(const dt_arena* arena, const dt_table& table, std::uint32_t index)
{
    std::uint32_t n = __atomic_load_n(&table.n, __ATOMIC_ACQUIRE);
    if (index >= n)
        return nullptr;
    return static_cast<const T*>(dt_at(arena, table.at)) + index;
}

void EcbTable::add(std::shared_ptr<const Program> program, std::uint32_t first_clause)
{
    for (std::size_t i = 0; i < program->clauses.size(); i++)
        clauses_[first_clause + static_cast<std::uint32_t>(i)] = {program,
                                                                  &program->clauses[i]};
}

const ProbeName* EcbTable::probe(std::uint32_t id)
{
    if (id < probes_.size() && probes_[id])
        return probes_[id].get();
    const auto* found =
        id == 0 ? nullptr : entry<dt_probe>(arena_, arena_->probes, id - 1);
    if (!found)
        return nullptr;
    auto text = [&](dt_off at) {
        return at ? std::string(static_cast<const char*>(dt_at(arena_, at)))
                  : std::string();
    };
    if (id >= probes_.size())
        probes_.resize(id + 1);
    probes_[id] = std::make_unique<ProbeName>(
        ProbeName{id, text(found->provider), text(found->mod), text(found->func),
                  text(found->name)});
    return probes_[id].get();
}

void EcbTable::rename(std::uint32_t id)
{
    // All records of the probe's previous process have been consumed.
    if (id < arenas_of_probe_.size())
        arenas_of_probe_[id].reset();
    if (id >= probes_.size() || !probes_[id])
        return;
    if (const auto* found = entry<dt_probe>(arena_, arena_->probes, id - 1))
        probes_[id]->provider =
            static_cast<const char*>(dt_at(arena_, found->provider));
}

void EcbTable::bind(std::uint32_t probe, std::optional<std::uint32_t> arena)
{
    const auto* found = entry<dt_probe>(arena_, arena_->probes, probe - 1);
    if (!found)
        return;
    if (probe >= arenas_of_probe_.size())
        arenas_of_probe_.resize(probe + 1);
    if (!arenas_of_probe_[probe])
        arenas_of_probe_[probe].emplace();
    if (!arena)
        return;
    std::vector<std::uint32_t>& arenas = *arenas_of_probe_[probe];
    if (std::find(arenas.begin(), arenas.end(), *arena) == arenas.end())
        arenas.push_back(*arena);
    for (std::uint32_t epid = found->first_ecb; epid != 0;) {
        const auto* ecb = entry<dt_ecb>(arena_, arena_->ecbs, epid - 1);
        if (!ecb)
            return;
        arenas_of_clause_[ecb->clause].insert(*arena);
        epid = ecb->next;
    }
}

EcbState* EcbTable::find_in(std::uint32_t arena, std::uint32_t shard,
                            std::uint32_t epid)
{
    EcbState* state = find(epid);
    if (!state)
        return nullptr;
    const bool from_target =
        shard < arena_->n_shared && arena_->n_shared < arena_->n_shards;
    const std::uint32_t probe = state->info.probe->id;
    if (probe < arenas_of_probe_.size() && arenas_of_probe_[probe]) {
        const std::vector<std::uint32_t>& arenas = *arenas_of_probe_[probe];
        if (std::find(arenas.begin(), arenas.end(), arena) == arenas.end())
            return nullptr;
    }
    return state->own && from_target ? nullptr : state;
}

EcbState* EcbTable::find_counted(std::uint32_t arena, std::uint32_t epid)
{
    EcbState* state = find(epid);
    if (!state)
        return nullptr;
    auto arenas = arenas_of_clause_.find(state->clause);
    return arenas == arenas_of_clause_.end() || arenas->second.contains(arena)
               ? state
               : nullptr;
}

static bool ends_as(std::string_view name, std::string_view word)
{
    if (!name.ends_with(word))
        return false;
    return name.size() == word.size() || name[name.size() - word.size() - 1] == '-';
}

static void set_flow(EcbState& state)
{
    bool syscall = state.info.probe->provider == "syscall";
    if (ends_as(state.info.probe->name, "entry")) {
        state.flow = Flow::Entry;
        state.prefix = syscall ? " => " : " -> ";
    } else if (ends_as(state.info.probe->name, "return")) {
        state.flow = Flow::Return;
        state.prefix = syscall ? " <= " : " <- ";
    } else {
        state.prefix = "| ";
    }
}

// Returns whether the action has data in the record or is carried out by the consumer.
static bool is_consumed(const dt_action& action)
{
    if (action.in_key || DTRACEACT_ISAGG(action.kind))
        return false;
    switch (action.kind) {
    case DTRACEACT_PRINTF:
    case DTRACEACT_PRINTA:
    case DTRACEACT_LIBACT:
    case DTRACEACT_SYSTEM:
    case DTRACEACT_FREOPEN:
    case DTRACEACT_EXIT:
        return true;
    default:
        return action.rec_size != 0;
    }
}

// Returns whether this kind of action makes the consumer do more than print a value.
static bool acts_on_consumer(std::uint32_t kind)
{
    return kind == DTRACEACT_LIBACT || kind == DTRACEACT_PRINTA ||
           kind == DTRACEACT_SYSTEM || kind == DTRACEACT_FREOPEN ||
           kind == DTRACEACT_EXIT;
}

static RecordDesc describe_part(const dt_action& action, const Action& compiled)
{
    RecordDesc desc;
    desc.action = action.kind;
    desc.size = action.rec_size;
    desc.offset = action.rec_offset;
    desc.arg = action.arg;
    desc.uarg = action.uarg;
    desc.compiled = &compiled;
    return desc;
}

AggDesc EcbTable::describe_aggregation(const Known& known, const dt_action* actions,
                                       std::uint32_t index, std::uint32_t epid) const
{
    AggDesc agg;
    const dt_action& action = actions[index];
    agg.id = static_cast<std::uint32_t>(action.uarg);
    agg.function = action.kind;
    agg.arg = action.arg;
    agg.epid = epid;
    agg.key_bytes = action.key_bytes;
    agg.value_bytes = action.value_bytes;
    for (const AggregationInfo& info : known.program->aggregations)
        if (info.id == agg.id)
            agg.name = info.name;
    // The actions for the parts of the key precede the aggregating action. If the
    // aggregation has an increment, the action for the increment is between them.
    std::uint32_t first = index;
    while (first > 0 && actions[first - 1].kind == action.kind &&
           !actions[first - 1].in_key)
        first--;
    std::uint32_t end = first;
    first -= std::min(first, action.ntuple);
    for (std::uint32_t i = first; i < end; i++)
        if (actions[i].in_key)
            agg.parts.push_back(describe_part(actions[i], known.clause->actions[i]));
    return agg;
}

void EcbTable::describe(EcbState& state, const dt_clause& clause,
                        const Known& known) const
{
    const auto* actions = static_cast<const dt_action*>(dt_at(arena_, clause.actions));
    EcbInfo& info = state.info;
    for (std::uint32_t i = 0; i < clause.n_actions; i++) {
        if (DTRACEACT_ISAGG(actions[i].kind))
            state.aggregations.emplace(
                i, Aggregating{describe_aggregation(known, actions, i, info.epid)});
        if (!is_consumed(actions[i]))
            continue;
        RecordDesc desc = describe_part(actions[i], known.clause->actions[i]);
        desc.n_values = std::clamp(actions[i].ntuple, 1u, clause.n_actions - i);
        if (desc.size != 0 && acts_on_consumer(desc.action) && desc.compiled->difo)
            if (auto value = constant_of(*desc.compiled->difo))
                state.constants.push_back({desc.offset, desc.size, std::move(*value)});
        info.records.push_back(desc);
    }
    state.plans.resize(info.records.size());
    for (std::size_t i = 0; i < info.records.size(); i++) {
        RecordDesc& desc = info.records[i];
        desc.n_values = std::min<std::uint32_t>(
            desc.n_values, static_cast<std::uint32_t>(info.records.size() - i));
        bool formats = desc.action == DTRACEACT_PRINTF ||
                       desc.action == DTRACEACT_SYSTEM ||
                       desc.action == DTRACEACT_FREOPEN;
        if (!formats || !desc.compiled->has_format)
            continue;
        std::span<const RecordDesc> values(&info.records[i], desc.n_values);
        if (desc.size == 0)
            values = {};
        if (desc.compiled->parsed)
            state.plans[i] =
                std::make_unique<FormatPlan>(*desc.compiled->parsed, values);
        else if (auto parsed = parse_format(desc.compiled->format))
            state.plans[i] = std::make_unique<FormatPlan>(*parsed, values);
    }
}

EcbState* EcbTable::make(std::uint32_t epid)
{
    const auto* ecb =
        epid == 0 ? nullptr : entry<dt_ecb>(arena_, arena_->ecbs, epid - 1);
    if (!ecb)
        return nullptr;
    const auto* clause = entry<dt_clause>(arena_, arena_->clauses, ecb->clause);
    auto known = clauses_.find(ecb->clause);
    const ProbeName* name = probe(ecb->probe);
    if (!clause || !name || known == clauses_.end() ||
        clause->n_actions != known->second.clause->actions.size())
        return nullptr;
    auto state = std::make_unique<EcbState>();
    state->info.epid = epid;
    const auto* fires = entry<dt_probe>(arena_, arena_->probes, ecb->probe - 1);
    state->own = (fires->flags & DT_PROBE_OWN) != 0;
    state->info.probe = name;
    state->clause = ecb->clause;
    state->info.clause = known->second.clause;
    state->info.program = known->second.program.get();
    state->info.record_bytes = clause->rec_bytes;
    set_flow(*state);
    describe(*state, *clause, known->second);
    if (epid >= states_.size())
        states_.resize(epid + 1);
    states_[epid] = std::move(state);
    return states_[epid].get();
}

} // namespace dt
