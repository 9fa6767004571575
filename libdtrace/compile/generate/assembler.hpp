// SPDX-License-Identifier: MIT
// The assembler: one DIF object's instructions, labels and tables while it is made.
//
//   emit() / branch() / label() ... ──> finish() ──> Difo
//
// Operands are given in the order in which the disassembler prints them, and the
// operand column of DIF_OPS says where they go, so that the two cannot disagree.
// A label is a point between instructions; it costs no instruction. Branches go forward
// only: a label is made, branched to, and then placed, once.
//
// Tables: an integer or string that is requested twice has one entry. Strings of the
// code come first (offset 0 is the empty string), names of variables after them,
// because instructions address strings with 16 bits and names have 32.
#pragma once

#include "dif/ops.h"
#include "libdtrace/compile/program.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace dt {

// How an opcode uses its 24 operand bits.
dif_operands operands_of(dif_op op);

class Assembler {
public:
    using Reg = int;
    enum class Label : std::size_t {};

    // at: of the expression, for refusals.
    explicit Assembler(Place at) : at_(at) {}

    // Any instruction without table or label, e.g. emit(DIF_OP_ADD, r1, r2, rd),
    // emit(DIF_OP_LDX, address, rd), emit(DIF_OP_STX, value, address),
    // emit(DIF_OP_TST, r1), emit(DIF_OP_PUSHTR, type, size, value).
    void emit(dif_op op, Reg a = 0, Reg b = 0, Reg c = 0);
    // Instructions with a 16-bit number: ldgs, stgs, ldgaa, call and their like.
    void emit_numbered(dif_op op, std::uint32_t number, Reg reg);

    // rd = value; %r0 is where zero comes from.
    void set_integer(std::uint64_t value, Reg rd);
    void set_string(std::string_view text, Reg rd);

    Label new_label();
    void branch(dif_op op, Label to);
    void place(Label label);

    // Notes that the object reads or writes (DIFV_F_*) a variable.
    void note_variable(const dif_varinfo& variable, std::string_view name,
                       unsigned flags);

    // Resolves the branches and builds the tables. Text is at most 64 Ki instructions.
    Difo finish(dif_type rtype);

private:
    struct NotedVariable {
        dif_varinfo info;
        std::string name;
    };
    struct Branch {
        std::size_t at; // index of the instruction
        Label to;
    };

    std::uint32_t intern(std::string_view text);

    Place at_;
    std::vector<std::uint32_t> text_;
    std::vector<std::uint64_t> ints_;
    std::unordered_map<std::uint64_t, std::uint32_t> int_index_;
    std::string strs_ = std::string(1, '\0');
    std::unordered_map<std::string, std::uint32_t> str_offset_;
    std::vector<NotedVariable> vars_;
    std::unordered_map<std::uint64_t, std::size_t> var_index_;
    std::vector<std::size_t> labels_; // the instruction each stands before
    std::vector<Branch> branches_;
};

} // namespace dt
