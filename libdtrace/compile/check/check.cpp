// SPDX-License-Identifier: MIT
// Checks a program: its declarations and clauses, in the order of the text.
//
// A clause's body is checked before its predicate, so that a predicate may test a
// variable that the body creates. A predicate with an assignment is checked first. The
// first use of a name determines its meaning for the rest of the session.
//
// A record belongs either to the principal buffer or to a speculation. So speculate()
// must come before all actions that record data, and a clause with commit() must not
// record data.
#include "libdtrace/compile/check/check_internal.hpp"

#include "dif/actions.h"

#include <cstring>

namespace dt {

void check(Unit& unit, CompileContext& context)
{
    Checker(unit, context).run();
}

Checker::Checker(Unit& unit, CompileContext& context)
    : unit_(unit), context_(context), options_(context.options), types_(context.types),
      symbols_(context.symbols)
{
}

void Checker::run()
{
    pragmas();
    declaration_pragmas();
    for (auto [is_declaration, i] : unit_.order) {
        if (!is_declaration)
            clause(*unit_.clauses[i]);
        else if (is_hidden(*unit_.decls[i]))
            hidden_.insert(unit_.decls[i]->name);
        else if (unit_.decls[i]->kind == DeclKind::Translator)
            translator(unit_.decls[i]);
        else
            declaration(*unit_.decls[i]);
    }
    identifier_pragmas();
}

void Checker::pragmas()
{
    for (const PragmaOption& option : unit_.options) {
        auto refused = options_.environment->set_option(option.name, option.value);
        if (refused)
            fail(Tag::PRAGMA_OPTSET, option.at,
                 "failed to set option '" + option.name + "' to '" + option.value +
                     "': " + *refused);
    }
}

void Checker::declaration(Decl& decl)
{
    if (decl.kind == DeclKind::Variable)
        variable_declaration(decl);
    if (decl.kind == DeclKind::Inline)
        inline_declaration(decl);
    if (decl.kind == DeclKind::Provider)
        provider(decl);
}

void Checker::inline_declaration(Decl& decl)
{
    if (find_variable(Scope::Global, decl.name) || is_builtin_variable(decl.name) ||
        symbols_.inlines.count(decl.name) != 0)
        fail(Tag::DECL_IDRED, decl.at, "identifier redeclared: " + decl.name);
    if (is_void(decl.type) || is_dynamic(decl.type))
        fail(Tag::DECL_VOIDOBJ, decl.at,
             "inline " + decl.name + " cannot have the type " + quoted(decl.type));

    auto ident = std::make_unique<Ident>();
    ident->kind = IdentKind::Inline;
    ident->name = decl.name;
    ident->type = decl.type;
    ident->keys = decl.keys;
    ident->inline_parameters = decl.key_names;
    ident->inline_expr = std::move(decl.expr);
    ident->declared = true;
    ident->at = decl.at;
    take_pragmas(*ident);

    if (inline_translation(*ident)) {
        symbols_.inlines[decl.name] = std::move(ident);
        return;
    }
    // Check a copy of the inline's expression, to report errors at the definition.
    NodePtr trial;
    std::vector<NodePtr> arguments;
    for (const Type* type : ident->keys) {
        auto argument = std::make_unique<Node>();
        argument->kind = NodeKind::Cast;
        argument->decl_type = type;
        argument->at = decl.at;
        argument->left = make_integer(1, types_.int_type(), decl.at);
        if (!type->is_scalar()) {
            argument->kind = NodeKind::String;
            argument->left.reset();
        }
        arguments.push_back(std::move(argument));
    }
    trial = std::make_unique<Node>();
    trial->at = decl.at;
    needs_kernel_ = false;
    expand_inline(trial, *ident, std::move(arguments));
    ident->needs_kernel = needs_kernel_;
    // Keeping the constant avoids computing it again at each use.
    if (trial->is_constant && ident->keys.empty())
        ident->inline_expr = std::move(trial);
    symbols_.inlines[decl.name] = std::move(ident);
}

void Checker::variable_declaration(Decl& decl)
{
    std::string name = scoped_name(decl.scope, decl.name);
    if (is_void(decl.type))
        fail(Tag::DECL_VOIDOBJ, decl.at, "cannot declare a void object: " + name);
    if (is_dynamic(decl.type))
        fail(Tag::DECL_DYNOBJ, decl.at,
             "cannot declare an object of dynamic type: " + name);
    if (is_incomplete(decl.type))
        fail(Tag::DECL_INCOMPLETE, decl.at,
             "variable " + name + " has the incomplete type " + quoted(decl.type));
    if (decl.scope == Scope::This && decl.assoc)
        fail(Tag::DECL_LOCASSC, decl.at,
             "clause-local associative arrays are not supported: " + name);
    if (decl.scope == Scope::Global &&
        (is_builtin_variable(decl.name) || symbols_.inlines.count(decl.name) != 0))
        fail(Tag::DECL_IDRED, decl.at, "identifier redeclared: " + name);
    for (const Type* key : decl.keys)
        if (!is_key_type(key))
            fail(Tag::KEY_TYPE, decl.at,
                 name + "[ ] cannot have a key of type " + quoted(key));

    IdentKind kind = decl.assoc            ? IdentKind::AssocArray
                     : is_array(decl.type) ? IdentKind::CArray
                                           : IdentKind::Scalar;
    if (const Ident* old = find_variable(decl.scope, decl.name)) {
        bool same = old->kind == kind && same_type(old->type, decl.type) &&
                    old->keys.size() == decl.keys.size();
        for (std::size_t i = 0; same && i < decl.keys.size(); i++)
            same = same_type(old->keys[i], decl.keys[i]);
        if (!same)
            fail(Tag::DECL_IDRED, decl.at, "identifier redeclared: " + name);
        return;
    }
    Ident* ident = make_variable(decl.scope, decl.name, kind, decl.type, decl.at);
    ident->declared = true;
    ident->keys = decl.keys;
    ident->keys_known = decl.assoc;
}

void Checker::match_probes(Clause& clause)
{
    matches_.clear();
    for (ProbeSpec& spec : clause.probes) {
        auto outcome = options_.environment->match(spec);
        if (!outcome)
            return;
        if (auto* match = std::get_if<ProbeMatch>(&*outcome)) {
            spec.matched = match->ids;
            describes(spec);
            matches_.push_back(std::move(*match));
            continue;
        }
        Diagnostic& refusal = std::get<Diagnostic>(*outcome);
        if (options_.zdefs && refusal.tag == Tag::PDESC_ZERO)
            continue;
        fail(refusal.tag, spec.at, refusal.text);
    }
}

void Checker::clause(Clause& clause)
{
    clause_ = &clause;
    rules_ = Rules{};
    names_used_ = arguments_ = stable_attributes;
    match_probes(clause);
    // A predicate with an assignment may create variables for the body.
    bool predicate_first = clause.predicate && assigns(*clause.predicate);
    if (predicate_first)
        predicate(clause.predicate);
    for (Stmt& stmt : clause.statements)
        statement(stmt);
    if (clause.statements.empty())
        clause.default_action = true;
    if (clause.predicate && !predicate_first)
        predicate(clause.predicate);
    clause.names = names_used_;
    clause_ = nullptr;
}

void Checker::predicate(NodePtr& slot)
{
    expr(slot);
    if (!slot->type->is_scalar() || is_dynamic(slot->type))
        fail(Tag::PRED_SCALAR, slot->at,
             "predicate result must be of scalar type, not " + quoted(slot->type));
    to_truth(slot, "a predicate");
}

void Checker::statement(Stmt& stmt)
{
    NodePtr& slot = stmt.expr;
    if (!slot)
        return;
    if (slot->kind == NodeKind::Assign && slot->left->kind == NodeKind::Aggregate) {
        aggregate_statement(*slot);
        clause_rules_aggregation(*slot);
        return;
    }
    if (slot->kind == NodeKind::Aggregate)
        fail(Tag::AGG_NULL, slot->at,
             "the aggregation @" + slot->text +
                 " alone is not a statement: assign an aggregating function to it");
    if (slot->kind == NodeKind::Call && find_agg_row(slot->text))
        fail(Tag::AGG_NULL, slot->at,
             call_name(*slot) + " must be assigned to an aggregation");
    if (slot->kind == NodeKind::Call && find_action_row(slot->text)) {
        action(slot);
        clause_rules(*slot);
        return;
    }
    expr(slot);
}

void Checker::clause_rules(const Node& call)
{
    const std::string name = call_name(call);
    bool data = std::strchr(call.ident->flags, 'D') != nullptr;
    bool destructive = std::strchr(call.ident->flags, 'W') != nullptr;
    if (destructive)
        clause_->destructive = true;
    // system() and freopen() record data, and run in the consumer.
    if (destructive && !data)
        clause_->changes_target = true;

    switch (call.ident->id) {
    case DTRACEACT_COMMIT:
        if (rules_.commit)
            fail(Tag::COMM_COMM, call.at, "commit( ) may not follow commit( )");
        if (rules_.data)
            fail(Tag::COMM_DREC, call.at,
                 "commit( ) may not follow a data-recording action");
        rules_.commit = true;
        return;
    case DTRACEACT_SPECULATE:
        if (rules_.speculate)
            fail(Tag::SPEC_SPEC, call.at, "speculate( ) may not follow speculate( )");
        if (rules_.commit)
            fail(Tag::SPEC_COMM, call.at, "speculate( ) may not follow commit( )");
        if (rules_.data)
            fail(Tag::SPEC_DREC, call.at,
                 "speculate( ) may not follow a data-recording action");
        rules_.speculate = true;
        return;
    case DTRACEACT_DISCARD:
        return;
    case DTRACEACT_EXIT:
        if (rules_.speculate)
            fail(Tag::EXIT_SPEC, call.at, "exit( ) may not follow speculate( )");
        break;
    default:
        break;
    }
    if (destructive && rules_.speculate)
        fail(Tag::ACT_SPEC, call.at, name + " may not follow speculate( )");
    if (data && rules_.commit)
        fail(Tag::DREC_COMM, call.at,
             name + " records data and may not follow commit( )");
    rules_.data = rules_.data || data;
}

void Checker::clause_rules_aggregation(const Node& node)
{
    if (rules_.commit)
        fail(Tag::AGG_COMM, node.at, "an aggregating action may not follow commit( )");
    if (rules_.speculate)
        fail(Tag::AGG_SPEC, node.at,
             "an aggregating action may not follow speculate( )");
    rules_.data = true;
}

} // namespace dt
