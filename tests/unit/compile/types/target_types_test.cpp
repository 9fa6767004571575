// SPDX-License-Identifier: MIT
// Tests that types from invalid debug data of a target are usable like any other types.
#include "libdtrace/compile/check/argument_places.hpp"
#include "libdtrace/compile/types/target_types.hpp"
#include "libdtrace/symbols/debug/dwarf_types.hpp"
#include "tests/unit/compile/types/dwarf_file.hpp"
#include "tests/unit/n_cases.hpp"

using namespace dt;

namespace {

DwarfEntry base_type(int label, const std::string& name, std::uint64_t bytes,
                     std::uint64_t encoding)
{
    return {DW_TAG_base_type,
            label,
            {{DW_AT_name, name}, {DW_AT_byte_size, bytes}, {DW_AT_encoding, encoding}},
            {}};
}

DwarfEntry integer(int label)
{
    return base_type(label, "int", 4, DW_ATE_signed);
}

DwarfEntry derived(unsigned tag, int label, int of)
{
    return {tag, label, {{DW_AT_type, EntryLabel{of}}}, {}};
}

DwarfEntry named(unsigned tag, int label, const std::string& name, int of)
{
    return {tag, label, {{DW_AT_name, name}, {DW_AT_type, EntryLabel{of}}}, {}};
}

DwarfEntry member(const std::string& name, int of, std::uint64_t at_bytes)
{
    return {DW_TAG_member,
            0,
            {{DW_AT_name, name},
             {DW_AT_type, EntryLabel{of}},
             {DW_AT_data_member_location, at_bytes}},
            {}};
}

DwarfEntry bit_field(const std::string& name, int of, std::uint64_t at_bits,
                     std::uint64_t n_bits)
{
    return {DW_TAG_member,
            0,
            {{DW_AT_name, name},
             {DW_AT_type, EntryLabel{of}},
             {DW_AT_bit_size, n_bits},
             {DW_AT_data_bit_offset, at_bits}},
            {}};
}

DwarfEntry structure(int label, const std::string& name, std::uint64_t bytes,
                     std::vector<DwarfEntry> members)
{
    return {DW_TAG_structure_type,
            label,
            {{DW_AT_name, name}, {DW_AT_byte_size, bytes}},
            std::move(members)};
}

// The types of a target whose debug data consists of `entries`. use() passes a type to
// the functions that walk types.
struct Lying {
    explicit Lying(std::vector<DwarfEntry> entries,
                   std::uint64_t language = DW_LANG_C99)
    {
        Fd fd = DwarfFile(std::move(entries), language).open();
        auto opened = DwarfTypes::open(fd.get());
        EXPECT_TRUE(opened) << (opened ? "" : opened.error().text);
        if (opened)
            from = std::move(*opened);
    }

    const Type* type(std::string_view name,
                     DebugTypes::Kind kind = DebugTypes::Kind::Struct)
    {
        auto ref = from->find(kind, name);
        EXPECT_TRUE(ref) << name;
        return ref ? use(types.type(*from, *ref)) : table.void_type();
    }

    const Type* use(const Type* type)
    {
        Member found;
        type->find_member("no such member", found);
        EXPECT_LT(type_text(type).size(), 100'000u);
        argument_places({type, type, type}, type);
        return type;
    }

    std::unique_ptr<DebugTypes> from;
    TypeTable table;
    TargetTypes types{table};
};

constexpr auto ordinary = DebugTypes::Kind::Ordinary;

} // namespace

TEST(TargetTypes, ATypedefOfItselfIsVoid)
{
    Lying data({named(DW_TAG_typedef, 1, "self", 1), named(DW_TAG_typedef, 2, "one", 3),
                named(DW_TAG_typedef, 3, "other", 2)});
    EXPECT_EQ(data.type("self", ordinary)->resolve()->kind, TypeKind::Void);
    EXPECT_EQ(data.type("one", ordinary)->resolve()->kind, TypeKind::Void);
}

TEST(TargetTypes, AMemberWhoseTypeIsATypedefOfItselfIsOmitted)
{
    Lying data({named(DW_TAG_typedef, 1, "self", 1), integer(2),
                structure(3, "s", 8,
                          {member("bad", 1, 0), member("good", 2, 4),
                           bit_field("bits", 1, 3, 4)})},
               DW_LANG_C_plus_plus);
    const Type* type = data.type("s");
    ASSERT_EQ(type->members.size(), 1u);
    EXPECT_EQ(type->members[0].name, "good");
}

TEST(TargetTypes, AStructWithinItselfIsLeftOutOfItself)
{
    Lying data({structure(1, "direct", 8, {member("inner", 1, 0), member("", 1, 0)}),
                structure(2, "a", 8, {member("", 3, 0)}),
                structure(3, "b", 8, {member("", 2, 0)}),
                structure(4, "by_array", 8, {member("all", 5, 0)}),
                {DW_TAG_array_type,
                 5,
                 {{DW_AT_type, EntryLabel{4}}},
                 {{DW_TAG_subrange_type, 0, {{DW_AT_count, std::uint64_t{1}}}, {}}}}},
               DW_LANG_C_plus_plus);
    EXPECT_TRUE(data.type("direct")->members.empty());
    EXPECT_EQ(data.type("a")->members.size(), 1u);
    EXPECT_EQ(data.type("b")->members.size(), 0u);
    EXPECT_TRUE(data.type("by_array")->members.empty());
}

TEST(TargetTypes, AnArrayOrPointerOfItselfEnds)
{
    DwarfEntry array{
        DW_TAG_array_type,
        1,
        {{DW_AT_type, EntryLabel{1}}},
        {{DW_TAG_subrange_type, 0, {{DW_AT_count, std::uint64_t{9}}}, {}}}};
    Lying data({array, derived(DW_TAG_pointer_type, 2, 2),
                derived(DW_TAG_const_type, 3, 3), named(DW_TAG_typedef, 4, "array", 1),
                named(DW_TAG_typedef, 5, "pointer", 2),
                named(DW_TAG_typedef, 6, "constant", 3)});
    for (const char* name : {"array", "pointer", "constant"})
        data.type(name, ordinary);
}

TEST(TargetTypes, AFunctionThatTakesItselfManyTimesEnds)
{
    DwarfEntry function{DW_TAG_subroutine_type, 1, {{DW_AT_type, EntryLabel{1}}}, {}};
    for (int i = 0; i < 1000; i++)
        function.children.push_back(derived(DW_TAG_formal_parameter, 0, 1));
    Lying data({function, named(DW_TAG_typedef, 2, "function", 1)});
    data.type("function", ordinary);
}

TEST(TargetTypes, FunctionsOfFunctionsDoNotDoubleForEver)
{
    std::vector<DwarfEntry> entries{integer(1)};
    for (int i = 2; i < 90; i++)
        entries.push_back({DW_TAG_subroutine_type,
                           i,
                           {{DW_AT_type, EntryLabel{i - 1}}},
                           {derived(DW_TAG_formal_parameter, 0, i - 1),
                            derived(DW_TAG_formal_parameter, 0, i - 1)}});
    entries.push_back(named(DW_TAG_typedef, 90, "last", 89));
    Lying data(entries);
    const Type* last = data.type("last", ordinary);
    EXPECT_LT(type_text(last->base).size(), 100'000u);
}

TEST(TargetTypes, StructsOfStructsDoNotDoubleForEver)
{
    std::vector<DwarfEntry> entries{integer(1)};
    for (int i = 2; i < 90; i++)
        entries.push_back(structure(i, "s" + std::to_string(i), 16,
                                    {member("", i - 1, 0), member("", i - 1, 0)}));
    Lying data(entries);
    for (int i = 2; i < 90; i++)
        data.type("s" + std::to_string(i));
    Lying from_the_top(entries);
    from_the_top.type("s89");
}

TEST(TargetTypes, PointersOfPointersEndSomewhere)
{
    std::vector<DwarfEntry> entries{integer(1)};
    std::vector<DwarfEntry> members;
    const int n = static_cast<int>(test::n_cases(20000));
    for (int i = 2; i < n; i++) {
        entries.push_back(derived(DW_TAG_pointer_type, i, i - 1));
        members.push_back(member("m" + std::to_string(i), i, 0));
    }
    entries.push_back(structure(n, "s", 8, members));
    Lying data(entries);
    for (const Member& one : data.type("s")->members)
        ASSERT_LT(type_text(one.type).size(), 4000u);
}

TEST(TargetTypes, MembersOutsideTheirStructAreOmitted)
{
    Lying data(
        {integer(1),
         structure(2, "s", 8,
                   {member("in", 1, 4), member("across", 1, 5), member("behind", 1, 8),
                    member("far", 1, ~std::uint64_t{0} / 8 - 3),
                    bit_field("fits", 1, 60, 4), bit_field("not", 1, 60, 5),
                    bit_field("wide", 1, 0, 33), bit_field("wider", 1, 0, 1 << 31)})});
    const Type* type = data.type("s");
    ASSERT_EQ(type->members.size(), 2u);
    EXPECT_EQ(type->members[0].name, "in");
    EXPECT_EQ(type->members[1].name, "fits");
}

TEST(TargetTypes, HugeSizesAndCountsAreCut)
{
    DwarfEntry array{DW_TAG_array_type, 2, {{DW_AT_type, EntryLabel{1}}}, {}};
    for (int i = 0; i < 8; i++)
        array.children.push_back(
            {DW_TAG_subrange_type, 0, {{DW_AT_count, std::uint64_t{1} << 40}}, {}});
    DwarfEntry deep{DW_TAG_array_type, 5, {{DW_AT_type, EntryLabel{1}}}, {}};
    for (int i = 0; i < 60000; i++)
        deep.children.push_back(
            {DW_TAG_subrange_type, 0, {{DW_AT_count, std::uint64_t{1}}}, {}});
    Lying data({integer(1), array, named(DW_TAG_typedef, 3, "array", 2), deep,
                named(DW_TAG_typedef, 6, "deep", 5),
                structure(4, "s", ~std::uint64_t{0}, {member("m", 1, 1 << 20)})});
    EXPECT_LE(data.type("array", ordinary)->size, 1u << 31);
    EXPECT_LE(data.type("s")->size, 1u << 31);
    data.type("deep", ordinary);
}

TEST(TargetTypes, AStructMayPointToArraysOfItself)
{
    Lying data({structure(1, "s", 8, {member("all", 4, 0)}),
                {DW_TAG_array_type,
                 2,
                 {{DW_AT_type, EntryLabel{1}}},
                 {{DW_TAG_subrange_type, 0, {{DW_AT_count, std::uint64_t{2}}}, {}}}},
                named(DW_TAG_typedef, 3, "pair", 2),
                derived(DW_TAG_pointer_type, 4, 3)});
    const Type* pair = data.type("pair", ordinary);
    EXPECT_EQ(pair->size, 16u);
    const Type* pointer = data.type("s")->members.at(0).type;
    EXPECT_EQ(pointer->base, pair);
}
