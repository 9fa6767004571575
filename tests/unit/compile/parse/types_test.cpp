// SPDX-License-Identifier: MIT
// Compares our layout of structs with the layout that this test's compiler uses.
#include "tests/unit/compile/parse/support.hpp"

#include "libdtrace/compile/types/constants.hpp"

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <netinet/in.h>

namespace dt {

namespace {

struct plain {
    char a;
    short b;
    char c;
    long d;
    char e[3];
};

struct fields {
    char a;
    unsigned b : 3;
    unsigned c : 30;
    int : 0;
    unsigned char d : 4, e : 5;
    long f : 33;
    short g;
};

struct padded {
    char a;
    long : 3;
    char b;
};

union either {
    char a[5];
    int b;
    unsigned c : 9;
};

struct flexible {
    int n;
    char data[];
};

struct expected {
    const char* name;
    std::size_t size, align;
};

std::uint64_t offset(const Parsed& parsed, const char* type, const char* member)
{
    Member found;
    EXPECT_TRUE(parsed.types.lookup(type)->find_member(member, found)) << member;
    return found.offset_bits;
}

// Returns the index of a bit-field's first bit. The function `set` must set the field
// to 1.
template <class T, class Set> std::uint64_t first_bit(Set set)
{
    T value{};
    set(value);
    unsigned char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    for (std::size_t i = 0; i < sizeof bytes * 8; ++i)
        if (bytes[i / 8] >> (i % 8) & 1)
            return i;
    return ~0ull;
}

constexpr const char* declarations = R"(
struct plain { char a; short b; char c; long d; char e[3]; };
struct fields { char a; unsigned b : 3; unsigned c : 30; int : 0;
                unsigned char d : 4, e : 5; long f : 33; short g; };
struct padded { char a; long : 3; char b; };
union either { char a[5]; int b; unsigned c : 9; };
struct flexible { int n; char data[]; };
)";

} // namespace

TEST(Layout, IsThatOfTheMachinesCompiler)
{
    Parsed parsed(declarations);
    ASSERT_FALSE(parsed.error) << parsed.message();
    const expected cases[] = {
        {"struct plain", sizeof(plain), alignof(plain)},
        {"struct fields", sizeof(fields), alignof(fields)},
        {"struct padded", sizeof(padded), alignof(padded)},
        {"union either", sizeof(either), alignof(either)},
        {"struct flexible", sizeof(flexible), alignof(flexible)},
        {"struct in_addr", sizeof(in_addr), alignof(in_addr)},
        {"struct in6_addr", sizeof(in6_addr), alignof(in6_addr)},
        {"struct sockaddr_in", sizeof(sockaddr_in), alignof(sockaddr_in)},
        {"struct sockaddr_in6", sizeof(sockaddr_in6), alignof(sockaddr_in6)},
    };
    for (const expected& row : cases) {
        const Type* type = parsed.types.lookup(row.name);
        ASSERT_NE(type, nullptr) << row.name;
        EXPECT_EQ(type->size, row.size) << row.name;
        EXPECT_EQ(type->align, row.align) << row.name;
    }
    EXPECT_EQ(offset(parsed, "struct plain", "b"), offsetof(plain, b) * 8);
    EXPECT_EQ(offset(parsed, "struct plain", "d"), offsetof(plain, d) * 8);
    EXPECT_EQ(offset(parsed, "struct plain", "e"), offsetof(plain, e) * 8);
    EXPECT_EQ(offset(parsed, "struct padded", "b"), offsetof(padded, b) * 8);
    EXPECT_EQ(offset(parsed, "struct flexible", "data"), offsetof(flexible, data) * 8);
}

TEST(Layout, PutsBitFieldsWhereTheCompilerDoes)
{
    Parsed parsed(declarations);
    ASSERT_FALSE(parsed.error) << parsed.message();
    EXPECT_EQ(offset(parsed, "struct fields", "b"),
              first_bit<fields>([](fields& f) { f.b = 1; }));
    EXPECT_EQ(offset(parsed, "struct fields", "c"),
              first_bit<fields>([](fields& f) { f.c = 1; }));
    EXPECT_EQ(offset(parsed, "struct fields", "d"),
              first_bit<fields>([](fields& f) { f.d = 1; }));
    EXPECT_EQ(offset(parsed, "struct fields", "e"),
              first_bit<fields>([](fields& f) { f.e = 1; }));
    EXPECT_EQ(offset(parsed, "struct fields", "f"),
              first_bit<fields>([](fields& f) { f.f = 1; }));
    EXPECT_EQ(offset(parsed, "struct fields", "g"), offsetof(fields, g) * 8);
}

TEST(Types, AreTheSameObjectWhenTheyAreTheSameType)
{
    TypeTable types;
    EXPECT_EQ(types.pointer_to(types.int_type()), types.pointer_to(types.int_type()));
    EXPECT_NE(types.pointer_to(types.int_type()),
              types.pointer_to(types.int_type(), true));
    EXPECT_EQ(types.array_of(types.int_type(), 3), types.array_of(types.int_type(), 3));
    EXPECT_EQ(types.qualified(types.int_type(), true, false, false)->resolve(),
              types.int_type());
    EXPECT_EQ(types.qualified(types.int_type(), false, false, false), types.int_type());
}

TEST(Types, AreFoundByAnySpelling)
{
    TypeTable types;
    EXPECT_EQ(types.lookup("long unsigned int"), types.lookup("unsigned long"));
    EXPECT_EQ(types.lookup("short int"), types.lookup("short"));
    EXPECT_EQ(type_text(types.lookup("void *")), "void *");
    EXPECT_EQ(type_text(types.lookup("struct in_addr **")), "struct in_addr **");
    EXPECT_EQ(types.lookup("nosuch"), nullptr);
    EXPECT_EQ(types.lookup("union in_addr"), nullptr);
    EXPECT_EQ(types.lookup(""), nullptr);
}

TEST(Types, HaveTheirSizesWithoutAnyDebugData)
{
    TypeTable types(512);
    const expected cases[] = {
        {"int8_t", 1, 1},  {"uint16_t", 2, 2}, {"uint64_t", 8, 8},
        {"size_t", 8, 8},  {"pid_t", 4, 4},    {"hrtime_t", 8, 8},
        {"__u8", 1, 1},    {"bool", 1, 1},     {"ipaddr_t", 4, 4},
        {"caddr_t", 8, 8}, {"string", 512, 1}, {"long double", 16, 16},
    };
    for (const expected& row : cases) {
        const Type* type = types.lookup(row.name);
        ASSERT_NE(type, nullptr) << row.name;
        EXPECT_EQ(type->resolve()->size, row.size) << row.name;
        EXPECT_EQ(type->resolve()->align, row.align) << row.name;
    }
    EXPECT_TRUE(types.lookup("int64_t")->resolve()->is_signed);
    EXPECT_FALSE(types.lookup("uintptr_t")->resolve()->is_signed);
    Member member;
    EXPECT_TRUE(types.lookup("psinfo_t")->find_member("pr_psargs", member));
    EXPECT_TRUE(member.type->is_string());
    EXPECT_TRUE(types.lookup("lwpsinfo_t")->find_member("pr_lwpid", member));
    EXPECT_TRUE(types.lookup("fileinfo_t")->find_member("fi_mount", member));
    EXPECT_TRUE(types.lookup("struct in6_addr")->find_member("s6_addr", member));
    EXPECT_EQ(member.offset_bits, 0u);
    EXPECT_EQ(type_text(member.type), "uint8_t [16]");
}

TEST(Types, SayWhatTheyCanDo)
{
    TypeTable types;
    EXPECT_TRUE(types.lookup("char *")->is_string_compatible());
    EXPECT_TRUE(types.string_type()->is_string_compatible());
    EXPECT_FALSE(types.lookup("int *")->is_string_compatible());
    EXPECT_TRUE(types.lookup("pid_t")->is_scalar());
    EXPECT_FALSE(types.string_type()->is_scalar());
    EXPECT_TRUE(types.string_type()->is_by_ref());
    EXPECT_TRUE(types.lookup("double")->is_arithmetic());
    EXPECT_TRUE(types.lookup("psinfo_t")->is_struct_or_union());
}

TEST(Types, AreForgottenByRollback)
{
    TypeTable types;
    types.declare(TypeKind::Struct, "known");
    std::size_t mark = types.mark();
    Type* body = types.declare(TypeKind::Struct, "known");
    body->size = 4;
    body->complete = true;
    types.declare(TypeKind::Typedef, "fresh")->base = types.int_type();
    types.rollback(mark);
    EXPECT_EQ(types.lookup("fresh"), nullptr);
    ASSERT_NE(types.lookup("struct known"), nullptr);
    EXPECT_FALSE(types.lookup("struct known")->complete);
}

TEST(Types, PutAPointerToAQualifiedArrayIntoParentheses)
{
    Parsed parsed("typedef char row_t[4];\ntypedef const char (*rows_t)[4];");
    ASSERT_FALSE(parsed.error);
    TypeTable& types = parsed.types;
    const Type* row = types.lookup("row_t")->resolve();
    auto pointer = [&types](const Type* to) {
        return types.pointer_to(types.qualified(to, true, false, false));
    };
    EXPECT_EQ(declaration_text(pointer(row), "a"), "const char (*a)[4]");
    EXPECT_EQ(declaration_text(types.lookup("rows_t")->resolve(), "a"),
              "const char (*a)[4]");
    EXPECT_EQ(declaration_text(pointer(types.lookup("row_t")), "a"), "const row_t *a");
}

TEST(Types, PrintTheHiddenOnes)
{
    TypeTable types;
    EXPECT_EQ(type_text(types.stack_type()), "stack");
    EXPECT_EQ(type_text(types.dynamic_type()), "dynamic variable");
    EXPECT_EQ(type_text(types.string_type()), "string");
    EXPECT_EQ(type_text(types.array_of(types.lookup("char"), 12)), "char [12]");
}

TEST(Constants, AreThoseOfTheSystem)
{
    const std::pair<const char*, std::int64_t> cases[] = {
        {"SIGKILL", SIGKILL},         {"SIGUSR2", SIGUSR2},     {"ENOENT", ENOENT},
        {"EHWPOISON", EHWPOISON},     {"EAGAIN", EAGAIN},       {"O_CREAT", O_CREAT},
        {"O_CLOEXEC", O_CLOEXEC},     {"AF_INET", AF_INET},     {"AF_INET6", AF_INET6},
        {"O_DIRECTORY", O_DIRECTORY}, {"O_APPEND", O_APPEND},   {"O_SYNC", O_SYNC},
        {"SIGSYS", SIGSYS},           {"DTRACEFLT_DIVZERO", 4}, {"SIGCHLD", SIGCHLD},
    };
    for (auto [name, value] : cases) {
        const std::int64_t* found = find_constant(name);
        ASSERT_NE(found, nullptr) << name;
        EXPECT_EQ(*found, value) << name;
    }
    EXPECT_EQ(find_constant("SIGNOSUCH"), nullptr);
}

} // namespace dt
