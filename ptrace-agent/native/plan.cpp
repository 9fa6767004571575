// SPDX-License-Identifier: MIT
// Decides which clauses can be compiled, and which data their code needs. Nothing here
// depends on the processor.
#include "ptrace-agent/native/native.hpp"

#include "dif/actions.h"
#include "dif/counters.h"
#include "dif/ops.h"
#include "dif/slots.h"
#include "dif/vars.h"

#include <algorithm>
#include <bit>

namespace dt::native {

namespace {

constexpr std::uint32_t max_insns = 64;

Error refuse(std::string_view why)
{
    return Error{Code::unsupported, std::string(why)};
}

class Planner {
public:
    Planner(const void* base, ClausePlan& plan)
        : base_(base), arena_(static_cast<const dt_arena*>(base)), plan_(plan)
    {
    }

    Result<Ok> value(dt_off at, const dt_short& brief, ClausePlan::Needs& needs,
                     Value& out);
    Result<Ok> action(const dt_action& action);

private:
    Result<Ok> builtin(std::uint32_t id, ClausePlan::Needs& needs);
    Result<Ok> argument(std::uint32_t n, ClausePlan::Needs& needs);
    bool has_slot(std::uint32_t id) const;
    Result<Ok> self(std::uint32_t id, ClausePlan::Needs& needs);
    Result<Ok> insn(std::uint32_t insn, ClausePlan::Needs& needs);
    Result<Ok> part_of_key(const dt_action& action);
    Result<Ok> aggregation(const dt_action& action, Step& step);
    void uses(std::uint32_t reg) { registers_ |= 1u << reg; }

    const void* base_;
    const dt_arena* arena_;
    ClausePlan& plan_;
    std::uint32_t registers_ = 0; // registers that the current value uses
    bool stores_ = false;         // true if any value so far stores to a variable
    bool reads_self_ = false;     // the current value uses a thread-local variable
    std::vector<Step::Part> key_; // key of the next aggregation
    bool key_is_stale_ = false;   // the key must not be computed before the actions run
};

bool is_readable(const dt_operand& operand)
{
    auto is_register = [](std::uint8_t reg) { return reg < 16; };
    auto is_part = [&](std::uint8_t reg) {
        return reg == DT_OPERAND_NO_REG || is_register(reg);
    };
    if (operand.bytes > 8 || !std::has_single_bit(operand.bytes) ||
        ((operand.flags & DT_OPERAND_FLOAT) != 0 && operand.bytes < 4))
        return false;
    switch (operand.form) {
    case DT_OPERAND_CONST:
        return true;
    case DT_OPERAND_GENERAL:
    case DT_OPERAND_VECTOR:
        return is_register(operand.reg);
    case DT_OPERAND_MEMORY:
        return is_part(operand.reg) && is_part(operand.index) && operand.shift < 4;
    default:
        return false;
    }
}

// Returns whether the operand must be read before the actions run. This is true if the
// read may fault or needs more than one move instruction.
bool is_ahead(const dt_operand& operand)
{
    if (operand.form == DT_OPERAND_CONST)
        return false;
    bool is_short_float = (operand.flags & DT_OPERAND_FLOAT) != 0 && operand.bytes == 4;
    return operand.form == DT_OPERAND_MEMORY || is_short_float ||
           (operand.flags & DT_OPERAND_HIGH_BYTE) != 0;
}

Result<Ok> Planner::argument(std::uint32_t n, ClausePlan::Needs& needs)
{
    if (plan_.arguments != Arguments::of_static && n > 5)
        return refuse("it uses an argument after arg5");
    if (n < plan_.operands.size()) {
        if (!is_readable(plan_.operands[n]))
            return refuse("it uses an argument that needs the engine");
        if (is_ahead(plan_.operands[n]))
            needs.ahead |= 1u << n;
    }
    plan_.arguments_read |= 1u << n;
    return Ok{};
}

Result<Ok> Planner::builtin(std::uint32_t id, ClausePlan::Needs& needs)
{
    if (id == DIF_VAR_timestamp) {
        needs.time = true;
        return Ok{};
    }
    if (id >= DIF_VAR_arg0 && id < DIF_VAR_arg0 + max_operands)
        return argument(id - DIF_VAR_arg0, needs);
    if (id == DIF_VAR_pid || id == DIF_VAR_tid) {
        needs.thread = true;
        return Ok{};
    }
    return refuse("it uses a builtin that needs the engine");
}

// Returns whether the variable has a slot. Slots contain only integers (dif/slots.c).
bool Planner::has_slot(std::uint32_t id) const
{
    const auto* index = static_cast<const dt_u32*>(dt_at(base_, arena_->var_index));
    std::uint32_t n = index[DIFV_SCOPE_THREAD << 16 | id];
    if (n == 0)
        return false;
    const auto& var = static_cast<const dt_var*>(dt_at(base_, arena_->vars.at))[n - 1];
    return var.type.kind != DIF_TYPE_STRING && (var.type.flags & DIF_TF_BYREF) == 0;
}

Result<Ok> Planner::self(std::uint32_t id, ClausePlan::Needs& needs)
{
    if (id >= DT_SLOT_EASY_IDS)
        return refuse("it uses a thread-local variable with an id of " +
                      std::to_string(DT_SLOT_EASY_IDS) + " or more");
    if (!has_slot(id))
        return refuse("it uses a thread-local variable that is not an integer");
    auto at = std::lower_bound(needs.self.begin(), needs.self.end(), id);
    if (at == needs.self.end() || *at != id)
        needs.self.insert(at, id);
    return Ok{};
}

Result<Ok> Planner::insn(std::uint32_t insn, ClausePlan::Needs& needs)
{
    switch (DIF_INSTR_OP(insn)) {
    case DIF_OP_OR:
    case DIF_OP_XOR:
    case DIF_OP_AND:
    case DIF_OP_SUB:
    case DIF_OP_ADD:
    case DIF_OP_MUL:
    case DIF_OP_SLL: // only by a constant; Routine::shift() checks this
    case DIF_OP_SRL:
    case DIF_OP_SRA:
        uses(DIF_INSTR_R2(insn));
        [[fallthrough]];
    case DIF_OP_NOT:
    case DIF_OP_MOV:
        uses(DIF_INSTR_R1(insn));
        uses(DIF_INSTR_RD(insn));
        return Ok{};
    case DIF_OP_CMP:
        uses(DIF_INSTR_R2(insn));
        [[fallthrough]];
    case DIF_OP_TST:
        uses(DIF_INSTR_R1(insn));
        return Ok{};
    case DIF_OP_NOP:
    case DIF_OP_BA:
    case DIF_OP_BE:
    case DIF_OP_BNE:
    case DIF_OP_BG:
    case DIF_OP_BGU:
    case DIF_OP_BGE:
    case DIF_OP_BGEU:
    case DIF_OP_BL:
    case DIF_OP_BLU:
    case DIF_OP_BLE:
    case DIF_OP_BLEU:
        return Ok{};
    case DIF_OP_RET:
    case DIF_OP_SETX:
        uses(DIF_INSTR_RD(insn));
        return Ok{};
    case DIF_OP_LDGS:
        uses(DIF_INSTR_RD(insn));
        return builtin(DIF_INSTR_IDX(insn), needs);
    case DIF_OP_LDTS:
    case DIF_OP_STTS:
        stores_ |= DIF_INSTR_OP(insn) == DIF_OP_STTS;
        reads_self_ = true;
        uses(DIF_INSTR_RD(insn));
        return self(DIF_INSTR_IDX(insn), needs);
    default:
        return refuse("it has an instruction that needs the engine");
    }
}

Result<Ok> Planner::value(dt_off at, const dt_short& brief, ClausePlan::Needs& needs,
                          Value& out)
{
    if (at == 0)
        return Ok{};
    const auto* difo = static_cast<const dt_difo*>(dt_at(base_, at));
    const auto* text = static_cast<const dt_u32*>(dt_at(base_, difo->text));
    if (difo->n_text > max_insns)
        return refuse("it has too many instructions");
    if (difo->rtype.kind == DIF_TYPE_STRING || difo->rtype.flags != 0)
        return refuse("its value is not an integer");
    registers_ = 0;
    reads_self_ = false;
    for (std::uint32_t pc = 0; pc < difo->n_text; ++pc)
        if (auto ok = insn(text[pc], needs); !ok)
            return ok;
    registers_ &= ~1u; // r0 is zero
    plan_.n_registers = std::max(plan_.n_registers,
                                 static_cast<unsigned>(__builtin_popcount(registers_)));
    out = {difo, &brief};
    return Ok{};
}

bool is_word(const dt_action& action)
{
    return action.difo != 0 && action.rec_size <= 8 &&
           (action.rec_size & (action.rec_size - 1)) == 0;
}

Result<Ok> Planner::part_of_key(const dt_action& action)
{
    Step::Part part{&action, {}};
    if (dt_is_probe_name(&action)) {
        key_.push_back(part);
        return Ok{};
    }
    if (action.kind != DTRACEACT_DIFEXPR || !is_word(action))
        return refuse("it has a key that is not made of integers");
    bool stored = stores_;
    if (auto ok = value(action.difo, action.brief, plan_.for_steps, part.value); !ok)
        return ok;
    // The keys of all aggregations are computed before the first action runs. So a key
    // must not store to a variable, or read a variable after a store.
    key_is_stale_ |= stores_ != stored || (stored && reads_self_);
    key_.push_back(part);
    return Ok{};
}

Result<Ok> Planner::aggregation(const dt_action& action, Step& step)
{
    if (action.counters == 0 || (action.key_bytes != 0) != (action.counted_keys != 0))
        return refuse("it has an aggregation without counters");
    if (key_is_stale_)
        return refuse(
            "it has a key that stores to a variable, or may read one that the "
            "clause has stored to");
    step.key = std::move(key_);
    key_.clear();
    return Ok{};
}

Result<Ok> Planner::action(const dt_action& action)
{
    if (action.in_key != 0)
        return part_of_key(action);
    Step step{&action, {}, {}};
    switch (action.kind) {
    case DTRACEAGG_count:
    case DTRACEAGG_sum:
    case DTRACEAGG_quantize:
        if (auto ok = aggregation(action, step); !ok)
            return ok;
        break;
    case DTRACEACT_DIFEXPR:
    case DTRACEACT_PRINTF:
        if (action.rec_size != 0 && !is_word(action))
            return refuse("it records a value that is not an integer");
        break;
    default:
        return refuse("it has an action that needs the engine");
    }
    if (auto ok = value(action.difo, action.brief, plan_.for_steps, step.value); !ok)
        return ok;
    plan_.steps.push_back(std::move(step));
    return Ok{};
}

} // namespace

bool ClausePlan::runs_alone() const
{
    auto alone = [](const Needs& needs) {
        return !needs.time && !needs.thread && needs.self.empty() && needs.ahead == 0;
    };
    return record_bytes == 0 && arguments != Arguments::of_static &&
           alone(for_predicate) && alone(for_steps);
}

Result<ClausePlan> plan_clause(const void* base, std::uint32_t clause,
                               Arguments arguments, Place place,
                               std::span<const dt_operand> operands)
{
    const auto* arena = static_cast<const dt_arena*>(base);
    if (clause >= arena->clauses.n)
        return refuse("there is no such clause");
    const auto& c =
        static_cast<const dt_clause*>(dt_at(base, arena->clauses.at))[clause];
    if (arena->options[DTRACEOPT_cpu] != DT_OPT_UNSET)
        return refuse("only one CPU is traced");
    constexpr std::uint32_t known =
        DT_CLAUSE_RECORDS | DT_CLAUSE_COUNTS | DT_CLAUSE_IN_TARGETS;
    if ((c.flags & ~known) != 0)
        return refuse("it speculates, exits or is destructive");
    ClausePlan plan;
    plan.arena = base;
    plan.arguments = arguments;
    operands = operands.first(std::min<std::size_t>(operands.size(), max_operands));
    plan.operands.assign(operands.begin(), operands.end());
    plan.place = place;
    if ((c.flags & DT_CLAUSE_RECORDS) != 0) {
        if (arena->options[DTRACEOPT_bufpolicy] == DT_BUFPOLICY_RING)
            return refuse("its records go to a ring buffer");
        plan.record_bytes = c.rec_bytes;
        plan.for_steps.time = true;
    }
    Planner planner(base, plan);
    if (auto ok =
            planner.value(c.predicate, c.brief, plan.for_predicate, plan.predicate);
        !ok)
        return ok.error();
    const auto* actions = static_cast<const dt_action*>(dt_at(base, c.actions));
    for (std::uint32_t i = 0; i < c.n_actions; ++i)
        if (auto ok = planner.action(actions[i]); !ok)
            return ok.error();
    return plan;
}

} // namespace dt::native
