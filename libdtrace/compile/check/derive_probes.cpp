// SPDX-License-Identifier: MIT
// Rewrites the clauses of derived probes. A derived probe fires at one site, but only if
// the thread has reached other sites before. Its arguments are computed in D. A provider
// defines such probes as D text with clauses, which name the provider's probes:
//
//   p:::begin            { self->object = arg0; }           prepares a variable
//   p:::acquire.timed                                       defines p:::acquire
//   /self->object != 0 && arg1 == 0/                        when it fires
//   { (void *)self->object; 1; }                            args[0], args[1]
//
// The part of a name after the dot is a group. A group contains the sites of a probe that
// have their own definition. In the rewritten description, the name of a definition
// always contains the dot: `begin.` is the definition without a group.
//
// This pass rewrites a clause of the user
//
//   p42:::acquire /self->in/ { @[arg0] = count(); }
//
// as two clauses. Clause::derived keeps the expressions of args[]. The checker later
// replaces args[0] and arg0 with these expressions, also in the user's inlines:
//
//   p42:::begin. { self->%object = arg0; }
//   p42:::acquire.timed /self->%object != 0 && arg1 == 0 && self->in/
//   { @[arg0] = count(); }
//
// Only the variables that a clause needs are prepared, in all functions, although the
// user's description may select one. Each clause of the user has its own variable
// `once`, because the definition changes it.
#include "libdtrace/compile/check/check_internal.hpp"
#include "libdtrace/symbols/glob.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace dt {

namespace {

constexpr std::string_view own_variable = "once";

using VariableNames = std::set<std::string>;

template <class Visit> void for_each_node(Node& node, const Visit& visit)
{
    visit(node);
    for (const NodePtr* child : {&node.left, &node.right, &node.cond})
        if (*child)
            for_each_node(**child, visit);
    for (const NodePtr& argument : node.args)
        for_each_node(*argument, visit);
}

void add_variables(const NodePtr& from, VariableNames& names)
{
    if (from)
        for_each_node(*from, [&names](const Node& node) {
            if (node.kind == NodeKind::Ident && node.scope == Scope::Self)
                names.insert(node.text);
        });
}

// One clause of a provider's definition.
struct Definition {
    explicit Definition(const Clause& of)
        : clause(of), full_name(of.probes.front().name),
          name(full_name.substr(0, full_name.find('.')))
    {
        if (full_name == name)
            full_name += '.';
    }
    bool prepares() const
    {
        return !clause.statements.empty() &&
               clause.statements.front().expr->kind == NodeKind::Assign;
    }

    const Clause& clause;
    std::string full_name, name;
};

std::vector<Stmt> clone_all(const std::vector<Stmt>& statements)
{
    std::vector<Stmt> copies;
    for (const Stmt& from : statements) {
        Stmt& copy = copies.emplace_back();
        copy.kind = from.kind;
        copy.at = from.at;
        if (from.expr)
            copy.expr = clone(*from.expr);
        copy.then_block = clone_all(from.then_block);
        copy.else_block = clone_all(from.else_block);
    }
    return copies;
}

NodePtr both(NodePtr first, NodePtr second)
{
    if (!first || !second)
        return first ? std::move(first) : std::move(second);
    auto node = std::make_unique<Node>();
    node->kind = NodeKind::Binary;
    node->op = Op::LogAnd;
    node->at = second->at;
    node->height = std::max(first->height, second->height) + 1;
    node->left = std::move(first);
    node->right = std::move(second);
    return node;
}

class Deriver {
public:
    Deriver(Unit& unit, CompileContext& context) : unit_(unit), context_(context) {}

    void run()
    {
        for (auto [is_declaration, i] : unit_.order) {
            if (is_declaration)
                order_.emplace_back(true, i);
            else
                rewrite(std::move(unit_.clauses[i]));
        }
        unit_.clauses = std::move(clauses_);
        unit_.order = std::move(order_);
    }

private:
    struct ParsedDefinitions {
        Unit text;
        std::vector<Definition> definitions;
    };

    // Returns the parsed definitions for a description, or null if its probes are not
    // derived.
    const ParsedDefinitions* definitions_for(const ProbeSpec& spec)
    {
        const std::string_view text =
            spec.id == 0 ? context_.options.environment->derived_probes(spec.provider)
                         : std::string_view();
        if (text.empty())
            return nullptr;
        auto [known, is_new] = providers_.try_emplace(text);
        ParsedDefinitions& provider = known->second;
        if (is_new) {
            CompileOptions plain;
            plain.empty = true;
            CompileContext context{plain,
                                   context_.types,
                                   context_.symbols,
                                   TargetNames(plain, context_.target.types()),
                                   context_.foreign,
                                   text};
            provider.text = parse(context);
            for (const auto& clause : provider.text.clauses)
                provider.definitions.emplace_back(*clause);
        }
        return &provider;
    }

    // Returns the definitions of the probes whose names match.
    static std::vector<const Definition*> matching(const ParsedDefinitions& provider,
                                                   const std::string& name)
    {
        std::vector<const Definition*> found;
        for (const Definition& each : provider.definitions)
            if (!each.prepares() && (name.empty() || glob_match(name, each.name)))
                found.push_back(&each);
        return found;
    }

    void add(std::unique_ptr<Clause> clause)
    {
        order_.emplace_back(false, clauses_.size());
        clauses_.push_back(std::move(clause));
    }

    void rewrite(std::unique_ptr<Clause> clause)
    {
        std::vector<ProbeSpec> plain;
        // The descriptions for each definition.
        std::vector<std::pair<const ParsedDefinitions*, const Definition*>> derived;
        std::vector<std::vector<ProbeSpec>> descriptions;
        for (const ProbeSpec& spec : clause->probes) {
            const ParsedDefinitions* provider = definitions_for(spec);
            if (provider != nullptr && spec.name.find('.') != std::string::npos)
                fail(Tag::PDESC_ZERO, spec.at,
                     "probe description " + spec.text + " does not match any probes");
            const auto found = provider != nullptr ? matching(*provider, spec.name)
                                                   : std::vector<const Definition*>();
            if (found.empty())
                plain.push_back(spec);
            for (const Definition* each : found) {
                const std::pair key(provider, each);
                const auto at = std::ranges::find(derived, key) - derived.begin();
                if (at == std::ssize(derived)) {
                    derived.push_back(key);
                    descriptions.emplace_back();
                }
                descriptions[at].push_back(named(spec, each->full_name));
            }
        }
        for (std::size_t i = 0; i < derived.size(); i++)
            derive(*clause, *derived[i].first, *derived[i].second, descriptions[i]);
        if (plain.empty())
            return;
        clause->probes = std::move(plain);
        add(std::move(clause));
    }

    static ProbeSpec named(ProbeSpec spec, const std::string& name)
    {
        spec.name = name;
        spec.text =
            spec.provider + ":" + spec.module + ":" + spec.function + ":" + name;
        return spec;
    }

    void derive(const Clause& clause, const ParsedDefinitions& provider,
                const Definition& definition, std::vector<ProbeSpec> descriptions)
    {
        number_ = context_.symbols.next_derived++;
        at_ = clause.at;
        prepare(provider, definition, descriptions);
        auto copy = std::make_unique<Clause>();
        copy->probes = std::move(descriptions);
        copy->at = clause.at;
        copy->default_action = clause.default_action;
        copy->statements = clone_all(clause.statements);
        copy->predicate = both(take(definition.clause.predicate),
                               clause.predicate ? clone(*clause.predicate) : nullptr);
        auto arguments = std::make_shared<std::vector<NodePtr>>();
        for (const Stmt& each : definition.clause.statements)
            arguments->push_back(take(each.expr));
        copy->derived = std::move(arguments);
        add(std::move(copy));
    }

    // Returns the variables that the definition needs, directly or through the clauses
    // that prepare them.
    static VariableNames needed_by(const ParsedDefinitions& provider,
                                   const Definition& definition)
    {
        VariableNames needed;
        add_variables(definition.clause.predicate, needed);
        for (const Stmt& each : definition.clause.statements)
            add_variables(each.expr, needed);
        std::size_t before = 0;
        do {
            before = needed.size();
            for (const Definition& each : provider.definitions) {
                if (!each.prepares())
                    continue;
                for (const Stmt& statement : each.clause.statements)
                    if (needed.contains(statement.expr->left->text)) {
                        add_variables(each.clause.predicate, needed);
                        add_variables(statement.expr->right, needed);
                    }
            }
        } while (needed.size() != before);
        return needed;
    }

    // Adds the clauses that prepare the definition's variables.
    void prepare(const ParsedDefinitions& provider, const Definition& definition,
                 const std::vector<ProbeSpec>& descriptions)
    {
        const VariableNames needed = needed_by(provider, definition);
        for (const auto& decl : provider.text.decls)
            if (needed.contains(decl->name))
                declare(*decl);
        for (const Definition& each : provider.definitions) {
            if (!each.prepares())
                continue;
            for (const Stmt& statement : each.clause.statements)
                if (needed.contains(statement.expr->left->text))
                    prepare_one(each, statement, descriptions);
        }
    }

    // A clause with one statement can be compiled to machine code.
    void prepare_one(const Definition& definition, const Stmt& statement,
                     const std::vector<ProbeSpec>& descriptions)
    {
        auto clause = std::make_unique<Clause>();
        clause->at = at_;
        clause->prepares = true;
        Stmt& copy = clause->statements.emplace_back();
        copy.at = at_;
        copy.expr = take(statement.expr);
        clause->predicate = take(definition.clause.predicate);
        for (const ProbeSpec& spec : descriptions) {
            ProbeSpec its = spec;
            its.function.clear();
            its = named(std::move(its), definition.full_name);
            if (prepared_.insert(its.text + " " + copy.expr->left->text).second)
                clause->probes.push_back(std::move(its));
        }
        if (!clause->probes.empty())
            add(std::move(clause));
    }

    void declare(const Decl& decl)
    {
        auto copy = std::make_unique<Decl>();
        copy->kind = DeclKind::Variable;
        copy->at = at_;
        copy->name = variable(decl.name);
        copy->scope = decl.scope;
        copy->type = decl.type;
        order_.emplace_back(true, unit_.decls.size());
        unit_.decls.push_back(std::move(copy));
    }

    // Returns the variable's name in the program. No variable of the user has this name,
    // because % cannot be part of a name.
    std::string variable(const std::string& name) const
    {
        return "%" + name + (name == own_variable ? std::to_string(number_) : "");
    }

    // Returns a copy of a part of a definition, for use in the current clause.
    NodePtr take(const NodePtr& part) const
    {
        if (!part)
            return nullptr;
        NodePtr copy = clone(*part);
        move_to(*copy, at_);
        for_each_node(*copy, [this](Node& node) {
            node.defines = true;
            if (node.kind == NodeKind::Ident && node.scope == Scope::Self)
                node.text = variable(node.text);
        });
        return copy;
    }

    Unit& unit_;
    CompileContext& context_;
    std::map<std::string_view, ParsedDefinitions>
        providers_; // by the text of the definition
    std::vector<std::unique_ptr<Clause>> clauses_;
    std::vector<std::pair<bool, std::size_t>> order_;
    VariableNames
        prepared_; // the descriptions of clauses, with the variables that they prepare
    // For the clause that derive() rewrites:
    std::uint32_t number_ = 0;
    Place at_;
};

} // namespace

void derive_probes(Unit& unit, CompileContext& context)
{
    Deriver(unit, context).run();
}

} // namespace dt
