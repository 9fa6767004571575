// SPDX-License-Identifier: MIT
// The syntax tree of a D program, which the parser, the checker and the code generator
// share.
//
//   parse     creates the nodes; their types are not known yet
//   check     sets the type, ident and constant of each node
//   generate  reads the checked nodes
//
// All kinds of nodes have the same class, Node. The comment after each kind names the
// fields of Node that this kind uses.
#pragma once

#include "libdtrace/compile/attributes.hpp"
#include "libdtrace/compile/diagnostic.hpp"
#include "libdtrace/compile/types/types.hpp"
#include "libdtrace/compile/version.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

enum class NodeKind {
    Integer,    // value; type (from its suffix and size); text (as written)
    String,     // text
    Float,      // float_value
    Ident,      // text (perhaps with a module: "a.out`foo"); scope; check sets ident
    Aggregate,  // @text[args...]; check sets ident
    Index,      // left[args...]: an element of an array or associative array
    Call,       // text(args): function or action; check sets ident
    Member,     // left.text
    Arrow,      // left->text (self-> and this-> are Ident with scope)
    Unary,      // op left
    PostInc,    // op (Inc, Dec) left; yields the old value
    PreInc,     // op (Inc, Dec) left
    Binary,     // left op right (arithmetic, comparison, logic, comma)
    Assign,     // left op= right; op is Op::None for a plain =
    Cond,       // cond ? left : right
    Cast,       // (decl_type) left
    SizeofType, // sizeof (decl_type)
    SizeofExpr, // sizeof left
    Offsetof,   // offsetof (decl_type, text)
    Stringof,   // stringof left
    Xlate,      // xlate <decl_type> (left)
    TypeName,   // decl_type; a type in an argument list
};

// clang-format off
#define D_OPERATORS(X) /* X(name, text in a program) */                               \
    X(None, "=")                                                                       \
    X(Add, "+") X(Sub, "-") X(Mul, "*") X(Div, "/") X(Mod, "%")                        \
    X(Shl, "<<") X(Shr, ">>") X(And, "&") X(Or, "|") X(Xor, "^")                       \
    X(Lt, "<") X(Le, "<=") X(Gt, ">") X(Ge, ">=") X(Eq, "==") X(Ne, "!=")              \
    X(LogAnd, "&&") X(LogOr, "||") X(LogXor, "^^")                                     \
    X(Comma, ",")                                                                      \
    X(Not, "!") X(BitNot, "~") X(Neg, "-") X(Plus, "+") X(Deref, "*") X(AddrOf, "&")   \
    X(Inc, "++") X(Dec, "--")
// clang-format on
enum class Op {
#define X(name, text) name,
    D_OPERATORS(X)
#undef X
};

// Returns the text of an operator, for example "+" for Add.
std::string_view op_text(Op op);
// Returns the text of an assignment operator, for example "+=" for Add and "=" for
// None.
std::string assign_text(Op op);

enum class Scope { Global, Self, This };

// Returns a variable's name as D programs write it: "self->x", "this->x" or "x".
std::string scoped_name(Scope scope, const std::string& name);

struct Ident;
struct Node;
using NodePtr = std::unique_ptr<Node>;

// A parsed format of printf or printa; see format.hpp.
struct Format;

struct Node {
    NodeKind kind = NodeKind::Integer;
    Place at;
    Op op = Op::None;
    Scope scope = Scope::Global;
    std::uint64_t value = 0;
    double float_value = 0;
    std::string text;
    NodePtr left, right, cond;
    std::vector<NodePtr> args;
    const Type* decl_type = nullptr;
    std::uint32_t height = 1; // height of this subtree; the parser limits it

    // The checker sets the following fields.
    const Type* type = nullptr;
    Ident* ident = nullptr;
    bool is_lvalue = false;
    bool is_constant = false; // the node is an Integer, perhaps after folding
    // The node is part of the definition of a derived probe (derive_probes.cpp). In it,
    // argN means the argument of the site, and not of the derived probe.
    bool defines = false;
    // the value is an address in the target, or is in the target's memory
    bool userland = false;
    bool bitfield = false;
    std::uint32_t bitfield_unit = 0, bitfield_offset = 0, bitfield_bits = 0;
    // Binary, Assign: the type in which the result is computed
    const Type* operand_type = nullptr;
    bool string_compare = false; // Binary: compares strings
    // the value is an address in the clause's scratch memory
    bool alloca_pointer = false;
    // for a Call to printf(), system(), freopen() or printa()
    std::shared_ptr<Format> format;
};

// The kind of object that a name denotes.
enum class IdentKind {
    Scalar,     // D variable
    AssocArray, // D associative array
    CArray,     // D variable of C array type
    Aggregation,
    Builtin,    // a row of dif/vars.h
    Subroutine, // a row of dif/subrs.h
    Action,     // a row of dif/actions.h
    AggFunc,    // an aggregating function: a row of dif/actions.h
    Inline,     // named expression
    Enumerator,
};

// Everything about a name except an inline's expression, which cannot be copied.
struct IdentFacts {
    IdentKind kind = IdentKind::Scalar;
    Scope scope = Scope::Global;
    std::string name;
    std::uint32_t id = 0; // DIF variable id, subroutine or action number
    // type of the value; Dynamic until the first assignment
    const Type* type = nullptr;
    std::vector<const Type*> keys; // for AssocArray and Aggregation: types of the keys
    bool keys_known = false;
    bool declared = false; // created by a declaration, not by its first use
    bool referenced = false, modified = false;
    bool alloca_pointer = false; // contains addresses from alloca()
    bool other_pointer = false;  // contains addresses, but none from alloca()
    Place at;                    // place of the first use
    Attributes attributes = stable_attributes;
    // A pragma has set the attributes. The attributes of an inline also apply to the
    // names in its expression.
    bool attributed = false;
    Version since = first_version;
    // The number of the program that created the name, counted from 1 in each session.
    // 0 if D predefines the name.
    std::uint32_t program = 0;
    // For Action, Subroutine and AggFunc:
    const char* prototype = nullptr;
    // For an Action: its flags, a subset of the letters D W K N (dif/actions.h). For a
    // Subroutine: ANY, WRITE, KERNEL or NONE (dif/subrs.h).
    const char* flags = "";
    int libact = 0;
    // For Aggregation: the aggregating function of the first use, and its parameters.
    std::uint32_t agg_func = 0;
    std::uint64_t agg_arg = 0;
    // For Inline: the expression needs the kernel module.
    bool needs_kernel = false;
    std::vector<std::string> inline_parameters;
};

struct Ident : IdentFacts {
    NodePtr inline_expr; // for Inline
};

enum class StmtKind {
    Expr, // expr
    If,   // expr, then_block, else_block; lower_ifs() removes all If statements
};

struct Stmt {
    StmtKind kind = StmtKind::Expr;
    Place at;
    NodePtr expr;
    std::vector<Stmt> then_block, else_block;
};

// A probe description, prov:mod:func:name. Macro variables have been replaced.
struct ProbeSpec {
    std::string provider, module, function, name;
    std::uint32_t id = 0; // set by -i N or a bare number
    std::string text;     // the description as the program writes it
    Place at;
    // set by check: ids of the matching probes
    std::vector<std::uint32_t> matched;
};

struct Clause {
    std::vector<ProbeSpec> probes;
    NodePtr predicate; // null: no predicate
    std::vector<Stmt> statements;
    Place at;
    bool default_action = false; // the clause has no body: it records only the EPID
    bool destructive = false;    // set by check: an action or subroutine needs -w
    bool changes_target = false; // set by check: for example raise() or copyout()
    bool needs_kernel = false;   // set by check: the clause needs the kernel module
    // The compiler created this clause. It prepares a variable for derived probes.
    bool prepares = false;
    // The expressions of args[], if the clause's probes are derived (derive_probes.cpp).
    std::shared_ptr<const std::vector<NodePtr>> derived;
    // Set by check: the weakest attributes of the matched descriptions, and of the
    // names that the clause uses.
    Attributes descriptions = strongest_attributes, names = stable_attributes;
};

enum class DeclKind { Variable, Inline, Translator, Provider, TypeOnly };

struct TranslatorMember {
    std::string name;
    NodePtr expr;
    Place at;
};

// One `probe name(native types) : (translated types);` of a provider block.
struct ProviderProbe {
    std::string name;
    Place at;
    std::vector<const Type*> native, translated;
    // "" for an unnamed argument
    std::vector<std::string> native_names, translated_names;
    bool has_translated = false;
    // set by check: for each translated argument, the index of its native argument
    std::vector<unsigned> mapping;
};

struct Decl {
    DeclKind kind = DeclKind::Variable;
    Place at;
    // For Variable and Inline:
    std::string name;
    Scope scope = Scope::Global;
    const Type* type = nullptr;
    bool assoc = false;
    std::vector<const Type*> keys;
    std::vector<std::string> key_names; // the names of an inline's parameters
    NodePtr expr;                       // an inline's expression
    // For Translator:
    const Type* from = nullptr;
    const Type* to = nullptr;
    std::string parameter;
    std::vector<TranslatorMember> members;
    // attributes that a pragma has set; they also apply to the members
    std::optional<Attributes> attributes;
    Version since = first_version;
    // For Provider, whose name is in `name`:
    std::vector<ProviderProbe> probes;
};

// The pragma `#pragma D option name=value`.
struct PragmaOption {
    std::string name, value;
    Place at;
};

// The pragma `#pragma D attributes n/d/c name` or `... n/d/c provider name part`. n is
// the stability of the name, d is the stability of the data, and c is the dependency
// class. If the name is "translator", the pragma applies to later translators.
struct PragmaAttributes {
    Attributes attributes;
    // "provider", "module", "function", "name" or "args". If it is empty, the pragma
    // sets the attributes of an identifier.
    std::string part;
    std::string name;
    Place at;
};

// The pragma `#pragma D binding "1.5" name`.
struct PragmaBinding {
    Version version;
    std::string name;
    Place at;
};

// A pragma such as `#pragma D depends_on library unistd.d`.
struct PragmaDependency {
    std::string kind, name; // kind: module, provider, library, member or symbol
    Place at;
};

struct Unit {
    std::vector<std::unique_ptr<Decl>> decls;
    std::vector<std::unique_ptr<Clause>> clauses;
    // The order of declarations and clauses in the text. Each entry is an index into
    // decls (if the first member is true) or into clauses.
    std::vector<std::pair<bool, std::size_t>> order;
    std::vector<PragmaOption> options;
    std::vector<PragmaAttributes> attributes;
    std::vector<PragmaBinding> bindings;
    std::vector<PragmaDependency> dependencies;
};

} // namespace dt
