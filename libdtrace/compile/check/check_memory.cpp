// SPDX-License-Identifier: MIT
// Checks operators that access memory ([], ., ->, * and &), and operators that yield
// sizes and offsets.
//
// The declaration or first use of an associative array determines the number and types
// of its keys. An integer key accepts integers of any width.
#include "libdtrace/compile/check/check_internal.hpp"

#include <algorithm>

#include "dif/vars.h"

namespace dt {

namespace {

const Type* size_type(TypeTable& types)
{
    const Type* found = types.lookup_original("size_t");
    return found ? found : types.uint64_type();
}

std::string key_count(std::size_t n)
{
    return std::to_string(n) + (n == 1 ? " arg" : " args");
}

} // namespace

void Checker::check_keys(Ident& ident, std::vector<NodePtr>& keys, Place at, bool fix,
                         const std::string& name, std::string_view what)
{
    for (std::size_t i = 0; i < keys.size(); i++) {
        require_value(*keys[i]);
        if (!is_key_type(keys[i]->type) && keys[i]->kind != NodeKind::Call)
            fail(Tag::KEY_TYPE, keys[i]->at,
                 name + " key #" + std::to_string(i + 1) + " cannot have the type " +
                     quoted(keys[i]->type));
    }
    // An array of char becomes a string. A pointer to char becomes a string only if the
    // key is known to be a string.
    auto as_string = [&](NodePtr& key) {
        auto text = std::make_unique<Node>();
        text->kind = NodeKind::Stringof;
        text->at = key->at;
        text->type = types_.string_type();
        text->userland = key->userland;
        text->left = std::move(key);
        key = std::move(text);
    };
    for (std::size_t i = 0; i < keys.size(); i++) {
        const Type* type = keys[i]->type;
        bool wanted =
            ident.keys_known && i < ident.keys.size() && ident.keys[i]->is_string();
        if (!type->is_string() && type->is_string_compatible() &&
            (is_array(type) || wanted))
            as_string(keys[i]);
    }
    if (fix && !ident.keys_known) {
        for (const NodePtr& key : keys)
            if (key->kind == NodeKind::Integer && key->text == "NULL")
                key->type = types_.int64_type();
        for (const NodePtr& key : keys)
            ident.keys.push_back(key->bitfield ? promoted(*key, types_) : key->type);
        ident.keys_known = true;
        return;
    }
    if (keys.size() != ident.keys.size())
        fail(Tag::PROTO_LEN, at,
             name + " prototype mismatch: " + key_count(keys.size()) + " passed, " +
                 std::to_string(ident.keys.size()) + " expected");
    for (std::size_t i = 0; i < keys.size(); i++) {
        const Type* wanted = ident.keys[i];
        bool fits = wanted->is_integer() ? assignable(wanted, *keys[i])
                    : wanted->is_pointer()
                        ? keys[i]->type->is_pointer() && accepts(wanted, *keys[i])
                        : accepts(wanted, *keys[i]);
        if (!fits)
            fail(Tag::PROTO_ARG, keys[i]->at,
                 name + " " + std::string(what) + " #" + std::to_string(i + 1) +
                     " is incompatible with prototype:\n\tprototype: " +
                     type_text(wanted) + "\n\t      key: " + node_type_text(*keys[i]));
    }
}

void Checker::index_assoc(Node& node, bool fix_keys)
{
    Node& name = *node.left;
    Ident* ident = find_variable(name.scope, name.text);
    uses(*ident, name.at);
    for (NodePtr& key : node.args)
        expr(key);
    check_keys(*ident, node.args, node.at, fix_keys,
               scoped_name(name.scope, name.text) + "[ ]", "key");
    name.ident = ident;
    name.type = ident->type;
    node.type = ident->type;
    node.is_lvalue = true;
    node.userland = is_userland(ident->type);
    node.alloca_pointer = ident->alloca_pointer;
    if (!fix_keys)
        ident->referenced = true;
}

void Checker::index_builtin(NodePtr& slot)
{
    Node& node = *slot;
    const VariableRow* row = find_variable_row(node.left->text);
    const std::string name = node.left->text + "[ ]";
    bool args = row->id == DIF_VAR_args;
    const Tag bad_index = args ? Tag::ARGS_IDX : Tag::REGS_IDX;
    if (node.args.size() != 1)
        fail(Tag::PROTO_LEN, node.at,
             name + " prototype mismatch: " + key_count(node.args.size()) +
                 " passed, 1 expected");
    expr(node.args[0]);
    const Node& i = *node.args[0];
    if (!i.type->is_integer() || (args && !i.is_constant))
        fail(bad_index, i.at,
             "index of " + name + " must be " +
                 (args ? "an integer constant" : "an integer") + ", not \"" +
                 node_type_text(i) + "\"");
    if (i.is_constant && static_cast<std::int64_t>(i.value) < 0)
        fail(bad_index, i.at, "index of " + name + " is negative");
    if (args)
        return argument(slot, i.value, node.at);
    if (row->id == DIF_VAR_uregs && i.is_constant && i.value >= n_uregs())
        fail(bad_index, i.at,
             "index " + std::to_string(i.value) +
                 " is out of range for uregs[ ]: there are " +
                 std::to_string(n_uregs()) + " registers");
    n_vouched_ += node.defines; // definitions do not affect stability
    node.left->ident = builtin(*row, node.at);
    n_vouched_ -= node.defines;
    node.left->type = node.left->ident->type;
    node.type = node.left->type;
}

// Returns whether an index into this expression is limited to the size of a D string.
// The result of a cast or stringof may be indexed beyond strsize. Call this before the
// checker replaces the expression.
static bool names_a_string(const Node& written)
{
    switch (written.kind) {
    case NodeKind::Ident:
    case NodeKind::Member:
    case NodeKind::Arrow:
    case NodeKind::Index:
    case NodeKind::Call:
    case NodeKind::String:
        return true;
    default:
        return false;
    }
}

// Refuses a constant index beyond the end of a string. The string's size is strsize or
// literal_bytes, whichever is larger.
void Checker::check_string_bound(const Node& index, std::uint64_t literal_bytes)
{
    const std::uint64_t strsize = types_.string_type()->resolve()->size;
    const std::uint64_t bytes = std::max(strsize, literal_bytes);
    if (index.is_constant && index.type->is_integer() && index.value >= bytes)
        fail(Tag::ARR_BOUNDS, index.at,
             "index " + std::to_string(static_cast<std::int64_t>(index.value)) +
                 " is out of bounds: the string has " + std::to_string(bytes) +
                 (bytes == strsize ? " bytes (strsize)" : " bytes"));
}

void Checker::index(NodePtr& slot)
{
    Node& node = *slot;
    Node& base = *node.left;
    if (base.kind == NodeKind::Aggregate)
        fail(Tag::AGG_MDIM, node.at,
             "aggregation @" + base.text +
                 " may not be indexed twice: keys are written @a[x, y]");

    bool plain_name =
        base.kind == NodeKind::Ident && base.text.find('`') == std::string::npos;
    if (plain_name) {
        const Ident* ident = find_variable(base.scope, base.text);
        if (ident && ident->kind == IdentKind::AssocArray) {
            // the array is read before anything is assigned to it, as in x[0] = x[1]
            if (is_dynamic(ident->type))
                fail(Tag::VAR_UNDEF, base.at,
                     scoped_name(base.scope, base.text) +
                         " has not yet been declared or assigned");
            return index_assoc(node, false);
        }
        if (!ident && base.scope == Scope::Global) {
            const VariableRow* row = find_variable_row(base.text);
            if (row && row->array)
                return index_builtin(slot);
            if (base.text == "fds" && is_there(base.text))
                no_address(base);
            auto found = symbols_.inlines.find(base.text);
            if (found != symbols_.inlines.end() && !found->second->keys.empty()) {
                std::vector<NodePtr> arguments = std::move(node.args);
                return expand_inline(slot, *found->second, std::move(arguments));
            }
        }
    }

    const bool is_bounded = names_a_string(base);
    const std::uint64_t literal_bytes =
        base.kind == NodeKind::String ? base.text.size() + 1 : 0;
    bool index_is_checked = false;
    // Check the index first, so that an invalid index is refused even if this session
    // cannot read the member.
    if (node.args.size() == 1 && is_string_of_current(base)) {
        expr(node.args[0]);
        index_is_checked = true;
        check_string_bound(*node.args[0], literal_bytes);
    }
    if (base.kind == NodeKind::Ident) {
        identifier(node.left, true);
        context_.target.types().complete(node.left->type);
    } else {
        expr(node.left);
    }
    const Type* array = node.left->type;
    const Type* element = array->is_string() ? types_.lookup("char") : pointee(array);
    if (!element && plain_name && node.left->kind == NodeKind::Ident)
        fail(Tag::ARR_BADREF, node.at,
             scoped_name(node.left->scope, node.left->text) +
                 " is a scalar and may not be referenced as an array");
    if (!element)
        fail(Tag::OP_PTR, node.at,
             "operator [ ] requires an array or a pointer, not \"" +
                 node_type_text(*node.left) + "\"");
    if (node.args.size() != 1)
        fail(Tag::ARR_BADREF, node.at,
             "an array or a pointer takes one index, and only an associative array "
             "takes several: " +
                 key_count(node.args.size()) + " passed");
    if (!index_is_checked)
        expr(node.args[0]);
    const Node& i = *node.args[0];
    require_integer(i, "operator [ ]");
    const Type* r = element->resolve();
    if (r->kind == TypeKind::Void)
        fail(Tag::DEREF_VOID, node.at, "operator [ ] cannot be applied to void *");
    if (r->kind == TypeKind::Function)
        fail(Tag::DEREF_FUNC, node.at,
             "operator [ ] cannot be applied to a function pointer");
    if (is_incomplete(r))
        fail(Tag::OP_INCOMPLETE, node.at,
             "operator [ ] cannot be applied to a pointer to the incomplete type " +
                 quoted(element));
    const Type* bounds = array->resolve();
    bool bounded =
        bounds->kind == TypeKind::Array && bounds->complete && bounds->count != 0;
    if (array->is_string() && is_bounded)
        check_string_bound(i, literal_bytes);
    if (bounded && i.is_constant && i.value >= bounds->count)
        fail(Tag::ARR_BOUNDS, i.at,
             "index " + std::to_string(static_cast<std::int64_t>(i.value)) +
                 " is out of bounds for " + quoted(array));
    node.type = element;
    node.is_lvalue = true;
    node.userland = node.left->userland || is_userland(element);
}

// Returns the size in bytes of the unit that contains a bit-field, and sets node.value
// to the unit's offset in the struct. In a packed struct, the unit's size may differ
// from the size of the field's type.
static std::uint64_t unit_of(const Member& field, std::uint64_t struct_bytes,
                             Node& node)
{
    std::uint64_t bytes = field.type->resolve()->size;
    std::uint64_t end = field.offset_bits + field.bitfield_bits;
    node.value = field.offset_bits / 8 / bytes * bytes;
    if (end <= (node.value + bytes) * 8 && node.value + bytes <= struct_bytes)
        return bytes;
    for (bytes = 1; bytes <= 8; bytes *= 2) {
        node.value = field.offset_bits / 8;
        // the unit must not extend beyond the end of the struct
        if (node.value + bytes > struct_bytes)
            node.value = struct_bytes - std::min(bytes, struct_bytes);
        if (end <= (node.value + bytes) * 8)
            return bytes;
    }
    fail(Tag::CG_EXPR, node.at,
         "the bit-field " + field.name + " spans more than eight bytes");
}

void Checker::member(NodePtr& slot)
{
    if (slot->kind == NodeKind::Arrow ? psinfo_member(slot) : fds_member(slot))
        return;
    if (xlate_member(slot))
        return;
    Node& node = *slot;
    bool arrow = node.kind == NodeKind::Arrow;
    const std::string name = arrow ? "operator ->" : "operator .";
    expr(node.left);
    require_value(*node.left);
    const Type* whole = node.left->type;
    if (arrow) {
        whole = pointee(whole);
        if (!whole)
            fail(Tag::OP_PTR, node.at,
                 name + " must be applied to a pointer, not \"" +
                     node_type_text(*node.left) + "\"");
    }
    const Type* r = whole->resolve();
    if (is_incomplete(r))
        fail(Tag::OP_INCOMPLETE, node.at,
             name + " cannot be applied to the incomplete type " + quoted(whole));
    if (!r->is_struct_or_union())
        fail(Tag::OP_SOU, node.at,
             name + " cannot be applied to " + quoted(node.left->type) +
                 (arrow ? ": pointer to a struct or union expected"
                        : ": struct or union expected"));
    Member found;
    if (!whole->find_member(node.text, found)) {
        std::vector<std::string_view> names;
        for (const Member& candidate : r->members)
            names.emplace_back(candidate.name);
        fail(Tag::TYPE_MEMBER, node.at,
             node.text + " is not a member of " + type_text(whole) +
                 suggestion(node.text, names));
    }
    node.type = found.type;
    node.value = found.offset_bits / 8;
    if (found.bitfield_bits != 0) {
        std::uint64_t bytes = unit_of(found, r->size, node);
        node.bitfield = true;
        node.bitfield_unit = static_cast<std::uint32_t>(bytes);
        node.bitfield_offset =
            static_cast<std::uint32_t>(found.offset_bits - node.value * 8);
        node.bitfield_bits = found.bitfield_bits;
    }
    node.is_lvalue = arrow || node.left->is_lvalue;
    node.userland =
        node.left->userland || is_userland(whole) || is_userland(found.type);
}

void Checker::deref(Node& node)
{
    const Node& pointer = *node.left;
    require_value(pointer);
    const Type* base = pointee(pointer.type);
    if (!base)
        fail(Tag::DEREF_NONPTR, node.at,
             "cannot dereference a value of type " + quoted(pointer.type) +
                 ", which is not a pointer");
    const Type* r = base->resolve();
    if (r->kind == TypeKind::Void)
        fail(Tag::DEREF_VOID, node.at, "cannot dereference a pointer to void");
    if (r->kind == TypeKind::Function)
        fail(Tag::DEREF_FUNC, node.at, "cannot dereference a pointer to a function");
    if (is_incomplete(r))
        fail(Tag::OP_INCOMPLETE, node.at,
             "operator * cannot be applied to a pointer to the incomplete type " +
                 quoted(base));
    node.type = base;
    node.is_lvalue = true;
    node.userland = pointer.userland || is_userland(base);
}

void Checker::address_of(Node& node)
{
    const Node& object = *node.left;
    bool builtin_element = object.kind == NodeKind::Index && object.left->ident &&
                           object.left->ident->kind == IdentKind::Builtin;
    bool element = object.kind == NodeKind::Index && object.left->ident &&
                   object.left->ident->kind == IdentKind::AssocArray;
    if (object.kind == NodeKind::Ident || element || builtin_element) {
        bool by_ref = is_array(object.type) || object.type->is_struct_or_union();
        if (!by_ref || object.ident == nullptr)
            fail(Tag::ADDROF_VAR, node.at,
                 "cannot take the address of a dynamic variable or built-in variable");
    } else if (!object.is_lvalue) {
        fail(Tag::ADDROF_LVAL, node.at, "operator & must be applied to an lvalue");
    }
    if (object.bitfield)
        fail(Tag::ADDROF_BITFIELD, node.at, "cannot take the address of a bit-field");
    node.type = types_.pointer_to(object.type, object.userland);
    node.userland = object.userland;
}

void Checker::size_of(NodePtr& slot)
{
    Node& node = *slot;
    const Type* type = node.decl_type;
    if (node.kind == NodeKind::SizeofExpr && node.left->kind == NodeKind::String) {
        slot = make_integer(node.left->text.size() + 1, size_type(types_), node.at);
        return;
    }
    if (node.kind == NodeKind::SizeofExpr) {
        expr(node.left);
        type = node.left->type;
        if (node.left->bitfield)
            fail(Tag::SIZEOF_BITFIELD, node.at, "cannot apply sizeof to a bit-field");
    }
    const Type* r = type->resolve();
    if (r->kind == TypeKind::Void || r->kind == TypeKind::Function ||
        r->kind == TypeKind::Dynamic || is_incomplete(r))
        fail(Tag::SIZEOF_TYPE, node.at, "cannot apply sizeof to " + quoted(type));
    slot = make_integer(r->size, size_type(types_), node.at);
}

void Checker::offset_of(NodePtr& slot)
{
    Node& node = *slot;
    if (!node.decl_type->is_struct_or_union() || is_incomplete(node.decl_type))
        fail(Tag::OFFSETOF_TYPE, node.at,
             "offsetof requires a complete struct or union, not " +
                 quoted(node.decl_type));
    Member found;
    if (!node.decl_type->find_member(node.text, found))
        fail(Tag::TYPE_MEMBER, node.at,
             node.text + " is not a member of " + type_text(node.decl_type));
    if (found.bitfield_bits != 0)
        fail(Tag::OFFSETOF_BITFIELD, node.at,
             "cannot apply offsetof to the bit-field " + node.text);
    slot = make_integer(found.offset_bits / 8, size_type(types_), node.at);
}

} // namespace dt
