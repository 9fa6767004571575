// SPDX-License-Identifier: MIT
// Creates the types of the tables in types_predefined.hpp.
#include "libdtrace/compile/types/types_predefined.hpp"

#include "libdtrace/compile/types/types.hpp"
#include "libdtrace/compile/types/types_layout.hpp"

#include <cassert>
#include <cstdarg>
#include <initializer_list>

namespace dt {

namespace {

struct Row {
    const char* type;
    const char* name;
    std::uint64_t count = 0; // number of elements, or 0 if it is not an array
};

const Type* row_type(TypeTable& types, const Row& row)
{
    const Type* type = types.lookup(row.type);
    assert(type != nullptr);
    return row.count == 0 ? type : types.array_of(type, row.count);
}

void fill(TypeTable& types, Type& into, std::initializer_list<Row> rows)
{
    StructLayout layout(into);
    for (const Row& row : rows)
        layout.add(row.name, row_type(types, row));
    layout.finish();
}

void declare_struct(TypeTable& types, const char* name, std::initializer_list<Row> rows)
{
    Type* type = types.declare(TypeKind::Struct, name);
    assert(type != nullptr);
    fill(types, *type, rows);
}

void declare_typedef(TypeTable& types, const char* name, const char* base)
{
    Type* type = types.declare(TypeKind::Typedef, name);
    assert(type != nullptr);
    type->base = types.lookup(base);
    assert(type->base != nullptr);
    type->complete = true;
}

// Declares struct in6_addr with the member names of the kernel, libc and Solaris.
void declare_in6_addr(TypeTable& types)
{
    Type* kernel = types.anonymous(TypeKind::Union);
    fill(types, *kernel,
         {{"uint8_t", "u6_addr8", 16},
          {"uint16_t", "u6_addr16", 8},
          {"uint32_t", "u6_addr32", 4}});
    Type* libc = types.anonymous(TypeKind::Union);
    fill(types, *libc,
         {{"uint8_t", "__u6_addr8", 16},
          {"uint16_t", "__u6_addr16", 8},
          {"uint32_t", "__u6_addr32", 4}});
    Type* solaris = types.anonymous(TypeKind::Union);
    fill(types, *solaris, {{"uint8_t", "_S6_u8", 16}, {"uint32_t", "_S6_u32", 4}});

    Type* all = types.anonymous(TypeKind::Union);
    StructLayout layout(*all);
    layout.add("in6_u", kernel);
    layout.add("__in6_u", libc);
    layout.add("_S6_un", solaris);
    layout.add("s6_addr", row_type(types, {"uint8_t", "", 16}));
    layout.add("s6_addr16", row_type(types, {"uint16_t", "", 8}));
    layout.add("s6_addr32", row_type(types, {"uint32_t", "", 4}));
    layout.finish();

    Type* address = types.declare(TypeKind::Struct, "in6_addr");
    StructLayout outer(*address);
    outer.add("", all);
    outer.finish();
    declare_typedef(types, "in6_addr_t", "struct in6_addr");
}

// Declares a type that has only a size and an alignment.
void declare_opaque(TypeTable& types, const char* name, std::uint64_t bytes,
                    std::uint32_t align)
{
    Type* body = types.anonymous(TypeKind::Struct);
    StructLayout layout(*body);
    layout.add("bytes", types.array_of(types.lookup("unsigned char"), bytes));
    layout.finish(align);
    Type* type = types.declare(TypeKind::Typedef, name);
    assert(type != nullptr);
    type->base = body;
    type->complete = true;
}

} // namespace

void declare_predefined_types(TypeTable& types)
{
#define X(name, base) declare_typedef(types, name, base);
    D_PREDEFINED_TYPEDEFS(X)
#undef X
#define X(name, bytes, align) declare_opaque(types, name, bytes, align);
    D_OPAQUE_TYPES(X)
#undef X

    declare_struct(types, "in_addr", {{"in_addr_t", "s_addr"}});
    declare_in6_addr(types);
    declare_struct(types, "sockaddr",
                   {{"sa_family_t", "sa_family"}, {"char", "sa_data", 14}});
    declare_struct(types, "sockaddr_in",
                   {{"sa_family_t", "sin_family"},
                    {"in_port_t", "sin_port"},
                    {"struct in_addr", "sin_addr"},
                    {"unsigned char", "sin_zero", 8}});
    declare_struct(types, "sockaddr_in6",
                   {{"sa_family_t", "sin6_family"},
                    {"in_port_t", "sin6_port"},
                    {"uint32_t", "sin6_flowinfo"},
                    {"struct in6_addr", "sin6_addr"},
                    {"uint32_t", "sin6_scope_id"}});
    declare_struct(types, "timeval",
                   {{"time_t", "tv_sec"}, {"suseconds_t", "tv_usec"}});
    declare_struct(types, "timespec", {{"time_t", "tv_sec"}, {"long", "tv_nsec"}});

#define X(type, name) {type, #name},
    declare_struct(types, "psinfo", {D_PSINFO_MEMBERS(X)});
    declare_struct(types, "lwpsinfo", {D_LWPSINFO_MEMBERS(X)});
    declare_struct(types, "fileinfo", {D_FILEINFO_MEMBERS(X)});
#undef X
    declare_typedef(types, "psinfo_t", "struct psinfo");
    declare_typedef(types, "lwpsinfo_t", "struct lwpsinfo");
    declare_typedef(types, "fileinfo_t", "struct fileinfo");
}

} // namespace dt
