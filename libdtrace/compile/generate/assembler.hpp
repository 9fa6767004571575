// SPDX-License-Identifier: MIT
// The assembler builds one DIF object: its instructions, labels and tables.
//
//   emit() / new_label() / branch() / place() ... ──> finish() ──> Difo
//
// Operands are passed in the order in which the disassembler prints them. A label marks
// a point between instructions. Branches go forward only. A label is created, used by
// branches, and then placed exactly once.
//
// Equal integers or strings share one entry in their table. In the string table, the
// strings of the code come before the names of variables, because an instruction has
// only 16 bits for the offset of a string. Offset 0 is the empty string.
#pragma once

#include "dif/ops.h"
#include "libdtrace/compile/program.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace dt {

// Returns how an opcode uses its 24 operand bits.
dif_operands operands_of(dif_op op);

class Assembler {
public:
    using Reg = int;
    enum class Label : std::size_t {};

    // `at` is the position of the expression in the source, for error messages.
    explicit Assembler(Place at) : at_(at) {}

    // Emits an instruction that does not refer to a table or label, for example
    // emit(DIF_OP_ADD, r1, r2, rd) or emit(DIF_OP_LDX, address, rd).
    void emit(dif_op op, Reg a = 0, Reg b = 0, Reg c = 0);
    // Emits an instruction with a 16-bit number, such as ldgs, stgs, ldgaa or call.
    void emit_numbered(dif_op op, std::uint32_t number, Reg reg);

    // Sets rd to a value. The value 0 is copied from %r0.
    void set_integer(std::uint64_t value, Reg rd);
    void set_string(std::string_view text, Reg rd);

    Label new_label();
    void branch(dif_op op, Label to);
    void place(Label label);

    // Records that the object uses a variable. `flags` (DIFV_F_*) says whether the
    // variable is read or written.
    void note_variable(const dif_varinfo& variable, std::string_view name,
                       unsigned flags);

    // Resolves the branches and builds the tables. An object has at most 64 Ki
    // instructions.
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
    // index of the instruction that follows each label
    std::vector<std::size_t> labels_;
    std::vector<Branch> branches_;
};

} // namespace dt
