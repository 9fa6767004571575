// SPDX-License-Identifier: MIT
// Names of the kernel's objects, and builtins that only the kernel module can compute.
// A clause that uses such a name or builtin runs only in the kernel. Using a type of
// the kernel does not have this effect.
//
// Pointers into the kernel are not marked userland, because the clause runs in the
// kernel.
#include "libdtrace/compile/check/check_internal.hpp"

#include <algorithm>

namespace dt {

void Checker::uses_kernel()
{
    needs_kernel_ = true;
    if (clause_ != nullptr)
        clause_->needs_kernel = true;
}

// Returns whether samples without the kernel module provide the clause with the kernel's
// stack.
bool Checker::has_sampled_stack() const
{
    return options_.environment != nullptr && clause_ != nullptr &&
           std::all_of(clause_->probes.begin(), clause_->probes.end(),
                       [this](const ProbeSpec& spec) {
                           return options_.environment->has_recorded_stack(spec);
                       });
}

// Returns the type of a builtin from the kernel's type data. Returns null if the
// builtin's row contains the type, or if the type is not found.
const Type* Checker::kernel_type_of(std::string_view name)
{
    static constexpr std::pair<std::string_view, std::string_view> pointers[] = {
        {"curthread", "task_struct"}};
    for (auto [variable, tag] : pointers)
        if (variable == name)
            if (const Type* type =
                    context_.target.kernel().type("", tag, TargetNames::Kind::Struct))
                return types_.pointer_to(type);
    return nullptr;
}

// Returns the value of an enumerator of the kernel. The name must be in capitals, so
// that a misspelt variable does not match an enumerator.
std::optional<std::int64_t> Checker::kernel_enumerator(std::string_view name)
{
    auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
    if (std::any_of(name.begin(), name.end(), is_lower))
        return std::nullopt;
    return context_.target.kernel().enumerator("", name);
}

// Replaces a symbol of the kernel with its value. A function's value is its address.
void Checker::kernel_symbol(NodePtr& slot, bool address_only,
                            const TargetNames::Variable& variable)
{
    const std::string text = slot->text;
    const Place at = slot->at;
    // kernel symbols have no stability guarantee
    uses(Attributes{}, "symbol " + text, at);
    uses_kernel();
    const Type* type = variable.type;
    if (variable.per_cpu && !address_only)
        fail(Tag::SYM_NOTYPES, at,
             "symbol " + text + " is a per-CPU variable; for CPU n, use *(" +
                 type_text(types_.pointer_to(type)) + ")((uintptr_t)&" + text +
                 " + `__per_cpu_offset[n])");
    if (!type && !address_only && !variable.is_function)
        fail(
            Tag::SYM_NOTYPES, at,
            "symbol " + text +
                " has no type: the kernel's type data does not describe it; *(int *)&" +
                text + " reads it as an int");
    NodePtr pointer = make_integer(
        variable.addr, types_.pointer_to(type ? type : types_.void_type()), at);
    if (address_only || variable.is_function) {
        slot = std::move(pointer);
        return;
    }
    slot = std::make_unique<Node>();
    slot->kind = NodeKind::Unary;
    slot->op = Op::Deref;
    slot->at = at;
    slot->left = std::move(pointer);
    deref(*slot);
}

} // namespace dt
