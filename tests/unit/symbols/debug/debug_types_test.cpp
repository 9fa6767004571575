// SPDX-License-Identifier: MIT
// Tests that victims/shapes.c and shapes.cpp have the same types in every form of
// DWARF.
#include "libdtrace/symbols/debug/debug_folders.hpp"
#include "libdtrace/symbols/debug/debug_types.hpp"
#include "libdtrace/symbols/elf/elf_image.hpp"
#include "libdtrace/symbols/reader/symbol_reader.hpp"
#include "process/regular_file.hpp"
#include "scratch.hpp"

#include <algorithm>
#include <elf.h>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>

using namespace dt;

namespace {

using Kind = DebugTypes::Kind;

std::string folder_of_shapes()
{
    return std::filesystem::path(SHAPES).parent_path();
}

std::string shapes(const std::string& variant)
{
    // The .dwo files of split units are in the same directory as the libraries.
    static const bool added = (add_debug_folder(folder_of_shapes()), true);
    (void)added;
    return SHAPES "." + variant + ".so";
}

// A jailed reader parses the data, as it does for dtrace.
class Shapes {
public:
    explicit Shapes(const std::string& path)
    {
        auto image = SymbolReader::create()->open({open_regular(path), {}, path, ""});
        EXPECT_TRUE(image) << path;
        if (!image)
            return;
        image_ = *image;
        auto types = image_->debug_types();
        EXPECT_TRUE(types) << types.error().text;
        types_ = types ? *types : nullptr;
    }
    explicit operator bool() const { return types_ != nullptr; }
    DebugTypes& operator*() const { return *types_; }
    DebugTypes* operator->() const { return types_; }

    DebugType at(Kind kind, std::string_view name) const
    {
        auto ref = types_->find(kind, name);
        EXPECT_TRUE(ref) << name;
        return ref ? types_->type(*ref) : DebugType{};
    }

    DebugType plain(DebugRef ref) const
    {
        DebugType type = types_->type(ref);
        while (type.kind == DebugType::Kind::Typedef ||
               type.kind == DebugType::Kind::Const ||
               type.kind == DebugType::Kind::Volatile)
            type = types_->type(type.base);
        return type;
    }

    // Returns a type as text, such as "const struct node *", "int[2][3]" or
    // "function(int, ...) -> void".
    std::string text(DebugRef ref) const
    {
        DebugType type = types_->type(ref);
        std::string name = type.name.empty() ? "(anonymous)" : type.name;
        switch (type.kind) {
        case DebugType::Kind::Void:
            return "void";
        case DebugType::Kind::Pointer:
            return text(type.base) + " *";
        case DebugType::Kind::Const:
            return "const " + text(type.base);
        case DebugType::Kind::Volatile:
            return "volatile " + text(type.base);
        case DebugType::Kind::Typedef:
            return type.name.empty() ? text(type.base) : type.name;
        case DebugType::Kind::Struct:
            return "struct " + name;
        case DebugType::Kind::Union:
            return "union " + name;
        case DebugType::Kind::Enum:
            return "enum " + name;
        case DebugType::Kind::Opaque:
            return "opaque " + std::to_string(type.bytes);
        case DebugType::Kind::Array: {
            std::string whole = text(type.base);
            for (auto count : type.counts)
                whole += "[" + (count ? std::to_string(*count) : "") + "]";
            return whole;
        }
        case DebugType::Kind::Function: {
            std::string whole = "function(";
            for (DebugRef parameter : type.parameters)
                whole += text(parameter) + ", ";
            return whole + (type.varargs ? "...)" : ")") + " -> " + text(type.base);
        }
        default: // compilers write "long int" or "long"
            return name.ends_with(" int") && name != "unsigned int"
                       ? name.substr(0, name.size() - 4)
                       : name;
        }
    }

    // Returns "name: type at OFFSET[:WIDTH]" for each member. OFFSET and WIDTH are in
    // bits. Only a bit-field has a WIDTH.
    std::vector<std::string> members(const DebugType& type) const
    {
        std::vector<std::string> all;
        for (const DebugMember& one : type.members)
            all.push_back(one.name + ": " + text(one.type) + " at " +
                          std::to_string(one.offset_bits) +
                          (one.bitfield_bits != 0
                               ? ":" + std::to_string(one.bitfield_bits)
                               : ""));
        return all;
    }
    std::vector<std::string> members(std::string_view name,
                                     Kind kind = Kind::Struct) const
    {
        return members(at(kind, name));
    }

    // Finds a function's debug data by its address, as dtrace does.
    std::optional<DebugFunction> function(std::string_view name) const
    {
        const Function* found = image_->functions().find(name);
        EXPECT_TRUE(found) << name;
        return found != nullptr ? types_->function_at(found->addr) : std::nullopt;
    }
    std::string parameters(std::string_view name) const
    {
        auto found = function(name);
        if (!found)
            return "unknown";
        std::string whole;
        for (const DebugParameter& one : found->parameters)
            whole += one.name + ": " + text(one.type) + ", ";
        return whole + (found->varargs ? "..." : "") + " -> " + text(found->result);
    }

    ElfImage& image() const { return *image_; }

private:
    std::shared_ptr<ElfImage> image_;
    DebugTypes* types_ = nullptr;
};

using Texts = std::vector<std::string>;

class DebugTypesOfC : public testing::TestWithParam<const char*> {
protected:
    void SetUp() override
    {
        if (!std::filesystem::exists(shapes(GetParam())))
            GTEST_SKIP() << "no compiler here made " << shapes(GetParam());
        c.emplace(shapes(GetParam()));
        ASSERT_TRUE(*c);
    }
    std::optional<Shapes> c;
};

class DebugTypesOfCxx : public DebugTypesOfC {};

} // namespace

TEST_P(DebugTypesOfC, MembersHaveTheirTypesAndPlaces)
{
    DebugType node = c->at(Kind::Struct, "node");
    EXPECT_EQ(node.bytes, 176u);
    EXPECT_TRUE(node.is_complete);
    Texts members = c->members(node);
    ASSERT_EQ(members.size(), 10u);
    EXPECT_EQ(members[0], "next: node_t * at 0");
    EXPECT_EQ(members[1], "name: const const char * at 64");
    EXPECT_EQ(members[2], "where: volatile int * at 128");
    EXPECT_EQ(members[3], "grid: int[2][3][4] at 192");
    EXPECT_EQ(members[4], "handler: function(node_t *, int, ...) -> void * at 960");
    EXPECT_EQ(members[5], ": struct (anonymous) at 1024");
    EXPECT_EQ(members[6], "mode: enum (anonymous) at 1152");
    EXPECT_EQ(members[9], "counter: int at 1344");
    Texts inner = c->members(c->plain(node.members[5].type));
    ASSERT_EQ(inner.size(), 2u);
    EXPECT_EQ(inner[1], ": union (anonymous) at 64");
}

TEST_P(DebugTypesOfC, BitFieldsAreWhereTheirBitsAre)
{
    Texts bits = c->members("bits");
    ASSERT_EQ(bits.size(), 5u);
    EXPECT_EQ(bits[0], "low: unsigned int at 0:3");
    EXPECT_EQ(bits[1], "middle: int at 3:10");
    EXPECT_EQ(bits[2].substr(bits[2].find(" at ")), " at 13:40");
    EXPECT_EQ(bits[3], "flag: _Bool at 53:1");
    EXPECT_EQ(bits[4], "color: enum color at 64:4");
}

TEST_P(DebugTypesOfC, PackedBitFieldsMayCrossTheirUnits)
{
    DebugType packed = c->at(Kind::Struct, "packed");
    EXPECT_EQ(packed.bytes, 20u);
    EXPECT_EQ(c->members(packed),
              (Texts{"c: char at 0", "i: int at 8", "crossing: unsigned int at 40:30",
                     "beyond: unsigned int at 70:20", "d: double at 96"}));
}

TEST_P(DebugTypesOfC, ArraysWithoutASizeHaveNoCount)
{
    EXPECT_EQ(c->members("tail"), (Texts{"n: int at 0", "more: short[] at 32"}));
    Texts none = c->members("empty_tail");
    ASSERT_EQ(none.size(), 2u);
    EXPECT_TRUE(none[1] == "none: short[] at 32" || none[1] == "none: short[0] at 32")
        << none[1];
    EXPECT_EQ(c->parameters("sum_of"), "n: int, rows: int[] *,  -> int");
}

TEST_P(DebugTypesOfC, NumbersThatDHasNotAreOpaqueBytes)
{
    DebugType numbers = c->at(Kind::Struct, "numbers");
    auto passing = [&](std::size_t i) {
        return c->plain(numbers.members[i].type).passing;
    };
    Texts members = c->members(numbers);
    ASSERT_EQ(members.size(), 13u);
    EXPECT_EQ(members[0], "complex_double: opaque 16 at 0");
    EXPECT_EQ(passing(0), Passing::FloatWords);
    EXPECT_EQ(members[1], "complex_float: opaque 8 at 128");
    EXPECT_EQ(passing(1), Passing::FloatRegister);
    EXPECT_EQ(members[2], "large: opaque 16 at 256");
    EXPECT_EQ(passing(2), Passing::IntegerWords);
    EXPECT_EQ(members[3], "large_unsigned: opaque 16 at 384");
    EXPECT_EQ(members[4], "extended: long double at 512");
    EXPECT_EQ(members[5], "quad: opaque 16 at 640");
    EXPECT_EQ(passing(5), Passing::FloatRegister);
    EXPECT_EQ(members[6], "vector: opaque 16 at 768");
    EXPECT_EQ(passing(6), Passing::FloatRegister);
}

TEST_P(DebugTypesOfC, IntegersHaveSizeAndSign)
{
    DebugType numbers = c->at(Kind::Struct, "numbers");
    auto kind = [&](std::size_t i) { return c->plain(numbers.members[i].type); };
    EXPECT_EQ(kind(8).kind, DebugType::Kind::Character);
    EXPECT_TRUE(kind(8).is_signed);
    EXPECT_EQ(kind(10).kind, DebugType::Kind::Character);
    EXPECT_FALSE(kind(10).is_signed);
    EXPECT_EQ(kind(11).kind, DebugType::Kind::Bool);
    EXPECT_EQ(kind(12).kind, DebugType::Kind::Integer);
    EXPECT_EQ(kind(12).bytes, 8u);
    EXPECT_TRUE(kind(12).is_signed);
}

TEST_P(DebugTypesOfC, DeclarationsAreNoTypesButLeadToThem)
{
    DebugType node = c->at(Kind::Struct, "node");
    for (const char* name : {"declared", "elsewhere"}) {
        auto member = std::ranges::find(node.members, name, &DebugMember::name);
        ASSERT_NE(member, node.members.end());
        DebugType declared = (*c)->type((*c)->type(member->type).base);
        EXPECT_EQ(declared.name, name);
        EXPECT_FALSE(declared.is_complete);
    }
    EXPECT_FALSE((*c)->find(Kind::Struct, "declared"));
    EXPECT_EQ(c->members("elsewhere").size(), 2u);
}

TEST_P(DebugTypesOfC, TheFirstDefinitionOfANameIsTheOne)
{
    EXPECT_EQ(c->members("bits").size(), 5u);
}

TEST_P(DebugTypesOfC, TagsAreNamesOfTheirOwn)
{
    EXPECT_TRUE((*c)->find(Kind::Ordinary, "node_t"));
    EXPECT_FALSE((*c)->find(Kind::Ordinary, "node"));
    EXPECT_FALSE((*c)->find(Kind::Struct, "node_t"));
    EXPECT_TRUE((*c)->find(Kind::Union, "number"));
    EXPECT_FALSE((*c)->find(Kind::Struct, "number"));
    EXPECT_TRUE((*c)->find(Kind::Enum, "color"));
    EXPECT_EQ(c->text(*(*c)->find(Kind::Ordinary, "grid_t")), "grid_t");
    EXPECT_EQ(c->text(c->at(Kind::Ordinary, "grid_t").base), "int[3][5]");
}

TEST_P(DebugTypesOfC, EnumeratorsHaveTheirSign)
{
    EXPECT_EQ((*c)->find_enumerator("GREEN"), 5);
    EXPECT_EQ((*c)->find_enumerator("DARK"), -1);
    EXPECT_EQ((*c)->find_enumerator("ON"), 1);
    EXPECT_FALSE((*c)->find_enumerator("BROWN"));
}

TEST_P(DebugTypesOfC, VariablesHaveTheAddressOfTheirSymbol)
{
    for (const char* name : {"head", "number", "place", "declared_only"}) {
        auto variable = (*c)->find_variable(name);
        ASSERT_TRUE(variable) << name;
        ASSERT_TRUE(variable->addr) << name;
        EXPECT_EQ(variable->addr, c->image().find_variable(name)) << name;
    }
    EXPECT_EQ(c->text((*c)->find_variable("head")->type), "node_t *");
    auto counter = (*c)->find_variable("counter");
    EXPECT_TRUE(counter && counter->addr);
}

TEST_P(DebugTypesOfC, AVariableOfEachThreadHasATypeButNoAddress)
{
    auto variable = (*c)->find_variable("per_thread");
    ASSERT_TRUE(variable);
    EXPECT_EQ(c->text(variable->type), "int");
    EXPECT_FALSE(variable->addr);
}

TEST_P(DebugTypesOfC, AVariableThatTheCompilerDidAwayWithHasNoAddress)
{
    auto variable = (*c)->find_variable("optimised_away");
    EXPECT_FALSE(variable && variable->addr);
}

TEST_P(DebugTypesOfC, FunctionsHaveNamedParametersAndAResult)
{
    EXPECT_EQ(c->parameters("mixed"), "node: node_t *, k: int, d: double, a: struct "
                                      "aligned, why: const char *, ... -> long");
    EXPECT_EQ(c->parameters("nothing"), " -> void");
    EXPECT_EQ(c->parameters("hidden"), "c: unsigned char,  -> int");
    EXPECT_EQ(c->parameters("other"),
              "at: struct elsewhere *, bits: struct bits *,  -> int");
    EXPECT_FALSE((*c)->function_at(c->image().functions().find("mixed")->addr + 1));
    EXPECT_FALSE((*c)->function_at(~std::uint64_t{0}));
}

TEST_P(DebugTypesOfC, AFunctionsTypeIsThatOfItsOwnUnit)
{
    DebugFunction other = c->function("other").value_or(DebugFunction{});
    ASSERT_EQ(other.parameters.size(), 2u);
    Texts members = c->members((*c)->type((*c)->type(other.parameters[1].type).base));
    EXPECT_EQ(members, (Texts{"other_one: char at 0"}));
}

INSTANTIATE_TEST_SUITE_P(Gcc, DebugTypesOfC,
                         testing::Values("gcc_2", "gcc_3", "gcc_4", "gcc_5",
                                         "gcc_4_strict", "gcc_5_strict",
                                         "gcc_type_units_4", "gcc_type_units_5",
                                         "gcc_split_4", "gcc_split_5", "gcc_packed",
                                         "gcc_64bit", "gcc_lto", "gcc_debug_link"),
                         [](const auto& info) { return std::string(info.param); });
INSTANTIATE_TEST_SUITE_P(Clang, DebugTypesOfC,
                         testing::Values("clang_2", "clang_4", "clang_5",
                                         "clang_type_units", "clang_split",
                                         "clang_packed"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(DebugTypesOfCxx, WhatIsOutsideOfANamespaceGoesFirst)
{
    EXPECT_EQ(c->members("same"), (Texts{"outside: long at 0"}));
    EXPECT_EQ(c->members("hidden"), (Texts{"n: int at 0"}));
    EXPECT_TRUE((*c)->find(Kind::Ordinary, "animal"));
}

TEST_P(DebugTypesOfCxx, BasesAreMembersWithoutANameAndStaticMembersAreNone)
{
    DebugType animal = c->at(Kind::Struct, "animal");
    Texts members = c->members(animal);
    ASSERT_EQ(members.size(), 4u);
    EXPECT_EQ(members[0], ": struct named at 0");
    EXPECT_EQ(members[1], ": struct counted at 128");
    EXPECT_EQ(members[2], "weight_: int at 192");
    EXPECT_EQ(members[3], "kind_: enum kind at 224");
    auto total = (*c)->find_variable("total");
    ASSERT_TRUE(total);
    EXPECT_TRUE(total->addr);
}

TEST_P(DebugTypesOfCxx, AVirtualBaseIsWhereOnlyTheObjectKnows)
{
    for (const std::string& member : c->members("far"))
        EXPECT_EQ(member.find("counted"), std::string::npos) << member;
}

TEST_P(DebugTypesOfCxx, EnumeratorsAreOfTheirUnderlyingType)
{
    EXPECT_EQ(c->at(Kind::Enum, "kind").bytes, 1u);
    EXPECT_EQ((*c)->find_enumerator("fish"), 200);
    EXPECT_EQ((*c)->find_enumerator("BOTTOM"), -5000000000);
    EXPECT_EQ((*c)->find_enumerator("TOP"), 5000000000);
}

TEST_P(DebugTypesOfCxx, ATemplatesInstanceIsAStructOfThatName)
{
    EXPECT_EQ(c->members("holder<int, 3>"),
              (Texts{"items: int[3] at 0", "last: int * at 128"}));
}

TEST_P(DebugTypesOfCxx, AClassThatIsNotTrivialIsPassedByReference)
{
    for (const char* name : {"copied", "moved", "destroyed", "with_copied",
                             "derived_copied", "copied_holder<char>", "animal", "far"})
        EXPECT_EQ(c->at(Kind::Struct, name).passing, Passing::ByReference) << name;
    for (const char* name :
         {"trivial", "only_moved", "nothing", "holder<int, 3>", "same"})
        EXPECT_EQ(c->at(Kind::Struct, name).passing, Passing::ByMembers) << name;
}

TEST_P(DebugTypesOfCxx, ParametersMayBeReferencesAndPointersToMembers)
{
    const auto& all = c->image().functions().all();
    auto takes = std::ranges::find_if(all, [this](const Function& f) {
        return c->image().functions().name(f).starts_with("_Z5takes");
    });
    ASSERT_NE(takes, all.end());
    auto function = (*c)->function_at(takes->addr);
    ASSERT_TRUE(function);
    ASSERT_EQ(function->parameters.size(), 8u);
    auto text = [&](std::size_t i) { return c->text(function->parameters[i].type); };
    EXPECT_EQ(text(0), "struct animal *");
    EXPECT_EQ(text(1), "long *");
    EXPECT_EQ(c->text((*c)->type(function->parameters[2].type).base), "void *");
    EXPECT_EQ(text(3), "opaque 8");
    EXPECT_EQ(text(4), "opaque 16");
    EXPECT_EQ(c->plain(function->parameters[5].type).bytes, 2u);
    EXPECT_EQ(c->plain(function->parameters[6].type).bytes, 1u);
    EXPECT_EQ(c->plain(function->parameters[7].type).bytes, 4u);
}

TEST_P(DebugTypesOfCxx, AMemberFunctionHasThis)
{
    const auto& all = c->image().functions().all();
    auto walk = std::ranges::find_if(all, [this](const Function& f) {
        return c->image().functions().name(f).starts_with("_ZN3zoo6animal4walk");
    });
    ASSERT_NE(walk, all.end());
    auto function = (*c)->function_at(walk->addr);
    ASSERT_TRUE(function);
    ASSERT_EQ(function->parameters.size(), 4u);
    EXPECT_EQ(function->parameters[0].name, "this");
    EXPECT_EQ(function->parameters[1].name, "steps");
}

INSTANTIATE_TEST_SUITE_P(Gcc, DebugTypesOfCxx,
                         testing::Values("gxx_4", "gxx_5", "gxx_type_units",
                                         "gxx_split"),
                         [](const auto& info) { return std::string(info.param); });
INSTANTIATE_TEST_SUITE_P(Clang, DebugTypesOfCxx,
                         testing::Values("clangxx_4", "clangxx_5",
                                         "clangxx_type_units"),
                         [](const auto& info) { return std::string(info.param); });

TEST(DebugTypes, WithoutItsSplitOffPartAFileHasNoTypesButNoError)
{
    Shapes rest(shapes("gcc_split_missing"));
    ASSERT_TRUE(rest);
    EXPECT_FALSE(rest->find(Kind::Struct, "node"));
    EXPECT_FALSE(rest.function("mixed"));
    EXPECT_FALSE(rest->find_variable("head"));
}

TEST(DebugTypes, AFileWithoutDebugDataSaysSo)
{
    auto image = ElfImage::open(shapes("gcc_none"));
    ASSERT_TRUE(image);
    auto types = (*image)->debug_types();
    ASSERT_FALSE(types);
    EXPECT_EQ(types.error().code, Code::not_found);
}
