// SPDX-License-Identifier: MIT
// The passes of the compiler, and the data that they share. Only compile/ includes this
// file.
#pragma once

#include "libdtrace/compile/check/target_names.hpp"
#include "libdtrace/compile/compiler.hpp"
#include "libdtrace/compile/types/foreign_types.hpp"

#include <map>
#include <memory>
#include <set>

namespace dt {

// All names that a session knows. Identifiers are looked up by scope and name.
struct SymbolTable {
    std::map<std::pair<Scope, std::string>, std::unique_ptr<Ident>> variables;
    std::map<std::string, std::unique_ptr<Ident>> aggregations;
    std::map<std::string, std::unique_ptr<Ident>> inlines;
    // The values of inlines that are integer constants, for constant expressions such
    // as array sizes. Values are stored, because the expressions of nested inlines can
    // become very large.
    std::map<std::string, std::int64_t> inline_values;
    // The builtins, subroutines, actions and aggregating functions that a program has
    // used.
    std::map<std::pair<IdentKind, std::string>, std::unique_ptr<Ident>> builtins;
    std::vector<std::unique_ptr<Decl>> translators;
    // Indexes into `translators`, by a key made from the two types. Different types may
    // have the same key. Indexes of programs that failed to compile are not removed, so
    // an index may be out of range.
    std::unordered_map<std::string, std::vector<std::size_t>> same_translators;
    // The attributes from #pragma D attributes, by provider and part.
    std::map<std::string, std::map<std::string, Attributes>, std::less<>> providers;
    // The probes of each provider block, as text.
    std::map<std::string, std::string> interfaces;
    // how many programs have been compiled, including the current one
    std::uint32_t program = 0;
    std::uint32_t next_variable = 0x500; // begins at DIF_VAR_OTHER_UBASE
    std::uint32_t next_array = 0x80;     // begins at DIF_VAR_ARRAY_UBASE
    std::uint32_t next_aggregation = 1;
    std::uint32_t next_step = 1;    // the next value of this->%step, for lower_ifs()
    std::uint32_t next_derived = 1; // the next number of a clause, for derive_probes()
    // Names of files. They are never removed, because Place::file points to them.
    std::set<std::string> files;
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

// Parses text into a Unit. Declares types in context.types, and handles control lines
// and macro variables. `if` statements become StmtKind::If. Throws a CompileError.
Unit parse(CompileContext& context);
// Parses text that contains only a type.
const Type* parse_type(CompileContext& context);

// Finds the #pragma D option lines without parsing the text, because these options
// affect the parser.
std::vector<PragmaOption> scan_options(std::string_view text);
// Applies the options that affect the compiler. Ignores invalid values, which
// Environment::set_option() refuses.
void apply_options(const std::vector<PragmaOption>& pragmas, CompileOptions& options);

// Rewrites clauses of derived probes (derive_probes.cpp). Throws a CompileError if a
// provider's definition is wrong.
void derive_probes(Unit& unit, CompileContext& context);

// Replaces If statements (lower_if.cpp). Splits a clause at each If into several
// clauses with the same probe descriptions.
void lower_ifs(Unit& unit, CompileContext& context);

// Declares variables and inlines, resolves names, assigns a type to every node, folds
// constants, and checks the program's rules (check*.cpp). Throws a CompileError.
void check(Unit& unit, CompileContext& context);

// Generates a Program from a checked Unit (generate.cpp). Throws a CompileError
// (D_NOREG, D_CG_*).
Program generate(Unit& unit, CompileContext& context);

} // namespace dt
