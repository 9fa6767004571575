// SPDX-License-Identifier: MIT
// Checks calls. The called function must exist, and the arguments must fit the
// function's prototype.
//
// A call to an action inside an expression is refused here, because actions are
// statements. There are two exceptions: aggregate_keys() checks actions in the key of
// an aggregation, and action_trace() checks actions in trace().
#include "libdtrace/compile/check/check_internal.hpp"

#include "dif/subrs.h"

#include <cstring>

namespace dt {

namespace {

constexpr const char* kernel_only =
    "needs the dtrace kernel module, which is not available; dtrace -lP fbt shows why";

std::unique_ptr<Ident> make_ident(IdentKind kind, const char* name, std::uint32_t id,
                                  const char* prototype)
{
    auto ident = std::make_unique<Ident>();
    ident->kind = kind;
    ident->name = name;
    ident->id = id;
    ident->prototype = prototype;
    ident->attributes = facts_of(name).attributes;
    ident->declared = true;
    return ident;
}

bool has_flag(const char* flags, char flag)
{
    return std::strchr(flags, flag) != nullptr;
}

// Returns whether the type is the kernel's dev_t. D's own dev_t has 8 bytes and uses
// the encoding of user space.
bool is_kernel_device(const Type* type)
{
    for (; type != nullptr && type->kind == TypeKind::Typedef; type = type->base)
        if (type->name == "dev_t" || type->name == "__kernel_dev_t")
            return type->resolve()->size == sizeof(std::uint32_t);
    return false;
}

} // namespace

Ident* Checker::resolve_function(Node& node)
{
    const std::string& name = node.text;
    auto known = [&](IdentKind kind) -> std::unique_ptr<Ident>& {
        return symbols_.builtins[{kind, name}];
    };
    if (const SubroutineRow* row = find_subroutine_row(name)) {
        const bool of_kernel = std::strcmp(row->where, "KERNEL") == 0;
        if (of_kernel)
            uses_kernel();
        if (of_kernel && !options_.kernel)
            fail(Tag::FUNC_UNDEF, node.at, call_name(node) + " " + kernel_only);
        if (std::strcmp(row->where, "NONE") == 0)
            fail(Tag::FUNC_UNDEF, node.at,
                 call_name(node) +
                     " exists only on other systems: Linux has no such data");
        auto& ident = known(IdentKind::Subroutine);
        if (!ident) {
            ident =
                make_ident(IdentKind::Subroutine, row->name, row->id, row->prototype);
            ident->flags = row->where;
        }
        if (std::strcmp(row->where, "WRITE") == 0 && clause_)
            clause_->destructive = clause_->changes_target = true;
        uses(*ident, node.at);
        return node.ident = ident.get();
    }
    if (const ActionRow* row = find_action_row(name)) {
        const bool of_kernel = has_flag(row->flags, 'K') &&
                               !(row->kind == DTRACEACT_STACK && has_sampled_stack());
        if (of_kernel)
            uses_kernel();
        if (of_kernel && !options_.kernel)
            fail(Tag::FUNC_UNDEF, node.at, call_name(node) + " " + kernel_only);
        if (has_flag(row->flags, 'N'))
            fail(Tag::FUNC_UNDEF, node.at,
                 call_name(node) + " exists only on other systems");
        auto& ident = known(IdentKind::Action);
        if (!ident) {
            ident = make_ident(IdentKind::Action, row->name, row->kind, row->prototype);
            ident->flags = row->flags;
            ident->libact = row->libact;
        }
        uses(*ident, node.at);
        return node.ident = ident.get();
    }
    if (const AggRow* row = find_agg_row(name)) {
        auto& ident = known(IdentKind::AggFunc);
        if (!ident)
            ident =
                make_ident(IdentKind::AggFunc, row->name, row->kind, row->prototype);
        uses(*ident, node.at);
        return node.ident = ident.get();
    }
    bool variable = find_variable(Scope::Global, name) || is_builtin_variable(name) ||
                    symbols_.inlines.count(name) != 0;
    if (variable)
        fail(Tag::FUNC_IDKIND, node.at, name + " is a variable and cannot be called");
    std::vector<std::string_view> names = function_names();
    fail(Tag::FUNC_UNDEF, node.at,
         "undefined function name: " + name +
             (is_there(name) ? suggestion(name, names) : version_hint(name)));
}

void Checker::check_count(const Node& node, const std::string& name, std::size_t least,
                          std::size_t most)
{
    std::size_t n = node.args.size();
    if (n >= least && n <= most)
        return;
    const char* bound = least == most ? "" : n < least ? "at least " : "at most ";
    std::size_t expected = n < least ? least : most;
    fail(Tag::PROTO_LEN, node.at,
         name + " prototype mismatch: " + std::to_string(n) +
             (n == 1 ? " arg" : " args") + " passed, " + bound +
             std::to_string(expected) + " expected");
}

void Checker::bad_argument(const Node& node, std::size_t n, std::string_view prototype)
{
    fail(
        Tag::PROTO_ARG, node.args[n]->at,
        call_name(node) + " argument #" + std::to_string(n + 1) +
            " is incompatible with prototype:\n\tprototype: " + std::string(prototype) +
            "\n\t argument: " + node_type_text(*node.args[n]));
}

const Prototype& Checker::prototype_of(const Ident& function)
{
    auto found = prototypes_.find(function.prototype);
    if (found == prototypes_.end())
        found = prototypes_
                    .emplace(function.prototype,
                             parse_prototype(function.prototype, types_))
                    .first;
    return found->second;
}

// Checks the number and the types of the arguments. If the prototype accepts any type,
// the argument must still have a value.
void Checker::check_arguments(Node& node)
{
    const Prototype& prototype = prototype_of(*node.ident);
    std::size_t most = prototype.varargs ? any_number : prototype.parameters.size();
    std::size_t least = prototype.n_required;
    check_count(node, call_name(node), least, most);
    for (std::size_t i = 0; i < node.args.size(); i++) {
        expr(node.args[i]);
        bool typed = i < prototype.parameters.size() && prototype.parameters[i].type;
        if (typed && is_void(node.args[i]->type))
            bad_argument(node, i, prototype.parameters[i].text);
        require_value(*node.args[i]);
        if (!typed)
            continue;
        if (!accepts(prototype.parameters[i].type, *node.args[i]))
            bad_argument(node, i, prototype.parameters[i].text);
    }
    node.type = prototype.result;
}

void Checker::check_alloca_size(const Node& node)
{
    constexpr std::int64_t largest = std::int64_t{1} << 31;
    const Node& size = *node.args[0];
    auto value = static_cast<std::int64_t>(size.value);
    if (size.is_constant && (value < 0 || value > largest))
        fail(Tag::ALLOCA_SIZE, size.at,
             "alloca( ) cannot allocate " + std::to_string(value) + " bytes");
}

// Replaces getmajor() or getminor() with arithmetic if the argument is a kernel device
// number. The kernel has 12 bits for the major number above 20 bits for the minor
// number (<linux/kdev_t.h>). The subroutines expect user space's encoding
// (gnu_dev_major(3)).
void Checker::kernel_device_number(NodePtr& slot, NodePtr device)
{
    constexpr std::uint64_t minor_bits = 20, minor_mask = (1u << minor_bits) - 1;
    const bool major = slot->ident->id == DIF_SUBR_getmajor;
    const Place at = slot->at;
    auto part = std::make_unique<Node>();
    part->kind = NodeKind::Binary;
    part->op = major ? Op::Shr : Op::And;
    part->at = at;
    part->right = make_integer(major ? minor_bits : minor_mask, types_.int_type(), at);
    part->left = std::move(device);
    auto cast = std::make_unique<Node>();
    cast->kind = NodeKind::Cast;
    cast->at = at;
    cast->decl_type = slot->type;
    cast->left = std::move(part);
    slot = std::move(cast);
    expr(slot);
}

void Checker::call(NodePtr& slot)
{
    Node& node = *slot;
    Ident* ident = resolve_function(node);
    if (ident->kind == IdentKind::AggFunc)
        fail(Tag::CG_EXPR, node.at,
             call_name(node) + " is an aggregating function: it must be assigned to an "
                               "aggregation");
    if (ident->kind == IdentKind::Action)
        fail(Tag::CG_EXPR, node.at,
             call_name(node) +
                 " is an action and may not be called from an expression");
    const bool of_device =
        ident->id == DIF_SUBR_getmajor || ident->id == DIF_SUBR_getminor;
    NodePtr device =
        of_device && node.args.size() == 1 ? clone(*node.args[0]) : nullptr;
    check_arguments(node);
    if (device && is_kernel_device(node.args[0]->type))
        return kernel_device_number(slot, std::move(device));
    if (ident->id == DIF_SUBR_alloca) {
        check_alloca_size(node);
        node.alloca_pointer = true;
    }
}

} // namespace dt
