// SPDX-License-Identifier: MIT
// Tests the BTF reader with BTF that the test builds, with damaged BTF, and with this
// machine's BTF.
#include "libdtrace/symbols/debug/btf_types.hpp"

#include "scratch.hpp"
#include "tests/unit/symbols/debug/btf_data.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

using namespace dt;
using Kind = DebugTypes::Kind;

namespace {

std::unique_ptr<BtfTypes> types_of(const BtfData& data)
{
    auto opened = BtfTypes::from(data.bytes());
    EXPECT_TRUE(opened) << (opened ? "" : opened.error().text);
    return opened ? std::move(*opened) : nullptr;
}

DebugType named(BtfTypes& types, Kind kind, std::string_view name)
{
    auto ref = types.find(kind, name);
    EXPECT_TRUE(ref) << name;
    return ref ? types.type(*ref) : DebugType{};
}

void look_at_all(BtfTypes& types, DebugRef end)
{
    for (DebugRef ref = 0; ref < end; ref++) {
        types.type(ref);
        types.function_of(ref);
        types.owner(ref);
    }
    for (Kind kind : {Kind::Ordinary, Kind::Struct, Kind::Union, Kind::Enum})
        for (std::string_view name : types.names(kind))
            types.find(kind, name);
    types.find_variable("runs");
    types.find_enumerator("ZONE_DMA");
    types.function_named("wake");
}

} // namespace

TEST(BtfTypes, MembersHaveTheirTypesPlacesAndBits)
{
    auto types = types_of(SmallKernel());
    DebugType task = named(*types, Kind::Struct, "task_struct");
    ASSERT_EQ(task.kind, DebugType::Kind::Struct);
    EXPECT_EQ(task.bytes, 40u);
    ASSERT_EQ(task.members.size(), 5u);
    EXPECT_EQ(task.members[1].name, "flag");
    EXPECT_EQ(task.members[1].offset_bits, 32u);
    EXPECT_EQ(task.members[1].bitfield_bits, 3u);
    EXPECT_EQ(types->type(task.members[2].type).counts.at(0), 16u);
    EXPECT_EQ(types->type(task.members[3].type).base,
              types->find(Kind::Struct, "task_struct"));
    DebugType files = types->type(types->type(task.members[4].type).base);
    EXPECT_EQ(files.name, "files_struct");
    EXPECT_FALSE(files.is_complete);
}

TEST(BtfTypes, TheKernelsCharIsDsChar)
{
    auto types = types_of(SmallKernel());
    DebugType text = named(*types, Kind::Ordinary, "char");
    EXPECT_EQ(text.kind, DebugType::Kind::Character);
    EXPECT_TRUE(text.is_signed);
}

TEST(BtfTypes, EnumeratorsMayBeNegativeOrWide)
{
    auto types = types_of(SmallKernel());
    EXPECT_EQ(types->find_enumerator("ZONE_DMA"), 0);
    EXPECT_EQ(types->find_enumerator("ZONE_LOST"), -1);
    EXPECT_EQ(types->find_enumerator("WIDE"), 0x123456789ab);
    EXPECT_FALSE(types->find_enumerator("ZONE_NONE"));
    EXPECT_TRUE(named(*types, Kind::Enum, "zone").is_signed);
}

TEST(BtfTypes, FunctionsHaveNamedParametersAndAResult)
{
    auto types = types_of(SmallKernel());
    auto wake = types->function_named("wake");
    ASSERT_TRUE(wake);
    ASSERT_EQ(wake->parameters.size(), 2u);
    EXPECT_EQ(wake->parameters[0].name, "task");
    EXPECT_EQ(types->type(wake->parameters[1].type).name, "long unsigned int");
    EXPECT_EQ(types->type(wake->result).name, "int");
    auto say = types->function_named("say");
    ASSERT_TRUE(say);
    EXPECT_TRUE(say->varargs);
    EXPECT_EQ(say->parameters.size(), 1u);
    EXPECT_FALSE(types->function_named("sleep"));
}

TEST(BtfTypes, AVariableOfEachCpuSaysSo)
{
    auto types = types_of(SmallKernel());
    auto runs = types->find_variable("runs");
    ASSERT_TRUE(runs);
    EXPECT_TRUE(runs->per_cpu);
    EXPECT_FALSE(runs->addr);
    EXPECT_EQ(types->type(runs->type).bytes, 8u);
}

TEST(BtfTypes, AModuleSharesTheTypesOfTheKernelProper)
{
    SmallKernel kernel;
    auto base = types_of(kernel);
    Scratch scratch;
    SmallModule(kernel).write(scratch.path("ext4"));
    auto opened = BtfTypes::open(scratch.path("ext4"), base.get());
    ASSERT_TRUE(opened) << opened.error().text;
    auto& module = *opened;
    DebugType super = named(*module, Kind::Struct, "super");
    ASSERT_EQ(super.members.size(), 1u);
    auto [owner, ref] = module->owner(super.members[0].type);
    EXPECT_EQ(owner, base.get());
    EXPECT_EQ(base->type(ref).kind, DebugType::Kind::Pointer);
    EXPECT_EQ(module->find(Kind::Struct, "task_struct"),
              base->find(Kind::Struct, "task_struct"));
    EXPECT_TRUE(module->function_named("mount"));
    EXPECT_FALSE(module->function_named("wake"));
    EXPECT_FALSE(base->find(Kind::Struct, "super"));
}

TEST(BtfTypes, ATypedefOfItselfHasNoEnd)
{
    BtfData data;
    btf__add_typedef(*data, "self", 1);
    btf__add_func(*data, "around", BTF_FUNC_STATIC, 1);
    auto types = types_of(data);
    EXPECT_FALSE(types->function_named("around"));
    EXPECT_EQ(named(*types, Kind::Ordinary, "self").kind, DebugType::Kind::Typedef);
}

TEST(BtfTypes, ANumberThatIsNoTypeIsVoid)
{
    auto types = types_of(SmallKernel());
    for (DebugRef ref : {0u, 10'000u, UINT32_MAX})
        EXPECT_EQ(types->type(ref).kind, DebugType::Kind::Void);
}

TEST(BtfTypes, FilesThatAreNotBtfAreRefused)
{
    std::vector<std::byte> junk(100, std::byte{0x55});
    EXPECT_EQ(BtfTypes::from(junk).error().code, Code::corrupt);
    EXPECT_FALSE(BtfTypes::from({}));
    EXPECT_EQ(BtfTypes::open("/nonexistent").error().code, Code::not_found);
}

TEST(BtfTypes, DamagedDataIsRefusedOrReadWithoutHarm)
{
    const std::vector<std::byte> whole = SmallKernel().bytes();
    for (std::size_t at = 0; at < whole.size(); at++)
        for (unsigned flip : {0x01u, 0x80u, 0xffu}) {
            std::vector<std::byte> bytes = whole;
            bytes[at] ^= static_cast<std::byte>(flip);
            if (auto types = BtfTypes::from(bytes))
                look_at_all(**types, 100);
        }
    for (std::size_t n = 0; n < whole.size(); n++)
        if (auto types = BtfTypes::from(std::span(whole).first(n)))
            look_at_all(**types, 100);
}

TEST(BtfTypes, ThisMachinesTaskHasAPidAndItsFunctionsAreThere)
{
    const char* path = "/sys/kernel/btf/vmlinux";
    if (::access(path, R_OK) != 0)
        GTEST_SKIP() << "no " << path;
    auto types = BtfTypes::open(path);
    ASSERT_TRUE(types) << types.error().text;
    DebugType task = named(**types, Kind::Struct, "task_struct");
    bool has_pid = false;
    for (const DebugMember& member : task.members)
        has_pid |= member.name == "pid";
    EXPECT_TRUE(has_pid);
    auto read = (*types)->function_named("vfs_read");
    ASSERT_TRUE(read);
    EXPECT_EQ(read->parameters.size(), 4u);
    EXPECT_TRUE((*types)->find_enumerator("PIDTYPE_PID"));
}
