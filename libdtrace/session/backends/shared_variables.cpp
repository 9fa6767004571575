// SPDX-License-Identifier: MIT
#include "libdtrace/session/backends/shared_variables.hpp"

#include "dif/actions.h"
#include "dif/ops.h"
#include "dif/subrs.h"

#include <algorithm>
#include <map>
#include <set>

namespace dt {

namespace {

// The data that clauses use. The numbers are ids of global variables.
struct Uses {
    bool speculations = false;
    std::set<std::uint32_t> written;
    std::set<std::uint32_t> arrays_read, arrays_written; // associative arrays
};

// Returns whether the clause can fire only at probes of the consumer, such as BEGIN, END and
// tick.
bool is_of_consumer(const SessionState& state, const dtrace_prog& prog, std::size_t k)
{
    auto is_own = [&state](std::uint32_t id) { return state.fires_in_consumer(id); };
    const auto& ids = prog.matched[k];
    const auto& specs = prog.program->clauses[k].probes;
    return !ids.empty() && std::all_of(ids.begin(), ids.end(), is_own) &&
           std::none_of(specs.begin(), specs.end(), [&state](const ProbeSpec& spec) {
               return spec.provider.starts_with("pid") ||
                      state.providers.may_be_static(spec);
           });
}

// Returns whether a global variable is a structure or an array. The program may write
// to it through its address.
bool is_in_memory(const dif_varinfo& variable)
{
    return (variable.type.flags & DIF_TF_BYREF) != 0 &&
           variable.type.kind != DIF_TYPE_STRING;
}

void add_uses(const Difo& difo, Uses& uses, std::map<std::uint32_t, std::string>& names)
{
    std::map<std::uint32_t, const dif_varinfo*> globals;
    for (const dif_varinfo& variable : difo.vars) {
        if (variable.scope != DIFV_SCOPE_GLOBAL)
            continue;
        globals[variable.id] = &variable;
        names[variable.id] = difo.strs.c_str() + variable.name;
    }
    for (std::uint32_t instruction : difo.text) {
        uses.speculations |= DIF_INSTR_OP(instruction) == DIF_OP_CALL &&
                             DIF_INSTR_IDX(instruction) == DIF_SUBR_speculation;
        const std::uint32_t id = DIF_INSTR_IDX(instruction);
        auto known = globals.find(id);
        if (known == globals.end())
            continue;
        switch (DIF_INSTR_OP(instruction)) {
        case DIF_OP_STGS:
            uses.written.insert(id);
            break;
        case DIF_OP_LDGS:
            if (is_in_memory(*known->second))
                uses.written.insert(id);
            break;
        case DIF_OP_LDGAA:
            uses.arrays_read.insert(id);
            if (is_in_memory(*known->second))
                uses.arrays_written.insert(id);
            break;
        case DIF_OP_STGAA:
        case DIF_OP_LDGAAM:
            uses.arrays_written.insert(id);
            break;
        default:
            break;
        }
    }
}

bool is_about_speculation(std::uint32_t action)
{
    return action == DTRACEACT_SPECULATE || action == DTRACEACT_COMMIT ||
           action == DTRACEACT_DISCARD;
}

} // namespace

std::string shared_between_targets(const SessionState& state)
{
    Uses of_consumer, of_targets;
    std::map<std::uint32_t, std::string> names;
    for (const Enabling& each : state.enabled) {
        const auto& clauses = each.prog->program->clauses;
        for (std::size_t k = 0; k < clauses.size(); k++) {
            Uses& uses =
                is_of_consumer(state, *each.prog, k) ? of_consumer : of_targets;
            if (clauses[k].predicate)
                add_uses(*clauses[k].predicate, uses, names);
            for (const Action& action : clauses[k].actions) {
                uses.speculations |= is_about_speculation(action.kind);
                if (action.difo)
                    add_uses(*action.difo, uses, names);
            }
        }
    }
    std::set<std::uint32_t> shared = of_targets.written;
    shared.insert(of_targets.arrays_written.begin(), of_targets.arrays_written.end());
    for (std::uint32_t id : of_consumer.arrays_written)
        if (of_targets.arrays_read.contains(id))
            shared.insert(id);
    if (!shared.empty())
        return "the variable " + names[*shared.begin()];
    return of_consumer.speculations && of_targets.speculations ? "speculations" : "";
}

} // namespace dt
