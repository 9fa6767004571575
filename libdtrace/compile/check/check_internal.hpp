// SPDX-License-Identifier: MIT
// The class Checker. Its functions take a reference to the NodePtr that owns a node,
// because they may replace the node.
//
//   check.cpp          pragmas, declarations, clauses, probe descriptions, clause rules
//   check_names.cpp    what each name refers to; inlines
//   check_kernel.cpp   names of the kernel
//   check_structures.cpp members of curpsinfo, curlwpsinfo, fds[n]
//   check_arguments.cpp args[]
//   check_expr.cpp     operators: types, folding
//   check_float.cpp    floating-point arithmetic
//   check_convert.cpp  casts, stringof and ?:
//   check_assign.cpp   assignments: a variable's type, permitted values
//   check_memory.cpp   indexes, members, * and &, sizeof and offsetof
//   check_xlate.cpp    translators
//   check_stability.cpp attributes and versions of names
//   check_calls.cpp    prototypes, subroutines
//   check_actions.cpp  actions, each with its own rules
//   check_aggs.cpp     aggregating statements
//   printf_check.cpp   formats against arguments
#pragma once

#include "libdtrace/compile/builtins.hpp"
#include "libdtrace/compile/check/check.hpp"
#include "libdtrace/compile/check/conversions.hpp"
#include "libdtrace/compile/check/prototypes.hpp"

#include <functional>
#include <limits>
#include <map>
#include <set>

namespace dt {

struct Argument;

// The reason for refusing a builtin that needs the kernel module.
inline constexpr const char* needs_module =
    "it needs the dtrace kernel module, which is not available; dtrace -lP fbt shows "
    "why";

class Checker {
public:
    Checker(Unit& unit, CompileContext& context);
    void run();

private:
    Unit& unit_;
    CompileContext& context_;
    const CompileOptions& options_;
    TypeTable& types_;
    SymbolTable& symbols_;

    // The state of the clause that is being checked.
    Clause* clause_ = nullptr;
    // True if the declaration that is being checked needs the kernel module.
    bool needs_kernel_ = false;
    std::vector<ProbeMatch> matches_;
    struct Rules {
        bool commit = false, speculate = false, data = false;
    } rules_;
    // The current depth of nested inlines, translators and nodes.
    int depth_ = 0;
    // The number of nodes that inlines and translators have added to the program.
    std::size_t n_expanded_ = 0;
    std::map<std::string_view, Prototype> prototypes_;
    // The weakest attributes of the names that the clause has used so far, and the
    // weakest attributes of the args[] of the clause's probes.
    Attributes names_used_ = stable_attributes, arguments_ = stable_attributes;
    // The number of enclosing expressions that have stability attributes of their own:
    // an args[n], or the body of an inline or translator with a pragma. Inside such an
    // expression, the attributes of names are ignored.
    int n_vouched_ = 0;
    // Names that belong to a later version of D than the selected one (-x version).
    std::set<std::string> hidden_;

    // Defined in check.cpp:
    void pragmas();
    void declaration(Decl& decl);
    void variable_declaration(Decl& decl);
    void inline_declaration(Decl& decl);
    void clause(Clause& clause);
    void match_probes(Clause& clause);
    void statement(Stmt& stmt);
    void clause_rules(const Node& call);
    void clause_rules_aggregation(const Node& node);
    void predicate(NodePtr& slot);

    // Defined in check_expr.cpp:
    void expr(NodePtr& slot);
    void dispatch(NodePtr& slot);
    void unary(NodePtr& slot);
    void binary(NodePtr& slot);
    void shift_or_bits(Node& node);
    void add_or_sub(Node& node);
    void comparison(Node& node);
    void logical(Node& node);
    void pre_or_post(Node& node);
    void require_value(const Node& node);
    void require_integer(const Node& node, std::string_view operation);
    void require_scalar(const Node& node, std::string_view operation);
    void condition(NodePtr& slot, std::string_view operation);
    void fold(NodePtr& slot);
    void wrap(NodePtr& slot);
    void to_operand_type(NodePtr& slot, const Type* type);

    // Defined in check_float.cpp:
    static bool any_float(const Node& left, const Node& right);
    void to_double(NodePtr& slot, std::string_view operation);
    void to_truth(NodePtr& slot, std::string_view operation);
    void float_binary(NodePtr& slot, std::string_view operation);
    void float_negation(NodePtr& slot);
    void float_cast(NodePtr& slot, const Type* type);

    // Defined in check_convert.cpp:
    void conditional(NodePtr& slot);
    void cast(NodePtr& slot);
    void cast_to(NodePtr& slot, const Type* type);
    void stringof(Node& node);

    // Defined in check_assign.cpp:
    void assign(NodePtr& slot);
    void assign_target(NodePtr& slot, bool plain);
    void fix_type(Ident& ident, const Node& value);
    void check_alloca(const Node& target, const Node& value);
    void mark_modified(const Node& target);

    // Defined in check_memory.cpp:
    void index(NodePtr& slot);
    void index_assoc(Node& node, bool fix_keys);
    void check_string_bound(const Node& index, std::uint64_t literal_bytes);
    void index_builtin(NodePtr& slot);
    void check_keys(Ident& ident, std::vector<NodePtr>& keys, Place at, bool fix,
                    const std::string& name, std::string_view what);
    void member(NodePtr& slot);
    void address_of(Node& node);
    void deref(Node& node);
    void size_of(NodePtr& slot);
    void offset_of(NodePtr& slot);

    // Defined in check_names.cpp:
    void identifier(NodePtr& slot, bool indexed = false);
    Ident* find_variable(Scope scope, const std::string& name);
    Ident* make_variable(Scope scope, const std::string& name, IdentKind kind,
                         const Type* type, Place at);
    // Returns the variable on the left side of an assignment. Creates the variable if
    // it does not exist.
    Ident* target_variable(Node& name, IdentKind kind);
    Ident* builtin(const VariableRow& row, Place at);
    void expand_inline(NodePtr& slot, Ident& ident, std::vector<NodePtr> arguments);
    void check_expansion(const Node& body, Place at);
    void symbol(NodePtr& slot, bool address_only);
    // Reports that the variable does not exist. If the name is indexed, as in x[0], the
    // tag is VAR_UNDEF instead of IDENT_UNDEF.
    [[noreturn]] void undefined_variable(const Node& name, bool indexed);
    std::string suggestion(std::string_view name,
                           const std::vector<std::string_view>& more) const;

    // Defined in check_kernel.cpp:
    void kernel_symbol(NodePtr& slot, bool address_only,
                       const TargetNames::Variable& variable);
    std::optional<std::int64_t> kernel_enumerator(std::string_view name);
    const Type* kernel_type_of(std::string_view name);
    void uses_kernel();
    bool has_sampled_stack() const;

    // Defined in check_structures.cpp:
    bool is_builtin_variable(std::string_view name) const;
    bool is_own_name(const Node& node);
    [[noreturn]] void no_address(const Node& name);
    bool is_string_of_current(const Node& node);
    bool psinfo_member(NodePtr& slot);
    void translate_current(Node& member);
    bool fds_member(NodePtr& slot);

    // Defined in check_arguments.cpp:
    Argument find_argument(std::uint64_t n, Place at);
    void argument(NodePtr& slot, std::uint64_t n, Place at);
    NodePtr derived_value(std::uint64_t n, Place at);
    bool derived_argument(NodePtr& slot);

    std::optional<Argument> translated_argument(const Node& node);
    NodePtr translation_of(const Argument& argument, Place at);

    // Defined in check_provider.cpp:
    void provider(Decl& decl);

    // Defined in check_xlate.cpp:
    void translator(std::unique_ptr<Decl>& decl);
    const Ident* translating_inline(const Node& node);
    bool find_xlate(NodePtr& slot);
    const Decl& find_translator(const Node& xlate);
    NodePtr translated(const Decl& translator, const TranslatorMember& member,
                       const Node& xlate);
    void translation(NodePtr& slot, const Decl& translator, Place at);
    bool xlate_member(NodePtr& slot);
    void xlate(NodePtr& slot);
    bool inline_translation(Ident& ident);

    // Defined in check_stability.cpp:

    // Returns whether the selected version of D (-x version) has this name.
    bool is_there(std::string_view name) const;
    const VariableRow* find_variable_row(std::string_view name) const;
    const SubroutineRow* find_subroutine_row(std::string_view name) const;
    const ActionRow* find_action_row(std::string_view name) const;
    const AggRow* find_agg_row(std::string_view name) const;
    std::string version_hint(std::string_view name) const;
    bool weakens(const Attributes& attributes);
    void uses(const Ident& ident, Place at);
    void uses(const Attributes& attributes, const std::string& what, Place at);
    void describes(const ProbeSpec& spec);
    void take_pragmas(Ident& ident);
    bool is_hidden(const Decl& decl) const;
    void declaration_pragmas();
    void provider_pragma(const PragmaAttributes& pragma);
    void translator_pragma(const char* pragma, Place at,
                           const std::function<void(Decl&)>& apply);
    void identifier_pragmas();
    void identifier_pragma(const char* pragma, const std::string& name, Place at);

    // Defined in check_calls.cpp:
    void call(NodePtr& slot);
    void kernel_device_number(NodePtr& slot, NodePtr device);
    Ident* resolve_function(Node& node);
    void check_arguments(Node& node);
    const Prototype& prototype_of(const Ident& function);
    static constexpr std::size_t any_number = std::numeric_limits<std::size_t>::max();
    void check_count(const Node& node, const std::string& name, std::size_t least,
                     std::size_t most);
    [[noreturn]] void bad_argument(const Node& node, std::size_t n,
                                   std::string_view prototype);
    void check_alloca_size(const Node& node);

    // Defined in check_actions.cpp:
    void action(NodePtr& slot);
    void action_trace(NodePtr& slot);
    void action_tracemem(Node& node);
    void action_printf(Node& node);
    void action_printa(Node& node);
    void action_freopen(Node& node);
    void action_on_aggregation(Node& node);
    void action_stack(Node& node);
    void action_plain(Node& node);
    Ident* named_aggregation(Node& call, Node& argument, Tag not_one, Tag undefined);

    // Defined in check_aggs.cpp:
    void aggregate_statement(Node& node);
    void aggregate_keys(Node& node, Ident& ident, bool fix);
    void agg_function(Node& node, Ident& aggregation);
    std::uint64_t float_aggregation(Node& call, const Ident& aggregation,
                                    bool is_distribution);
    std::uint64_t lquantize(Node& call, const Ident& aggregation);
    std::uint64_t llquantize(Node& call, const Ident& aggregation);

    // Defined in printf_check.cpp:
    void check_printf(Node& call);
    void check_printa(Node& call);
};

NodePtr clone(const Node& node);
// Sets the place of all nodes of an expanded body, which may come from a different
// source file.
void move_to(Node& body, Place at);
std::size_t count_nodes(const Node& node);
// Returns whether the tree contains an assignment, ++ or --, outside of the definition of
// a derived probe.
bool assigns(const Node& node);
// Replaces each identifier that has one of these names with a copy of the name's
// replacement. Does not replace identifiers with self-> or this->.
void substitute(NodePtr& slot, const std::vector<std::string>& names,
                const std::vector<const Node*>& replacements);
NodePtr make_double(double value, const Type* type, Place at);
NodePtr make_integer(std::uint64_t value, const Type* type, Place at);
// Returns a new Cast node, which has not been checked.
NodePtr make_cast(const Type* type, NodePtr value, Place at);

// Returns "NAME( )", the form used in messages.
std::string call_name(const Node& call);

} // namespace dt
