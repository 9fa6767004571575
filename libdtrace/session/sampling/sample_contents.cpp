// SPDX-License-Identifier: MIT
#include "libdtrace/session/sampling/sample_contents.hpp"

#include "dif/actions.h"
#include "dif/ops.h"
#include "dif/options.h"
#include "dif/subrs.h"
#include "dif/vars.h"

#include <algorithm>

namespace dt {

// Enough for hundreds of frames. The kernel copies at most the used part of the stack.
static constexpr std::uint32_t copied_stack_bytes = 32 << 10;

static void add_variables(const Difo* difo, PerfOptions& options)
{
    if (difo == nullptr)
        return;
    for (const std::uint32_t instruction : difo->text) {
        if (DIF_INSTR_OP(instruction) != DIF_OP_LDGS)
            continue;
        switch (DIF_INSTR_IDX(instruction)) {
        case DIF_VAR_ucaller:
        case DIF_VAR_ustackdepth:
            options.stack_bytes = copied_stack_bytes;
            break;
        case DIF_VAR_caller:
        case DIF_VAR_stackdepth:
            options.kernel_stack = true;
            break;
        default:
            break;
        }
    }
}

static void add_clause(const CompiledClause& clause, PerfOptions& options)
{
    add_variables(clause.predicate.get(), options);
    for (const Action& action : clause.actions) {
        add_variables(action.difo.get(), options);
        if (action.kind == DTRACEACT_USTACK || action.kind == DTRACEACT_JSTACK)
            options.stack_bytes = copied_stack_bytes;
        else if (action.kind == DTRACEACT_STACK)
            options.kernel_stack = true;
    }
}

// Calls use() for each clause at a profile-n probe.
template <class Use> static void for_each_clause(const SessionState& state, Use use)
{
    const auto& timers = state.providers.profile.timers();
    auto is_sampled = [&timers](std::uint32_t id) {
        const auto timer = timers.find(id);
        return timer != timers.end() && timer->second.per_cpu;
    };
    for (const Enabling& each : state.enabled)
        for (std::size_t k = 0; k < each.prog->matched.size(); k++)
            if (std::ranges::any_of(each.prog->matched[k], is_sampled))
                use(each.prog->program->clauses[k]);
}

PerfOptions sample_contents(const SessionState& state)
{
    PerfOptions options;
    if (const std::uint64_t cpu = state.options.run_time(DTRACEOPT_cpu);
        cpu != DT_OPT_UNSET)
        options.cpu = static_cast<std::uint32_t>(cpu);
    for_each_clause(state, [&options](const CompiledClause& clause) {
        add_clause(clause, options);
    });
    return options;
}

static bool needs_process(const Difo* difo)
{
    if (difo == nullptr)
        return false;
    return std::ranges::any_of(difo->text, [](std::uint32_t instruction) {
        const std::uint32_t index = DIF_INSTR_IDX(instruction);
        switch (DIF_INSTR_OP(instruction)) {
        case DIF_OP_LDGS:
            return index == DIF_VAR_vtimestamp || index == DIF_VAR_errno;
        case DIF_OP_CALL:
            return index == DIF_SUBR_copyin || index == DIF_SUBR_copyinstr ||
                   index == DIF_SUBR_copyinto;
        case DIF_OP_ULDSB:
        case DIF_OP_ULDSH:
        case DIF_OP_ULDSW:
        case DIF_OP_ULDUB:
        case DIF_OP_ULDUH:
        case DIF_OP_ULDUW:
        case DIF_OP_ULDX:
            return true;
        default:
            return false;
        }
    });
}

static bool needs_process(const CompiledClause& clause)
{
    return clause.changes_target || needs_process(clause.predicate.get()) ||
           std::ranges::any_of(clause.actions, [](const Action& action) {
               return action.kind == DTRACEACT_TRACEMEM ||
                      action.kind == DTRACEACT_TRACEMEM_DYNSIZE ||
                      needs_process(action.difo.get());
           });
}

bool needs_only_samples(const SessionState& state)
{
    if (state.is_any_enabled([](const ProbeSpec& spec) {
            return !spec.name.starts_with("profile-") &&
                   !spec.name.starts_with("tick-") && spec.name != "BEGIN" &&
                   spec.name != "END" && spec.name != "ERROR";
        }))
        return false;
    bool needed = false;
    for_each_clause(state, [&needed](const CompiledClause& clause) {
        needed = needed || needs_process(clause);
    });
    return !needed;
}

} // namespace dt
