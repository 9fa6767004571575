// SPDX-License-Identifier: MIT
// Checks curpsinfo, curlwpsinfo and fds[n], which are structures that do not exist in
// memory. Each member is replaced with the builtin that computes it, or with a
// translation of the kernel's current thread.
#include "libdtrace/compile/check/check_internal.hpp"

namespace dt {

bool Checker::is_builtin_variable(std::string_view name) const
{
    return find_variable_row(name) || (is_structure(name) && is_there(name));
}

void Checker::no_address(const Node& name)
{
    const std::string example = name.text == "curpsinfo"     ? "->pr_pid"
                                : name.text == "curlwpsinfo" ? "->pr_lwpid"
                                                             : "[0].fi_pathname";
    fail(Tag::VAR_UNSUP, name.at,
         name.text + " has no address in user space; read its members instead, as in " +
             name.text + example);
}

static const VariableRow* row_of(std::string_view name)
{
    const VariableRow* row = find_variable_row(name);
    return row ? row : find_member_row(name);
}

// Returns whether the node is a name of the selected version of D, and no variable of
// the program hides this name.
bool Checker::is_own_name(const Node& node)
{
    return node.kind == NodeKind::Ident && node.scope == Scope::Global &&
           is_there(node.text) && !find_variable(Scope::Global, node.text);
}

// Replaces a member of curpsinfo or curlwpsinfo with an xlate of the current thread.
// For example, curpsinfo->pr_addr becomes xlate <psinfo_t *> (curthread)->pr_addr.
void Checker::translate_current(Node& member)
{
    if (kernel_type_of("curthread") == nullptr)
        fail(Tag::XLATE_NONE, member.at,
             member.left->text + "->" + member.text + " cannot be read" +
                 context_.target.kernel().why_no_type("", "task_struct",
                                                      TargetNames::Kind::Struct));
    auto current = std::make_unique<Node>();
    current->kind = NodeKind::Ident;
    current->text = "curthread";
    current->at = member.at;
    auto xlate = std::make_unique<Node>();
    xlate->kind = NodeKind::Xlate;
    xlate->at = member.at;
    xlate->decl_type = types_.pointer_to(types_.lookup_original(
        member.left->text == "curpsinfo" ? "psinfo_t" : "lwpsinfo_t"));
    xlate->left = std::move(current);
    member.left = std::move(xlate);
}

// Returns whether an expression is a string member of curpsinfo or curlwpsinfo.
bool Checker::is_string_of_current(const Node& node)
{
    if (node.kind != NodeKind::Arrow || !is_own_name(*node.left) ||
        !find_psinfo_row(node.left->text, node.text))
        return false;
    const Type* whole = types_.lookup_original(
        node.left->text == "curpsinfo" ? "psinfo_t" : "lwpsinfo_t");
    Member found;
    return whole->find_member(node.text, found) && found.type->is_string();
}

bool Checker::psinfo_member(NodePtr& slot)
{
    const Node& base = *slot->left;
    if (!is_own_name(base) || (base.text != "curpsinfo" && base.text != "curlwpsinfo"))
        return false;
    const PsinfoRow* row = find_psinfo_row(base.text, slot->text);
    if (!row)
        fail(Tag::TYPE_MEMBER, slot->at,
             slot->text + " is not a member of " +
                 (base.text == "curpsinfo" ? "psinfo_t" : "lwpsinfo_t"));
    switch (row->kind) {
    case PsinfoRow::Kind::Kernel:
        if (options_.kernel) {
            translate_current(*slot);
            return false;
        }
        fail(Tag::VAR_UNSUP, slot->at,
             base.text + "->" + slot->text + ": " + needs_module);
    case PsinfoRow::Kind::Number:
        slot = make_integer(row->number, types_.int_type(), slot->at);
        return true;
    case PsinfoRow::Kind::Variable:
        break;
    }
    Ident* ident = builtin(*row_of(row->variable), slot->at);
    auto value = std::make_unique<Node>();
    value->kind = NodeKind::Ident;
    value->text = row->variable;
    value->at = slot->at;
    value->ident = ident;
    value->type = ident->type;
    slot = std::move(value);
    return true;
}

// Replaces fds[n].fi_name with an element of the builtin array fi_name.
bool Checker::fds_member(NodePtr& slot)
{
    Node& element = *slot->left;
    if (element.kind != NodeKind::Index || !is_own_name(*element.left) ||
        element.left->text != "fds")
        return false;
    const VariableRow* row = find_member_row(slot->text);
    if (!row || !row->array)
        fail(Tag::TYPE_MEMBER, slot->at, slot->text + " is not a member of fileinfo_t");
    if (element.args.size() != 1)
        fail(Tag::PROTO_LEN, element.at,
             "fds[ ] prototype mismatch: " + std::to_string(element.args.size()) +
                 " args passed, 1 expected");
    expr(element.args[0]);
    const Node& fd = *element.args[0];
    require_value(fd);
    if (!fd.type->is_integer())
        fail(Tag::PROTO_ARG, fd.at,
             "fds[ ] key #1 is incompatible with prototype:\n\tprototype: int\n\t"
             "      key: " +
                 node_type_text(fd));
    uses(facts_of("fds").attributes, "identifier fds", slot->at);
    element.left->text = row->name;
    element.left->ident = builtin(*row, slot->at);
    element.left->type = element.left->ident->type;
    element.type = element.left->type;
    element.at = slot->at;
    slot = std::move(slot->left);
    return true;
}

} // namespace dt
