// SPDX-License-Identifier: MIT
// Checks args[n], the typed arguments of a probe, and replaces each of them with an
// expression that reads argN or the stack.
//
// - A provider may declare types. If they differ from the types that the traced program
//   passes, args[n] means xlate <type> (argN).
// - For the entry and return of a function, the types come from the debug data. They
//   are looked up only for clauses that use args[].
// - For a system call, the types are C text (written_types.hpp).
// - The arguments of a derived probe, and argN, are expressions (derive_probes.cpp).
#include "libdtrace/compile/check/check_internal.hpp"

#include "dif/vars.h"
#include "libdtrace/compile/check/arguments.hpp"
#include "libdtrace/compile/types/written_types.hpp"

namespace dt {

namespace {

constexpr unsigned n_fetched = 10; // arg0 .. arg9

// Returns why an argument is not available, or null if it is available.
const char* why_not(ArgumentPlace place)
{
    using Kind = ArgumentPlace::Kind;
    switch (place.kind) {
    case Kind::Float:
        return "it is passed in a floating-point register";
    case Kind::Registers:
        return "it is passed by value in registers";
    case Kind::ByValue:
        return "it is passed by value";
    case Kind::Nowhere:
        return "its size is 0";
    case Kind::Unknown:
        return "how it is passed depends on the compiler";
    case Kind::Stack:
        return nullptr;
    case Kind::Value:
    case Kind::Address:
        break;
    }
    return place.n < n_fetched ? nullptr
                               : "it comes after arg9, the last available argument";
}

NodePtr name_node(std::string name, Place at)
{
    auto node = std::make_unique<Node>();
    node->kind = NodeKind::Ident;
    node->text = std::move(name);
    node->at = at;
    return node;
}

[[noreturn]] void out_of_range(std::uint64_t n, std::size_t n_arguments, Place at)
{
    fail(Tag::ARGS_IDX, at,
         "index " + std::to_string(n) + " is out of range for args[ ]: the probe has " +
             std::to_string(n_arguments) +
             (n_arguments == 1 ? " argument" : " arguments"));
}

} // namespace

std::vector<Argument> arguments_of(const ProbedFunction& probed, TargetTypes& types,
                                   TypeTable& table)
{
    using At = ProbedFunction::At;
    const bool of_kernel = probed.types->place() == DebugTypes::Place::Kernel;
    const Type* result = types.type(*probed.types, probed.function.result);
    if (probed.at == At::Return) {
        std::vector<Argument> arguments{{"", table.uint64_type(), {}, nullptr}};
        if (result->resolve()->kind != TypeKind::Void)
            arguments.push_back({"", result, result_place(result), nullptr});
        if (of_kernel && !result->is_scalar() && arguments.size() > 1)
            arguments[1].place.kind = ArgumentPlace::Kind::ByValue;
        return arguments;
    }
    std::vector<const Type*> parameters;
    for (const DebugParameter& parameter : probed.function.parameters)
        parameters.push_back(types.type(*probed.types, parameter.type));
    std::vector<ArgumentPlace> places = of_kernel
                                            ? kernel_argument_places(parameters, result)
                                            : argument_places(parameters, result);
    std::vector<Argument> arguments;
    for (std::size_t i = 0; i < parameters.size(); i++)
        arguments.push_back(
            {probed.function.parameters[i].name, parameters[i], places[i], nullptr});
    return arguments;
}

std::vector<Argument> arguments_of(const ArgumentTypes& said, TargetTypes& types,
                                   ForeignTypes& foreign)
{
    const TypeTable& table = types.table();
    std::vector<Argument> arguments;
    for (unsigned i = 0; i < said.written.size(); i++) {
        const ArgumentTypes::Written& one = said.written[i];
        arguments.push_back({one.name,
                             written_type(one.type, said.written_in, types),
                             {ArgumentPlace::Kind::Value, i},
                             nullptr});
    }
    if (said.types != nullptr) {
        for (unsigned i = 0; i < said.defined.size(); i++) {
            const ArgumentTypes::Defined& one = said.defined[i];
            const Type* type = foreign.type(one.type, said.types);
            if (type->is_float()) // argN contains the bits of a double
                type = table.lookup_original("double");
            if (type->is_string()) // argN is the string's address
                type = table.lookup_original("char *");
            const Type* native =
                one.native != nullptr ? foreign.type(one.native, said.types) : nullptr;
            arguments.push_back(
                {one.name, type, {ArgumentPlace::Kind::Value, i}, native});
        }
        return arguments;
    }
    for (unsigned i = 0; i < said.names.size(); i++)
        arguments.push_back({"",
                             table.lookup(said.names[i]),
                             {ArgumentPlace::Kind::Value, i},
                             nullptr});
    return arguments;
}

// Finds the argument in all probes of the clause. Reports an error at `at` if its type
// or location differs between the probes.
Argument Checker::find_argument(std::uint64_t n, Place at)
{
    const std::string name = "args[" + std::to_string(n) + "]";
    std::optional<Argument> common;
    std::string why_none;
    bool any = false;
    auto take = [&](const std::vector<Argument>& arguments) {
        any = true;
        if (n >= arguments.size())
            out_of_range(n, arguments.size(), at);
        const Argument& one = arguments[n];
        if (common &&
            !(same_type(common->type, one.type) && common->place == one.place &&
              (common->native == nullptr) == (one.native == nullptr)))
            fail(Tag::ARGS_MULTI, at,
                 name + " is ambiguous: its type or its location differs between the "
                        "probes of this clause");
        common = one;
    };
    auto no_type = [&](const std::string& why) {
        fail(Tag::ARGS_TYPE, at,
             name + " has no type: " + why + "; use arg" + std::to_string(n) +
                 " for its value as an integer");
    };
    for (const ProbeMatch& match : matches_) {
        if (!match.args.empty()) {
            std::vector<Argument> arguments;
            for (unsigned i = 0; i < match.args.size(); i++)
                arguments.push_back(
                    {"", match.args[i], {ArgumentPlace::Kind::Value, i}, nullptr});
            take(arguments);
            continue;
        }
        for (std::uint32_t id : match.ids) {
            auto probed = options_.environment->probed_function(id);
            if (!probed)
                break;
            if (auto* why = std::get_if<std::string>(&*probed)) {
                if (why->empty())
                    // take() reports an error, because the probe has no typed arguments
                    take({});
                no_type(*why);
            }
            auto* said = std::get_if<ArgumentTypes>(&*probed);
            if (said != nullptr && !said->why_none.empty())
                why_none = said->why_none;
            else if (said != nullptr)
                take(arguments_of(*said, context_.target.types(), context_.foreign));
            else
                take(arguments_of(std::get<ProbedFunction>(*probed),
                                  context_.target.types(), types_));
        }
    }
    if (!any && !why_none.empty())
        no_type(why_none);
    if (!any && !matches_.empty())
        take({});
    if (!any)
        fail(Tag::ARGS_NONE, at, name + " has no type: no matching probe defines it");
    return *common;
}

// Returns the expression xlate <type> (argN).
NodePtr Checker::translation_of(const Argument& argument, Place at)
{
    auto xlate = std::make_unique<Node>();
    xlate->kind = NodeKind::Xlate;
    xlate->at = at;
    xlate->decl_type = argument.type;
    xlate->left = make_cast(
        argument.native, name_node("arg" + std::to_string(argument.place.n), at), at);
    return xlate;
}

// Returns the argument if the node is an args[n] that a translator computes, otherwise
// nullopt.
std::optional<Argument> Checker::translated_argument(const Node& node)
{
    if (node.kind != NodeKind::Index || node.left->kind != NodeKind::Ident ||
        node.left->scope != Scope::Global || node.left->text != "args" ||
        node.args.size() != 1)
        return std::nullopt;
    NodePtr n = clone(*node.args[0]);
    expr(n);
    if (!n->type->is_integer() || !n->is_constant ||
        static_cast<std::int64_t>(n->value) < 0)
        return std::nullopt;
    Argument argument = find_argument(n->value, node.at);
    if (argument.native == nullptr)
        return std::nullopt;
    return argument;
}

// Returns the checked value of an argument of a derived probe.
NodePtr Checker::derived_value(std::uint64_t n, Place at)
{
    NodePtr value = clone(*(*clause_->derived)[n]);
    move_to(*value, at);
    check_expansion(*value, at);
    // The nodes that compute the argument do not affect stability.
    n_vouched_++;
    expr(value);
    n_vouched_--;
    return value;
}

// If the node is an argN of a derived probe, replaces it with its value as an integer. An
// argument that the probe does not have is 0.
bool Checker::derived_argument(NodePtr& slot)
{
    const std::string_view name = slot->text;
    if (clause_ == nullptr || !clause_->derived || slot->defines || name.size() != 4 ||
        !name.starts_with("arg") || name[3] < '0' || name[3] > '9')
        return false;
    const Place at = slot->at;
    const auto n = static_cast<std::size_t>(name[3] - '0');
    const Type* type = types_.lookup("int64_t");
    if (n < clause_->derived->size()) {
        slot = derived_value(n, at);
        cast_to(slot, type);
    } else {
        slot = make_integer(0, type, at);
    }
    return true;
}

void Checker::argument(NodePtr& slot, std::uint64_t n, Place at)
{
    using Kind = ArgumentPlace::Kind;
    if (clause_ != nullptr && clause_->derived) {
        if (n >= clause_->derived->size())
            out_of_range(n, clause_->derived->size(), at);
        slot = derived_value(n, at);
        return;
    }
    Argument argument = find_argument(n, at);
    const ArgumentPlace place = argument.place;
    const Type* type = argument.type;
    if (const char* why = why_not(place))
        fail(Tag::ARGS_TYPE, at,
             "args[" + std::to_string(n) + "], " + quoted(type) +
                 ", cannot be read: " + why);
    uses(weakest(facts_of("args").attributes, arguments_), "identifier args[ ]", at);
    NodePtr value;
    if (place.kind != Kind::Stack) {
        value = name_node("arg" + std::to_string(place.n), at);
    } else {
        // At the entry of a function, the stack pointer points to the return address.
        // Word 0 is directly above the return address.
        value = std::make_unique<Node>();
        value->kind = NodeKind::Binary;
        value->op = Op::Add;
        value->at = at;
        value->left = std::make_unique<Node>();
        value->left->kind = NodeKind::Index;
        value->left->at = at;
        value->left->left = name_node("uregs", at);
        value->left->args.push_back(
            make_integer(*find_ureg("R_SP"), types_.int_type(), at));
        value->right =
            make_integer(8 + 8 * std::uint64_t{place.n}, types_.int_type(), at);
    }
    if (argument.native != nullptr) {
        slot = translation_of(argument, at);
        n_vouched_++;
        expr(slot);
        n_vouched_--;
        return;
    }
    const bool is_bits = place.kind == Kind::Value && type->is_float();
    if (is_bits) {
        // no cast: argN already contains the bits of a double
        slot = std::move(value);
    } else if (place.kind == Kind::Value && type->is_scalar()) {
        slot = make_cast(type, std::move(value), at);
    } else {
        // A by-reference value is represented by its address. Any other value is loaded
        // from its address.
        slot = std::make_unique<Node>();
        slot->kind = NodeKind::Unary;
        slot->op = Op::Deref;
        slot->at = at;
        slot->left = make_cast(types_.pointer_to(type, true), std::move(value), at);
    }
    n_vouched_++; // the nodes that fetch the argument do not affect stability
    expr(slot);
    n_vouched_--;
    if (is_bits)
        slot->type = type;
}

} // namespace dt
