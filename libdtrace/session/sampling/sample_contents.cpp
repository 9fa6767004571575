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

static void add_variables(const Difo* difo, PerfContents& contents)
{
    if (difo == nullptr)
        return;
    for (const std::uint32_t instruction : difo->text) {
        contents.registers |= DIF_INSTR_OP(instruction) == DIF_OP_LDGA &&
                              DIF_INSTR_R1(instruction) == DIF_VAR_uregs;
        if (DIF_INSTR_OP(instruction) != DIF_OP_LDGS)
            continue;
        switch (DIF_INSTR_IDX(instruction)) {
        case DIF_VAR_ucaller:
        case DIF_VAR_ustackdepth:
            contents.registers = true;
            contents.stack_bytes = copied_stack_bytes;
            break;
        case DIF_VAR_caller:
        case DIF_VAR_stackdepth:
            contents.kernel_stack = true;
            break;
        default:
            break;
        }
    }
}

static void add_clause(const CompiledClause& clause, PerfContents& contents)
{
    add_variables(clause.predicate.get(), contents);
    for (const Action& action : clause.actions) {
        add_variables(action.difo.get(), contents);
        if (action.kind == DTRACEACT_USTACK || action.kind == DTRACEACT_JSTACK) {
            contents.registers = true;
            contents.stack_bytes = copied_stack_bytes;
        } else if (action.kind == DTRACEACT_STACK) {
            contents.kernel_stack = true;
        }
    }
}

// Calls use(clause, probe) for each clause and each of its probes for which is_one()
// returns true.
template <class IsOne, class Use>
static void for_each_clause(const SessionState& state, IsOne is_one, Use use)
{
    for (const Enabling& each : state.enabled)
        for (std::size_t k = 0; k < each.prog->matched.size(); k++)
            for (const std::uint32_t probe : each.prog->matched[k])
                if (is_one(probe))
                    use(each.prog->program->clauses[k], probe);
}

static bool is_profile(const SessionState& state, std::uint32_t probe)
{
    const auto& timers = state.providers.profile.timers();
    const auto timer = timers.find(probe);
    return timer != timers.end() && timer->second.per_cpu;
}

PerfContents sample_contents(const SessionState& state,
                             const std::function<bool(std::uint32_t)>& is_sampled)
{
    PerfContents contents;
    contents.registers = false;
    for_each_clause(state, is_sampled,
                    [&contents](const CompiledClause& clause, std::uint32_t) {
                        add_clause(clause, contents);
                    });
    return contents;
}

PerfContents profile_contents(const SessionState& state)
{
    PerfContents contents = sample_contents(
        state, [&state](std::uint32_t probe) { return is_profile(state, probe); });
    contents.registers = true;
    return contents;
}

// Returns what a DIFO uses that only the process has, at the time of the event. Returns
// "" if there is nothing.
static std::string_view used_of_process(const Difo* difo)
{
    if (difo == nullptr)
        return "";
    for (const std::uint32_t instruction : difo->text) {
        const std::uint32_t index = DIF_INSTR_IDX(instruction);
        switch (DIF_INSTR_OP(instruction)) {
        case DIF_OP_LDGS:
            if (index == DIF_VAR_vtimestamp)
                return "vtimestamp";
            break;
        case DIF_OP_LDGA:
            // The process may have closed the file and opened another one.
            if (const auto array = DIF_INSTR_R1(instruction);
                array >= DIF_VAR_fi_name && array <= DIF_VAR_fi_oflags)
                return "fds[]";
            break;
        case DIF_OP_CALL:
            if (index == DIF_SUBR_copyin || index == DIF_SUBR_copyinstr ||
                index == DIF_SUBR_copyinto)
                return "copyin(), copyinstr() or copyinto()";
            break;
        case DIF_OP_ULDSB:
        case DIF_OP_ULDSH:
        case DIF_OP_ULDSW:
        case DIF_OP_ULDUB:
        case DIF_OP_ULDUH:
        case DIF_OP_ULDUW:
        case DIF_OP_ULDX:
            return "the memory of the process";
        default:
            break;
        }
    }
    return "";
}

static bool uses_errno(const CompiledClause& clause)
{
    auto in_difo = [](const Difo* difo) {
        return difo != nullptr &&
               std::ranges::any_of(difo->text, [](std::uint32_t instruction) {
                   return DIF_INSTR_OP(instruction) == DIF_OP_LDGS &&
                          DIF_INSTR_IDX(instruction) == DIF_VAR_errno;
               });
    };
    return in_difo(clause.predicate.get()) ||
           std::ranges::any_of(clause.actions, [&](const Action& action) {
               return in_difo(action.difo.get());
           });
}

static std::string_view used_of_process(const CompiledClause& clause)
{
    if (clause.changes_target)
        return "an action such as raise(), stop() or copyout()";
    if (const auto used = used_of_process(clause.predicate.get()); !used.empty())
        return used;
    for (const Action& action : clause.actions) {
        if (action.kind == DTRACEACT_TRACEMEM ||
            action.kind == DTRACEACT_TRACEMEM_DYNSIZE)
            return "tracemem()";
        if (const auto used = used_of_process(action.difo.get()); !used.empty())
            return used;
    }
    return "";
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
    for_each_clause(
        state, [&state](std::uint32_t probe) { return is_profile(state, probe); },
        [&needed](const CompiledClause& clause, std::uint32_t) {
            needed = needed || !used_of_process(clause).empty() || uses_errno(clause);
        });
    return !needed;
}

std::string changed_after_sample(const SessionState& state)
{
    std::string name;
    for_each_clause(
        state, [&state](std::uint32_t probe) { return is_profile(state, probe); },
        [&](const CompiledClause& clause, std::uint32_t probe) {
            if (clause.changes_target && name.empty() && state.samples_in_consumer())
                name = state.registry.at(probe).name;
        });
    return name;
}

// Returns whether a clause uses the registers or the stacks of the current thread.
static bool uses_thread(const CompiledClause& clause)
{
    PerfContents contents;
    contents.registers = false;
    add_clause(clause, contents);
    return contents.registers || contents.kernel_stack;
}

// Returns whether the record of a probe's event describes another thread than the one in
// which the probe fires.
static bool is_of_other_thread(const ProbeInfo& probe)
{
    return (probe.provider == "sched" && probe.name == "on-cpu") ||
           (probe.provider == "proc" &&
            (probe.name == "start" || probe.name == "lwp-start"));
}

std::string why_not_recorded(const SessionState& state)
{
    std::string refused;
    for_each_clause(
        state, [&state](std::uint32_t probe) { return state.is_recorded(probe); },
        [&](const CompiledClause& clause, std::uint32_t id) {
            const ProbeInfo& probe = state.registry.at(id);
            const std::string_view used = used_of_process(clause);
            if (!refused.empty())
                return;
            if (!used.empty())
                refused = full_name(probe) + ": " + std::string(used) +
                          " cannot be used, because the clause runs after the kernel "
                          "has recorded the event";
            else if (is_of_other_thread(probe) && uses_thread(clause))
                refused = full_name(probe) +
                          ": stacks and registers cannot be used, because the kernel "
                          "records those of another thread";
            else
                return;
            refused += prefers_targets(probe.provider)
                           ? "; name processes with -p or -c, or load the kernel module"
                           : "; load the kernel module";
        });
    return refused;
}

} // namespace dt
