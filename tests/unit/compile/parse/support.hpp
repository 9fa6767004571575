// SPDX-License-Identifier: MIT
// Parses a D program without checking it, and describes the tree as text.
#pragma once

#include "libdtrace/compile/check/conversions.hpp"
#include "libdtrace/compile/passes.hpp"
#include "tests/unit/compile/given_environment.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <ostream>

namespace dt {

inline void PrintTo(Tag tag, std::ostream* out)
{
    *out << tag_name(tag);
}

struct Parsed {
    GivenEnvironment environment;
    CompileOptions options;
    TypeTable types;
    TargetTypes target_types{types};
    ForeignTypes foreign_types{types};
    SymbolTable symbols;
    Unit unit;
    std::optional<Diagnostic> error;

    Parsed() { options.macro_args = {"script.d"}; }
    explicit Parsed(std::string_view text) : Parsed() { run(text); }
    template <class Setup> Parsed(std::string_view text, Setup setup) : Parsed()
    {
        setup(*this);
        run(text);
    }

    // Parses a program. If run() is called again, the second program can use types from
    // the first one.
    Parsed& run(std::string_view text)
    {
        error.reset();
        options.environment = &environment;
        unit = {};
        apply_options(scan_options(text), options);
        CompileContext context{options,       types,
                               symbols,       TargetNames(options, target_types),
                               foreign_types, text};
        try {
            unit = parse(context);
        } catch (const CompileError& thrown) {
            error = thrown.diagnostic;
        }
        return *this;
    }

    Parsed& lowered()
    {
        CompileContext context{options,       types,
                               symbols,       TargetNames(options, target_types),
                               foreign_types, {}};
        lower_ifs(unit, context);
        return *this;
    }

    const Clause& clause(std::size_t i = 0) const { return *unit.clauses.at(i); }
    const Decl& decl(std::size_t i = 0) const { return *unit.decls.at(i); }
    const Node& expr(std::size_t i = 0) const
    {
        return *clause().statements.at(i).expr;
    }
    std::string spec(std::size_t i = 0) const
    {
        const ProbeSpec& s = clause().probes.at(i);
        return s.provider + ":" + s.module + ":" + s.function + ":" + s.name;
    }
    std::string type_of(std::string_view name) const
    {
        for (const auto& decl : unit.decls)
            if (decl->name == name)
                return type_text(decl->type);
        return "no such declaration";
    }
    std::string message() const { return error ? error->text : "no error"; }
};

// Returns a unique name for an operator.
inline std::string spelled(Op op)
{
    switch (op) {
    case Op::None:
        return "";
    case Op::Neg:
        return "neg";
    case Op::Plus:
        return "plus";
    case Op::Deref:
        return "deref";
    case Op::AddrOf:
        return "addr";
    default:
        return std::string(op_text(op));
    }
}

// Returns a tree as text with parentheses around each operation: "(a + (b * c))".
inline std::string shape(const Node& node);

inline std::string shapes(const std::vector<NodePtr>& nodes)
{
    std::string text;
    for (const NodePtr& node : nodes)
        text += (text.empty() ? "" : ", ") + shape(*node);
    return text;
}

// clang-format off
inline std::string shape(const Node& node)
{
    switch (node.kind) {
    case NodeKind::Integer: return std::to_string(node.value);
    case NodeKind::String: return "\"" + node.text + "\"";
    case NodeKind::Float: return "float " + node.text;
    case NodeKind::Ident:
        return (node.scope == Scope::Self   ? "self->"
                : node.scope == Scope::This ? "this->"
                                            : "") +
               node.text;
    case NodeKind::Aggregate:
        return "@" + node.text + (node.args.empty() ? "" : "[" + shapes(node.args) + "]");
    case NodeKind::Index: return shape(*node.left) + "[" + shapes(node.args) + "]";
    case NodeKind::Call: return node.text + "(" + shapes(node.args) + ")";
    case NodeKind::Member: return shape(*node.left) + "." + node.text;
    case NodeKind::Arrow: return shape(*node.left) + "->" + node.text;
    case NodeKind::Unary:
        return "(" + spelled(node.op) + " " + shape(*node.left) + ")";
    case NodeKind::PostInc: return "(" + shape(*node.left) + spelled(node.op) + ")";
    case NodeKind::PreInc: return "(" + (spelled(node.op) + shape(*node.left)) + ")";
    case NodeKind::Binary:
        return "(" + shape(*node.left) + " " + spelled(node.op) + " " +
               shape(*node.right) + ")";
    case NodeKind::Assign:
        return "(" + shape(*node.left) + " " + spelled(node.op) + "= " +
               shape(*node.right) + ")";
    case NodeKind::Cond:
        return "(" + shape(*node.cond) + " ? " + shape(*node.left) + " : " +
               shape(*node.right) + ")";
    case NodeKind::Cast:
        return "((" + type_text(node.decl_type) + ")" + shape(*node.left) + ")";
    case NodeKind::SizeofType: return "sizeof(" + type_text(node.decl_type) + ")";
    case NodeKind::SizeofExpr: return "sizeof " + shape(*node.left);
    case NodeKind::Offsetof:
        return "offsetof(" + type_text(node.decl_type) + ", " + node.text + ")";
    case NodeKind::Stringof: return "stringof " + shape(*node.left);
    case NodeKind::Xlate:
        return "xlate<" + type_text(node.decl_type) + ">(" + shape(*node.left) + ")";
    case NodeKind::TypeName: return type_text(node.decl_type);
    }
    return "?";
}

// clang-format on

inline std::string shape_of(std::string_view expression)
{
    Parsed parsed("BEGIN { " + std::string(expression) + "; }");
    return parsed.error ? parsed.message() : shape(parsed.expr());
}

inline Tag tag_of(std::string_view text)
{
    Parsed parsed(text);
    return parsed.error ? parsed.error->tag : Tag::UNKNOWN;
}

} // namespace dt
