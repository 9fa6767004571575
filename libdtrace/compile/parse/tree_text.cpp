// SPDX-License-Identifier: MIT
#include "libdtrace/compile/parse/tree_text.hpp"

namespace dt {

namespace {

std::string expression(const Node& node);

std::string quoted_text(std::string_view text)
{
    std::string out = "\"";
    for (char c : text) {
        switch (c) {
        case '\n':
            out += "\\n";
            break;
        case '\t':
            out += "\\t";
            break;
        case '"':
        case '\\':
            out += '\\';
            [[fallthrough]];
        default:
            out += c;
        }
    }
    return out + "\"";
}

// Returns the text of an expression in a list. Encloses a comma expression in
// parentheses.
std::string element(const Node& node)
{
    bool comma = node.kind == NodeKind::Binary && node.op == Op::Comma;
    return comma ? "(" + expression(node) + ")" : expression(node);
}

std::string list(const std::vector<NodePtr>& nodes)
{
    std::string out;
    for (const NodePtr& node : nodes)
        out += (out.empty() ? "" : ", ") + element(*node);
    return out;
}

// Returns the text of an operand, in parentheses if the operator next to it could have
// a higher precedence.
std::string operand(const Node& node)
{
    bool compound = node.kind == NodeKind::Binary || node.kind == NodeKind::Assign ||
                    node.kind == NodeKind::Cond || node.kind == NodeKind::Cast ||
                    node.kind == NodeKind::Unary;
    return compound ? "(" + expression(node) + ")" : expression(node);
}

std::string op(const Node& node)
{
    return std::string(op_text(node.op));
}

std::string expression(const Node& node)
{
    switch (node.kind) {
    case NodeKind::Integer:
        return node.text.empty() ? std::to_string(static_cast<std::int64_t>(node.value))
                                 : node.text;
    case NodeKind::Float:
        return node.text;
    case NodeKind::String:
        return quoted_text(node.text);
    case NodeKind::Ident:
        return scoped_name(node.scope, node.text);
    case NodeKind::Aggregate:
        return "@" + node.text + (node.args.empty() ? "" : "[" + list(node.args) + "]");
    case NodeKind::Index:
        return operand(*node.left) + "[" + list(node.args) + "]";
    case NodeKind::Call:
        return node.text + "(" + list(node.args) + ")";
    case NodeKind::Member:
        return operand(*node.left) + "." + node.text;
    case NodeKind::Arrow:
        return operand(*node.left) + "->" + node.text;
    case NodeKind::Unary:
    case NodeKind::PreInc:
        return op(node) + operand(*node.left);
    case NodeKind::PostInc:
        return operand(*node.left) + op(node);
    case NodeKind::Binary:
        if (node.op == Op::Comma)
            return expression(*node.left) + ", " + expression(*node.right);
        return operand(*node.left) + " " + op(node) + " " + operand(*node.right);
    case NodeKind::Assign:
        return expression(*node.left) + " " + assign_text(node.op) + " " +
               element(*node.right);
    case NodeKind::Cond:
        return operand(*node.cond) + " ? " + operand(*node.left) + " : " +
               operand(*node.right);
    case NodeKind::Cast:
        return "(" + type_text(node.decl_type) + ")" + operand(*node.left);
    case NodeKind::SizeofType:
        return "sizeof (" + type_text(node.decl_type) + ")";
    case NodeKind::SizeofExpr:
        return "sizeof (" + expression(*node.left) + ")";
    case NodeKind::Offsetof:
        return "offsetof(" + type_text(node.decl_type) + ", " + node.text + ")";
    case NodeKind::Stringof:
        return "stringof(" + expression(*node.left) + ")";
    case NodeKind::Xlate:
        return "xlate <" + type_text(node.decl_type) + "> (" + expression(*node.left) +
               ")";
    case NodeKind::TypeName:
        return type_text(node.decl_type);
    }
    return "";
}

std::string keys_text(const Decl& decl)
{
    std::string out;
    for (std::size_t i = 0; i < decl.keys.size(); i++)
        out += (out.empty() ? "" : ", ") +
               declaration_text(decl.keys[i],
                                i < decl.key_names.size() ? decl.key_names[i] : "");
    return out.empty() ? "" : "[" + out + "]";
}

std::string declaration(const Decl& decl)
{
    switch (decl.kind) {
    case DeclKind::Variable: {
        const char* scope = decl.scope == Scope::Self   ? "self "
                            : decl.scope == Scope::This ? "this "
                                                        : "";
        return scope + declaration_text(decl.type, decl.name + keys_text(decl)) +
               ";\n\n";
    }
    case DeclKind::Inline:
        return "inline " + declaration_text(decl.type, decl.name + keys_text(decl)) +
               " = " + expression(*decl.expr) + ";\n\n";
    case DeclKind::Translator: {
        std::string out = "translator " + type_text(decl.to) + " < " +
                          declaration_text(decl.from, decl.parameter) + " > {\n";
        for (const TranslatorMember& member : decl.members)
            out += "\t" + member.name + " = " + expression(*member.expr) + ";\n";
        return out + "};\n\n";
    }
    case DeclKind::Provider:
    case DeclKind::TypeOnly:
        break;
    }
    return "";
}

std::string clause_text(const Clause& clause)
{
    std::string out;
    for (const ProbeSpec& probe : clause.probes)
        out += (out.empty() ? "" : ",\n") + probe.text;
    out += "\n";
    if (clause.predicate)
        out += "/" + expression(*clause.predicate) + "/\n";
    out += "{\n";
    for (const Stmt& statement : clause.statements)
        if (statement.expr)
            out += "\t" + expression(*statement.expr) + ";\n";
    return out + "}\n\n";
}

} // namespace

std::string tree_text(const Unit& unit)
{
    std::string out;
    for (const PragmaOption& option : unit.options)
        out += "#pragma D option " + option.name +
               (option.value.empty() ? "" : "=" + option.value) + "\n";
    if (!out.empty())
        out += "\n";
    for (auto [is_declaration, i] : unit.order)
        out += is_declaration ? declaration(*unit.decls[i])
                              : clause_text(*unit.clauses[i]);
    return out;
}

} // namespace dt
