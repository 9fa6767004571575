// SPDX-License-Identifier: MIT
// Reads one entry of BTF as a DebugType (Documentation/bpf/btf.rst of the kernel).
#include "libdtrace/symbols/debug/btf_types.hpp"

#include <bpf/btf.h>

namespace dt {

// Recognises character types by name, because BTF marks only a few of them. The
// kernel's `char` (unsigned since Linux 6.2) becomes D's signed char.
void BtfTypes::fill_integer(const btf_type* entry, DebugType& into) const
{
    using Kind = DebugType::Kind;
    const int encoding = btf_int_encoding(entry);
    into.kind = Kind::Integer;
    into.is_signed = (encoding & BTF_INT_SIGNED) != 0;
    into.bytes = entry->size;
    if ((encoding & BTF_INT_BOOL) != 0)
        into.kind = Kind::Bool;
    if (into.bytes == 1 && (into.name == "char" || into.name == "signed char" ||
                            into.name == "unsigned char")) {
        into.kind = Kind::Character;
        into.is_signed = into.name != "unsigned char";
    }
    if (into.bytes != 1 && into.bytes != 2 && into.bytes != 4 && into.bytes != 8)
        into.kind = Kind::Opaque; // __int128
}

void BtfTypes::fill_members(const btf_type* entry, DebugType& into) const
{
    into.kind = btf_is_union(entry) ? DebugType::Kind::Union : DebugType::Kind::Struct;
    into.bytes = entry->size;
    const btf_member* members = btf_members(entry);
    for (std::uint32_t i = 0; i < btf_vlen(entry); i++) {
        DebugMember& member = into.members.emplace_back();
        member.name = text(members[i].name_off);
        member.type = members[i].type;
        member.offset_bits = btf_member_bit_offset(entry, i);
        member.bitfield_bits = btf_member_bitfield_size(entry, i);
    }
}

void BtfTypes::each_enumerator(
    const btf_type* entry,
    const std::function<void(std::string_view, std::int64_t)>& visit) const
{
    const bool is_signed = btf_kflag(entry) || !says_signs_;
    if (btf_is_enum64(entry)) {
        const struct btf_enum64* all = ::btf_enum64(entry);
        for (int i = 0; i < btf_vlen(entry); i++)
            visit(text(all[i].name_off),
                  static_cast<std::int64_t>(btf_enum64_value(&all[i])));
        return;
    }
    const struct btf_enum* all = ::btf_enum(entry);
    for (int i = 0; i < btf_vlen(entry); i++)
        visit(text(all[i].name_off),
              is_signed ? std::int64_t{all[i].val}
                        : std::int64_t{static_cast<std::uint32_t>(all[i].val)});
}

void BtfTypes::fill_enumerators(const btf_type* entry, DebugType& into) const
{
    into.kind = DebugType::Kind::Enum;
    into.bytes = entry->size;
    into.is_signed = btf_kflag(entry) || (btf_is_enum(entry) && !says_signs_);
    into.is_complete = btf_vlen(entry) != 0;
    each_enumerator(entry, [&into](std::string_view name, std::int64_t value) {
        into.enumerators.emplace_back(name, value);
    });
}

DebugType BtfTypes::type(DebugRef ref)
{
    using Kind = DebugType::Kind;
    DebugType into;
    const btf_type* its = entry(ref);
    if (its == nullptr)
        return into;
    build_index(); // sets says_signs_, which is used for enumerations below
    into.name = text(its->name_off);
    switch (btf_kind(its)) {
    case BTF_KIND_INT:
        fill_integer(its, into);
        break;
    case BTF_KIND_FLOAT:
        into.kind = Kind::Float;
        into.bytes = its->size;
        break;
    case BTF_KIND_PTR:
        into.kind = Kind::Pointer;
        into.bytes = sizeof(void*);
        into.base = its->type;
        break;
    case BTF_KIND_ARRAY: {
        const struct btf_array* array = ::btf_array(its);
        into.kind = Kind::Array;
        into.base = array->type;
        into.counts.push_back(array->nelems != 0
                                  ? std::optional<std::uint64_t>(array->nelems)
                                  : std::nullopt);
        break;
    }
    case BTF_KIND_STRUCT:
    case BTF_KIND_UNION:
        fill_members(its, into);
        break;
    case BTF_KIND_FWD:
        into.kind = btf_kflag(its) ? Kind::Union : Kind::Struct;
        into.is_complete = false;
        break;
    case BTF_KIND_ENUM:
    case BTF_KIND_ENUM64:
        fill_enumerators(its, into);
        break;
    case BTF_KIND_CONST:
        into.kind = Kind::Const;
        into.base = its->type;
        break;
    case BTF_KIND_VOLATILE:
        into.kind = Kind::Volatile;
        into.base = its->type;
        break;
    case BTF_KIND_TYPE_TAG:
    case BTF_KIND_RESTRICT: // like a type tag, it has no meaning in D
        into.name.clear();
        [[fallthrough]];
    case BTF_KIND_TYPEDEF:
        into.kind = Kind::Typedef;
        into.base = its->type;
        break;
    case BTF_KIND_FUNC:
    case BTF_KIND_FUNC_PROTO:
        if (auto function = function_of(ref)) {
            into.kind = Kind::Function;
            into.base = function->result;
            into.varargs = function->varargs;
            for (const DebugParameter& parameter : function->parameters)
                into.parameters.push_back(parameter.type);
        }
        break;
    default: // variables, sections and tags of declarations are not types
        break;
    }
    return into;
}

std::optional<DebugFunction> BtfTypes::function_of(DebugRef ref)
{
    constexpr int max_steps = 32; // invalid data may contain an endless chain
    const btf_type* its = entry(ref);
    for (int i = 0; its != nullptr && i < max_steps && !btf_is_func_proto(its); i++) {
        const bool leads_on = btf_is_func(its) || btf_is_ptr(its) || btf_is_mod(its) ||
                              btf_is_typedef(its);
        its = leads_on ? entry(its->type) : nullptr;
    }
    if (its == nullptr || !btf_is_func_proto(its))
        return std::nullopt;
    DebugFunction function;
    function.result = its->type;
    const btf_param* parameters = btf_params(its);
    for (int i = 0; i < btf_vlen(its); i++) {
        const bool is_last = i + 1 == btf_vlen(its);
        if (is_last && parameters[i].type == 0 && parameters[i].name_off == 0)
            function.varargs = true;
        else
            function.parameters.push_back(
                {std::string(text(parameters[i].name_off)), parameters[i].type});
    }
    return function;
}

} // namespace dt
