// SPDX-License-Identifier: MIT
// The code generator. It translates typed trees to DIF, and clauses to lists of
// actions.
//
//   generate.cpp          units and clauses: each clause becomes a CompiledClause
//   generate_actions.cpp  statements: actions and aggregations become list entries
//   generate_expr.cpp     expressions: each value is in a register
//   generate_logic.cpp    comparisons and && || ^^ ! ?:, with forward branches
//   generate_memory.cpp   addresses, loads, stores, bit-fields, copies; structures in
//                         variables that have no memory yet
//   generate_assign.cpp   =, op=, ++ and -- on each kind of lvalue; key parts and
//                         arguments; calls, associative arrays
//   register_code         instructions on values that are in registers
//   tree_facts            facts about a subtree: needed registers, side effects
//   generate_types.cpp    D's types as DIF types
//
// Invariants
//   - A value in a register has 64 bits. The value is canonical in an integer type if
//     narrowing it to the type and extending it again does not change it. A value from
//     a variable, memory, a cast or an assignment is canonical in its type. The result
//     of arithmetic need not be canonical.
//   - A by-reference value (string, struct, array) is represented by its address.
//   - The tuple is the list of arguments or keys that pushtr and pushtv build. It is in
//     use only between flushts and the instruction that consumes it (call, ldgaa, ...).
//     A part that contains such an instruction itself is evaluated before flushts.
//
// The order of evaluation is unspecified for most operators, as in C. The left operand
// is evaluated first, but the right operand may come first if it needs more registers.
#pragma once

#include "libdtrace/compile/generate/assembler.hpp"
#include "libdtrace/compile/generate/regalloc.hpp"
#include "libdtrace/compile/generate/register_code.hpp"
#include "libdtrace/compile/generate/tree_facts.hpp"
#include "libdtrace/compile/passes.hpp"

#include <unordered_set>
#include <vector>

namespace dt {

// --- generate_types.cpp ---

// Returns whether values of this type are passed by address: by-reference types, and
// floating-point types that do not fit into a register.
bool travels_by_ref(const Type* type);
// Returns whether an integer or enumeration type is signed.
bool is_signed_integer(const Type* type);
dif_type dif_type_of(const Type* type, bool userland);
// Returns the type of a 64-bit integer that is recorded or passed to the engine.
dif_type dif_type_word();
// Returns the type of an expression whose value is not used.
dif_type dif_type_nothing();
// Returns the size in bytes of an array's elements or of a pointee. Returns 1 for void
// and functions, which have no size.
std::uint64_t element_bytes(const Type* pointer);

// --- one expression, one DIF object ---

class ExprGenerator {
public:
    ExprGenerator(const CompileOptions& options, Place at);

    // Generates an object that evaluates the expression and returns its value as rtype.
    static std::shared_ptr<Difo> generate(const CompileOptions& options,
                                          const Node& node, dif_type rtype);
    // Generates an object that returns a constant.
    static std::shared_ptr<Difo> constant(const CompileOptions& options, Place at,
                                          std::uint64_t value);

private:
    struct ScopeOps {
        dif_op load, store, load_assoc, store_assoc;
        // like load and load_assoc, but allocate the object for a store
        dif_op make, make_assoc;
        std::uint8_t scope;
    };

    // Defined in generate_expr.cpp:
    Register value(const Node& node);
    Register value_of_ident(const Node& node);
    Register value_in_memory(const Node& node);
    Register value_of_element(const Node& node);
    Register value_of_unary(const Node& node);
    Register value_of_binary(const Node& node);
    Register value_of_pointer_sum(const Node& node);
    Register value_of_cast(const Node& node);
    bool is_canonical(const Node& node, const Type* to);
    std::pair<Register, Register> operands(const Node& left, const Node& right);

    // Defined in generate_logic.cpp:
    Register value_of_comparison(const Node& node);
    Register value_of_logical(const Node& node);
    Register value_of_logical_xor(const Node& node);
    Register value_of_not(const Node& node);
    Register value_of_cond(const Node& node);

    // Defined in generate_memory.cpp:
    Register address(const Node& node, std::uint64_t distance = 0);
    Register address_of_element(const Node& node);
    // Loads the value of a node from its address: to = [from].
    void load(int from, int to, const Node& node);
    void store(int value, int to, const Node& lvalue);
    void store_bits(int value, int to, const Node& lvalue);
    void copy_object(int from, int to, const Node& lvalue, const Type* from_type);

    static bool may_be_absent(const Node& node);
    void will_store(const Node& part);
    void decays(const Node& node);
    void load_object(const Node& node, int into);

    // Defined in generate_assign.cpp:

    // The registers of the parts of a key that have already been evaluated, by index.
    // Other parts have no register. The vector may be empty.
    using Kept = std::vector<Register>;
    struct Lvalue {
        const Node* node;
        Register address; // set if the lvalue is in memory
        Kept kept;        // set if the lvalue is an element of an associative array
    };
    Lvalue open(const Node& node);
    Register address_to_store(const Node& node);
    Register fetch(const Lvalue& from);
    void put(int value, const Lvalue& to, const Type* type);
    Register value_of_assign(const Node& node);
    Register value_of_step(const Node& node);
    Register modify(const Node& node);
    void narrow_to(int value, const Node& lvalue);
    Register narrowed_value(const Node& right, const Type* to);
    void store_variable(const Node& ident, int reg);

    // Emits the code that builds the tuple. `as_types` points to the types of an
    // array's keys. If it is null, each part keeps its own type.
    void push_tuple(const std::vector<NodePtr>& parts,
                    const std::vector<const Type*>* as_types, const Kept& kept,
                    Place at);
    void push(const Node& part, const Type* as_type, int reg);
    Register value_of_call(const Node& node);
    Register load_assoc(const Node& node, const Kept& kept);
    void store_assoc(const Node& node, int reg, const Kept& kept);
    Kept keep_effects(const std::vector<NodePtr>& parts);

    static const ScopeOps& scope_ops(Scope scope);
    void note(const Ident& ident, unsigned flags);

    const CompileOptions& options_;
    Assembler code_;
    RegisterFile registers_;
    RegisterCode ops_{code_, registers_};
    TreeFacts facts_;
    // The objects that load_object() must allocate if they are absent.
    std::unordered_set<const Node*> made_;
};

bool is_assoc(const Node& node);

// --- clauses ---

// The aggregations that a program uses, in order of first use.
class UsedAggregations {
public:
    void add(const Ident& aggregation)
    {
        if (known_.insert(&aggregation).second)
            all_.push_back(&aggregation);
    }
    const std::vector<const Ident*>& all() const { return all_; }

private:
    std::unordered_set<const Ident*> known_;
    std::vector<const Ident*> all_;
};

// Finds the lines of a program's text. The text is split once.
class SourceLines {
public:
    explicit SourceLines(std::string_view text);
    // Returns the place and the text of its line. The text is empty if the place is not
    // in this program.
    Source source(Place at) const;

private:
    // longer lines are truncated to this number of bytes
    static constexpr std::size_t max_source_line = 512;
    std::vector<std::string_view> lines_;
};

// Translates the statements of one clause to entries of its action list.
class ActionGenerator {
public:
    ActionGenerator(const CompileContext& context, const SourceLines& lines,
                    CompiledClause& clause, UsedAggregations& aggregations);

    void statement(const Node& node);

private:
    // Adds an entry without a value.
    Action& add(std::uint32_t kind, const Node& node);
    // Adds an entry that records the value of an expression in the expression's own
    // type.
    Action& add_value(std::uint32_t kind, const Node& node);
    // Adds an entry that records the value in the given type.
    Action& add_value(std::uint32_t kind, const Node& node, dif_type as);
    // Adds an entry that contains the id of an aggregation, for the consumer.
    void add_aggregation(std::uint32_t kind, const Node& node);
    // Completes an action that consists of the entries from index `first` to the end of
    // the list. Sets ntuple of the first of these entries to their number.
    Action& close_run(std::size_t first);

    void action(const Node& node);
    void values(const Node& node);
    void printa(const Node& node);
    void tracemem(const Node& node);
    void library_action(const Node& node);
    void stack_or_symbol(const Node& node);
    void aggregate(const Node& node);
    void key_part(const Node& node);

    const CompileContext& context_;
    const SourceLines& lines_;
    CompiledClause& clause_;
    UsedAggregations& aggregations_;
};

} // namespace dt
