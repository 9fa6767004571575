// SPDX-License-Identifier: MIT
// The compiler's passes and what they share; internal to compile/.
#pragma once

#include "libdtrace/compile/check/target_names.hpp"
#include "libdtrace/compile/compiler.hpp"
#include "libdtrace/compile/types/foreign_types.hpp"

#include <map>
#include <memory>
#include <set>

namespace dt {

// All names known to a session. Identifiers are found by scope and name; Aggregations
// have their own name space.
struct SymbolTable {
    std::map<std::pair<Scope, std::string>, std::unique_ptr<Ident>> variables;
    std::map<std::string, std::unique_ptr<Ident>> aggregations;
    std::map<std::string, std::unique_ptr<Ident>> inlines;
    // Those of them that are integer constants, for array sizes and the like: kept as
    // values, because inlines of inlines grow without bound.
    std::map<std::string, std::int64_t> inline_values;
    // Builtins, subroutines, actions, aggregating functions that a program named: made
    // from the tables of dif/ when first used.
    std::map<std::pair<IdentKind, std::string>, std::unique_ptr<Ident>> builtins;
    std::vector<std::unique_ptr<Decl>> translators;
    // Where among them those may be that are the same; also what was rolled back.
    std::unordered_map<std::string, std::vector<std::size_t>> same_translators;
    // What #pragma D attributes says of a provider's parts; what it does not is not set.
    std::map<std::string, std::map<std::string, Attributes>, std::less<>> providers;
    // The probes of each provider block, as text.
    std::map<std::string, std::string> interfaces;
    std::uint32_t program = 0; // how many were compiled, with the one under way
    std::uint32_t next_variable = 0x500; // DIF_VAR_OTHER_UBASE
    std::uint32_t next_array = 0x80;     // DIF_VAR_ARRAY_UBASE
    std::uint32_t next_aggregation = 1;
    std::uint32_t next_step = 1; // lower_ifs()
    std::set<std::string> files; // that places are in, for good
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

// lexer.cpp, parser.cpp, declarations.cpp: text to Unit; declares types in context.types,
// handles control lines (#pragma) and macro variables; `if` statements are kept as
// StmtKind::If. Throws CompileError.
Unit parse(CompileContext& context);
// The same of a text that is a type and nothing else.
const Type* parse_type(CompileContext& context);

// pragma.cpp: the #pragma D option lines of a text, found without parsing it, because
// they decide how it is parsed.
std::vector<PragmaOption> scan_options(std::string_view text);
// Makes those that concern the compiler itself (defaultargs, strsize, ...) so. A value
// that the option cannot have is left to CompileOptions::set_option to refuse.
void apply_options(const std::vector<PragmaOption>& pragmas, CompileOptions& options);

// lower_if.cpp: replaces If statements: a clause is cut into several with the same
// descriptions and synthesised predicates over this-> variables.
void lower_ifs(Unit& unit, CompileContext& context);

// check*.cpp: declares variables and inlines, resolves names, types every node, folds
// constants, checks actions, formats and clause rules. Throws CompileError.
void check(Unit& unit, CompileContext& context);

// generate.cpp: typed Unit to Program. Throws CompileError (D_NOREG, D_CG_*).
Program generate(Unit& unit, CompileContext& context);

} // namespace dt
