// SPDX-License-Identifier: MIT
#include "libdtrace/compile/generate/assembler.hpp"

#include "dif/vars.h"

#include <cassert>

namespace dt {

namespace {

constexpr std::size_t unplaced = ~std::size_t{0};
constexpr std::uint32_t max_table_index = 0xffff;
constexpr std::size_t max_instructions = 0x10000; // 256 KiB, the verifier's limit

} // namespace

dif_operands operands_of(dif_op op)
{
    switch (op) {
#define X(name, number, operands, text)                                                \
    case DIF_OP_##name:                                                                \
        return DIF_FMT_##operands;
        DIF_OPS(X)
#undef X
    }
    return DIF_FMT_NONE;
}

void Assembler::emit(dif_op op, Reg a, Reg b, Reg c)
{
    switch (operands_of(op)) {
    case DIF_FMT_R1_R2_RD:
    case DIF_FMT_VAR_R2_RD:
    case DIF_FMT_TUPLE:
        text_.push_back(DIF_INSTR(op, a, b, c));
        return;
    case DIF_FMT_R1_RD:
    case DIF_FMT_LOAD:
    case DIF_FMT_STORE:
        text_.push_back(DIF_INSTR(op, a, 0, b));
        return;
    case DIF_FMT_R1_R2:
        text_.push_back(DIF_INSTR(op, a, b, 0));
        return;
    case DIF_FMT_R1:
        text_.push_back(DIF_INSTR(op, a, 0, 0));
        return;
    case DIF_FMT_RD:
        text_.push_back(DIF_INSTR(op, 0, 0, a));
        return;
    case DIF_FMT_NONE:
        text_.push_back(DIF_INSTR(op, 0, 0, 0));
        return;
    default:
        assert(!"an instruction with a table index or a label");
    }
}

void Assembler::emit_numbered(dif_op op, std::uint32_t number, Reg reg)
{
    [[maybe_unused]] dif_operands operands = operands_of(op);
    assert(operands == DIF_FMT_VAR_RD || operands == DIF_FMT_RD_VAR ||
           operands == DIF_FMT_SUBR_RD);
    assert(number <= max_table_index);
    text_.push_back(DIF_INSTR_WITH_IDX(op, number, reg));
}

void Assembler::set_integer(std::uint64_t value, Reg rd)
{
    if (value == 0) {
        emit(DIF_OP_MOV, DIF_REG_R0, rd);
        return;
    }
    auto [entry, added] =
        int_index_.try_emplace(value, static_cast<std::uint32_t>(ints_.size()));
    if (added) {
        if (ints_.size() > max_table_index)
            fail(Tag::CG_EXPR, at_, "expression has more than 65536 integer constants");
        ints_.push_back(value);
    }
    text_.push_back(DIF_INSTR_WITH_IDX(DIF_OP_SETX, entry->second, rd));
}

void Assembler::set_string(std::string_view text, Reg rd)
{
    std::uint32_t offset = intern(text);
    if (offset > max_table_index)
        fail(Tag::CG_EXPR, at_, "the strings in one expression exceed 64 KiB");
    text_.push_back(DIF_INSTR_WITH_IDX(DIF_OP_SETS, offset, rd));
}

std::uint32_t Assembler::intern(std::string_view text)
{
    // The table contains C strings, so text after a NUL could not be read.
    text = text.substr(0, text.find('\0'));
    if (text.empty())
        return 0;
    auto [entry, added] = str_offset_.try_emplace(
        std::string(text), static_cast<std::uint32_t>(strs_.size()));
    if (added) {
        strs_.append(text);
        strs_.push_back('\0');
    }
    return entry->second;
}

Assembler::Label Assembler::new_label()
{
    labels_.push_back(unplaced);
    return Label{labels_.size() - 1};
}

void Assembler::branch(dif_op op, Label to)
{
    assert(operands_of(op) == DIF_FMT_LABEL);
    assert(labels_[static_cast<std::size_t>(to)] == unplaced);
    branches_.push_back({text_.size(), to});
    text_.push_back(DIF_INSTR_WITH_LABEL(op, 0));
}

void Assembler::place(Label label)
{
    std::size_t& where = labels_[static_cast<std::size_t>(label)];
    assert(where == unplaced);
    where = text_.size();
}

void Assembler::note_variable(const dif_varinfo& variable, std::string_view name,
                              unsigned flags)
{
    std::uint64_t key = std::uint64_t{variable.scope} << 32 | variable.id;
    auto [entry, added] = var_index_.try_emplace(key, vars_.size());
    if (added) {
        vars_.push_back({variable, std::string(name)});
        vars_.back().info.flags = 0;
    }
    vars_[entry->second].info.flags |= static_cast<std::uint16_t>(flags);
}

Difo Assembler::finish(dif_type rtype)
{
    if (text_.size() > max_instructions)
        fail(Tag::CG_EXPR, at_, "expression needs more than 65536 instructions");
    for (const Branch& branch : branches_) {
        std::size_t target = labels_[static_cast<std::size_t>(branch.to)];
        assert(target != unplaced && target > branch.at && target < text_.size());
        text_[branch.at] |= static_cast<std::uint32_t>(target);
    }
    Difo difo;
    for (NotedVariable& variable : vars_) {
        variable.info.name = intern(variable.name);
        difo.vars.push_back(variable.info);
    }
    difo.text = std::move(text_);
    difo.ints = std::move(ints_);
    difo.strs = std::move(strs_);
    difo.rtype = rtype;
    return difo;
}

} // namespace dt
