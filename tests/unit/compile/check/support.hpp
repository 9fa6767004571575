// SPDX-License-Identifier: MIT
// Parses and checks a D program, and keeps the result.
#pragma once

#include "libdtrace/compile/passes.hpp"
#include "tests/unit/compile/given_environment.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace dt {

struct Checked {
    GivenEnvironment environment;
    CompileOptions options;
    TypeTable types;
    TargetTypes target_types{types};
    ForeignTypes foreign_types{types};
    SymbolTable symbols;
    Unit unit;
    std::optional<Diagnostic> error;

    Checked() { options.string_program = true; }

    // Parses and checks a program. If run() is called again, the second program can use
    // names from the first one.
    Checked& run(std::string_view text)
    {
        error.reset();
        options.environment = &environment;
        CompileContext context{options,       types,
                               symbols,       TargetNames(options, target_types),
                               foreign_types, text};
        try {
            unit = parse(context);
            lower_ifs(unit, context);
            check(unit, context);
        } catch (const CompileError& thrown) {
            error = thrown.diagnostic;
        }
        return *this;
    }

    const Node& statement(std::size_t i = 0) const
    {
        return *unit.clauses.back()->statements.at(i).expr;
    }

    // Returns the argument of the first statement, which must be trace(...).
    const Node& traced() const { return *statement().args.at(0); }

    std::string tag() const { return error ? tag_name(error->tag) : "no error"; }
    std::string text() const { return error ? error->text : ""; }
};

// Checks some declarations and a clause that contains only trace(EXPRESSION).
struct Traced : Checked {
    explicit Traced(const std::string& expression, const std::string& before = "")
    {
        run(before + "BEGIN { trace(" + expression + "); }");
    }
    std::string type() const { return error ? tag() : type_text(traced().type); }
};

} // namespace dt
