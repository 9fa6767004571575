// SPDX-License-Identifier: MIT
#include "libdtrace/compile/generate/generate.hpp"

#include "dif/ops.h"

namespace dt {

namespace {

std::uint8_t ckind_of(const Type* type)
{
    switch (type->kind) {
    case TypeKind::Integer:
        return DIF_CKIND_INTEGER;
    case TypeKind::Float:
        return DIF_CKIND_FLOAT;
    case TypeKind::Pointer:
        return DIF_CKIND_POINTER;
    case TypeKind::Array:
        return DIF_CKIND_ARRAY;
    case TypeKind::Function:
        return DIF_CKIND_FUNCTION;
    case TypeKind::Struct:
        return DIF_CKIND_STRUCT;
    case TypeKind::Union:
        return DIF_CKIND_UNION;
    case TypeKind::Enum:
        return DIF_CKIND_ENUM;
    default:
        return DIF_CKIND_UNKNOWN;
    }
}

} // namespace

bool travels_by_ref(const Type* type)
{
    return type->is_by_ref() || (type->is_float() && type->resolve()->size > 8);
}

bool is_signed_integer(const Type* type)
{
    const Type* resolved = type->resolve();
    return resolved->is_signed;
}

dif_type dif_type_of(const Type* type, bool userland)
{
    const Type* resolved = type->resolve();
    if (resolved->kind == TypeKind::Void)
        return dif_type_nothing();
    dif_type out = {};
    out.kind = resolved->is_string() ? DIF_TYPE_STRING : DIF_TYPE_CTF;
    out.ckind = ckind_of(resolved);
    out.size = static_cast<dt_u32>(resolved->size);
    if (travels_by_ref(resolved))
        out.flags = userland ? DIF_TF_BYREF | DIF_TF_BYUREF : DIF_TF_BYREF;
    return out;
}

dif_type dif_type_word()
{
    return {DIF_TYPE_CTF, DIF_CKIND_INTEGER, 0, 0, 8};
}

dif_type dif_type_nothing()
{
    return {DIF_TYPE_CTF, DIF_CKIND_INTEGER, 0, 0, 0};
}

std::uint64_t element_bytes(const Type* pointer)
{
    const Type* base = pointer->resolve()->base;
    std::uint64_t bytes = base == nullptr ? 0 : base->resolve()->size;
    // pointers to void and to functions are incremented by one byte
    return bytes == 0 ? 1 : bytes;
}

} // namespace dt
