// SPDX-License-Identifier: MIT
// The compiler's passes and their shared data; internal to compile/.
#pragma once

#include "libdtrace/compile/check/target_names.hpp"
#include "libdtrace/compile/compiler.hpp"
#include "libdtrace/compile/types/foreign_types.hpp"

#include <map>
#include <memory>
#include <set>

namespace dt {

// All names known to a session. Identifiers are found by scope and name. Aggregations
// have their own name space.
struct SymbolTable {
    std::map<std::pair<Scope, std::string>, std::unique_ptr<Ident>> variables;
    std::map<std::string, std::unique_ptr<Ident>> aggregations;
    std::map<std::string, std::unique_ptr<Ident>> inlines;
    // The values of inlines that are integer constants, for array sizes and the like.
    // They are stored as values, because the expressions of nested inlines grow without
    // bound.
    std::map<std::string, std::int64_t> inline_values;
    // Builtins, subroutines, actions and aggregating functions that a program has
    // named. They are created from the tables of dif/ at their first use.
    std::map<std::pair<IdentKind, std::string>, std::unique_ptr<Ident>> builtins;
    std::vector<std::unique_ptr<Decl>> translators;
    // Indexes of the translators that may be the same, by a key of their types. Entries
    // that were rolled back are kept.
    std::unordered_map<std::string, std::vector<std::size_t>> same_translators;
    // The attributes that #pragma D attributes sets for a provider's parts. Parts
    // without a pragma are absent.
    std::map<std::string, std::map<std::string, Attributes>, std::less<>> providers;
    // The probes of each provider block, as text.
    std::map<std::string, std::string> interfaces;
    std::uint32_t program = 0; // number of programs compiled, including the current one
    std::uint32_t next_variable = 0x500; // DIF_VAR_OTHER_UBASE
    std::uint32_t next_array = 0x80;     // DIF_VAR_ARRAY_UBASE
    std::uint32_t next_aggregation = 1;
    std::uint32_t next_step = 1; // lower_ifs()
    std::set<std::string> files; // names of files that places refer to; never removed
    const std::string* file(std::string_view name)
    {
        return &*files.emplace(name).first;
    }
};

struct CompileContext {
    const CompileOptions& options;
    TypeTable& types;
    SymbolTable& symbols;
    TargetNames target;
    ForeignTypes& foreign;
    std::string_view text;
};

// lexer.cpp, parser.cpp, declarations.cpp: parse text into a Unit. The parser declares
// types in context.types, handles control lines (#pragma) and macro variables, and
// stores `if` statements as StmtKind::If. Throws CompileError.
Unit parse(CompileContext& context);
// Parses a text that is only a type.
const Type* parse_type(CompileContext& context);

// pragma.cpp: finds the #pragma D option lines of a text without parsing it, because
// they affect how it is parsed.
std::vector<PragmaOption> scan_options(std::string_view text);
// Applies the options that concern the compiler itself (defaultargs, strsize, ...). An
// invalid value is left for Environment::set_option to refuse.
void apply_options(const std::vector<PragmaOption>& pragmas, CompileOptions& options);

// lower_if.cpp: replaces If statements. It splits a clause into several, with the same
// descriptions and generated predicates over this-> variables.
void lower_ifs(Unit& unit, CompileContext& context);

// check*.cpp: declares variables and inlines, resolves names, assigns a type to every
// node, folds constants, and checks actions, formats and clause rules. Throws
// CompileError.
void check(Unit& unit, CompileContext& context);

// generate.cpp: generates a Program from a typed Unit. Throws CompileError (D_NOREG,
// D_CG_*).
Program generate(Unit& unit, CompileContext& context);

} // namespace dt
