// SPDX-License-Identifier: MIT
// Tests how the C API finds objects, symbols and types of a held process.
#include "session.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace {

struct Symbols : testing::Test {
    SessionHandle session = open_session();
    ps_prochandle* process = nullptr;

    void SetUp() override
    {
        static char path[] = VICTIMS "/records";
        char* argv[] = {path, nullptr};
        process = dtrace_proc_create(session.get(), path, argv, nullptr, nullptr);
        ASSERT_NE(process, nullptr) << error_of(session);
    }
    int error() const { return dtrace_errno(session.get()); }
    std::string name_at(std::uint64_t addr) const
    {
        char text[256];
        dtrace_uaddr2str(session.get(), dtrace_proc_getpid(session.get(), process),
                         addr, text, sizeof text);
        return text;
    }
    dtrace_typedesc_t describe(const dtrace_type_t* type) const
    {
        dtrace_typedesc_t desc{};
        EXPECT_EQ(dtrace_type_info(session.get(), type, &desc), 0);
        return desc;
    }
    dtrace_typedesc_t of_symbol(const char* name) const
    {
        dtrace_syminfo_t symbol{};
        Elf64_Sym sym{};
        dtrace_typeinfo_t type{};
        EXPECT_EQ(dtrace_lookup_by_name(session.get(), "a.out", name, &sym, &symbol), 0)
            << error_of(session);
        EXPECT_EQ(dtrace_symbol_type(session.get(), &sym, &symbol, &type), 0)
            << error_of(session);
        EXPECT_STREQ(type.dtt_object, "records");
        EXPECT_EQ(type.dtt_flags, unsigned{DTT_FL_USER});
        return describe(type.dtt_type);
    }
    std::vector<dtrace_memberdesc_t> members(const dtrace_type_t* type) const
    {
        std::vector<dtrace_memberdesc_t> all;
        EXPECT_EQ(
            dtrace_type_member_iter(
                session.get(), type,
                [](dtrace_hdl_t*, const dtrace_memberdesc_t* one, void* arg) {
                    static_cast<std::vector<dtrace_memberdesc_t>*>(arg)->push_back(
                        *one);
                    return 0;
                },
                &all),
            0);
        return all;
    }
};

TEST_F(Symbols, ObjectsAreTheModulesWithTheirRanges)
{
    std::vector<dtrace_objinfo_t> all;
    EXPECT_EQ(dtrace_object_iter(
                  session.get(),
                  [](dtrace_hdl_t*, const dtrace_objinfo_t* one, void* arg) {
                      static_cast<std::vector<dtrace_objinfo_t>*>(arg)->push_back(*one);
                      return 0;
                  },
                  &all),
              0);
    ASSERT_GE(all.size(), 3u); // the program, libc, the dynamic linker
    EXPECT_EQ(std::count_if(all.begin(), all.end(),
                            [](auto& one) {
                                return (one.dto_flags & DTRACE_OBJ_F_PRIMARY) != 0;
                            }),
              1);

    dtrace_objinfo_t main{}, linker{}, named{};
    ASSERT_EQ(dtrace_object_info(session.get(), DTRACE_OBJ_EXEC, &main), 0);
    EXPECT_STREQ(main.dto_name, "records");
    EXPECT_STREQ(main.dto_file, VICTIMS "/records");
    EXPECT_STREQ(all.at(static_cast<std::size_t>(main.dto_id)).dto_name, "records");
    EXPECT_NE(main.dto_text_size, 0u);
    EXPECT_NE(main.dto_data_size, 0u);
    EXPECT_NE(main.dto_bss_size, 0u); // contains the variable `rounds`
    ASSERT_EQ(dtrace_object_info(session.get(), DTRACE_OBJ_RTLD, &linker), 0)
        << error_of(session);
    EXPECT_EQ(std::string(linker.dto_name).substr(0, 3), "ld-");
    ASSERT_EQ(dtrace_object_info(session.get(), "libc.so.6", &named), 0);
    EXPECT_EQ(named.dto_flags, 0u);
    EXPECT_EQ(dtrace_object_info(session.get(), "libnone.so", &named), -1);
    EXPECT_EQ(error(), EDT_NOMOD);
    EXPECT_EQ(dtrace_object_info(session.get(), DTRACE_OBJ_KMODS, &named), -1);
    EXPECT_EQ(error(), EDT_NOMOD);
}

TEST_F(Symbols, AreFoundByNameAndByAddress)
{
    Elf64_Sym visit{}, rounds{}, found{};
    dtrace_syminfo_t info{};
    ASSERT_EQ(
        dtrace_lookup_by_name(session.get(), DTRACE_OBJ_EVERY, "visit", &visit, &info),
        0);
    EXPECT_STREQ(info.dts_object, "records");
    EXPECT_EQ(ELF64_ST_TYPE(visit.st_info), STT_FUNC);
    EXPECT_EQ(ELF64_ST_BIND(visit.st_info), STB_GLOBAL);
    EXPECT_EQ(name_at(visit.st_value), "records`visit");

    ASSERT_EQ(dtrace_lookup_by_addr(session.get(), visit.st_value + visit.st_size - 1,
                                    &found, &info),
              0);
    EXPECT_STREQ(info.dts_name, "visit");
    EXPECT_EQ(found.st_value, visit.st_value);
    EXPECT_EQ(dtrace_lookup_by_addr(session.get(), 1, nullptr, nullptr), -1);
    EXPECT_EQ(error(), EDT_NOSYMADDR);

    dtrace_objinfo_t main{};
    dtrace_object_info(session.get(), DTRACE_OBJ_EXEC, &main);
    ASSERT_EQ(dtrace_lookup_by_name(session.get(), "a.out", "rounds", &rounds, nullptr),
              0);
    EXPECT_EQ(ELF64_ST_TYPE(rounds.st_info), STT_OBJECT);
    EXPECT_EQ(rounds.st_size, sizeof(int));
    EXPECT_GE(rounds.st_value, main.dto_data_va);
    EXPECT_LT(rounds.st_value, main.dto_bss_va + main.dto_bss_size);

    ASSERT_EQ(
        dtrace_lookup_by_name(session.get(), "libc.so.6", "malloc", nullptr, &info), 0);
    EXPECT_EQ(dtrace_lookup_by_name(session.get(), "a.out", "malloc_of_none", nullptr,
                                    nullptr),
              -1);
    EXPECT_EQ(error(), EDT_NOSYM);
}

TEST_F(Symbols, HaveTheTypesThatDebugDataSays)
{
    EXPECT_EQ(of_symbol("rounds").dtty_kind, DTRACE_TYPE_INTEGER);
    dtrace_typedesc_t head = of_symbol("head");
    EXPECT_EQ(head.dtty_kind, DTRACE_TYPE_POINTER);
    EXPECT_EQ(head.dtty_size, sizeof(void*));
    EXPECT_STREQ(describe(head.dtty_base).dtty_name, "record_t");
    auto of_record = members(head.dtty_base);
    ASSERT_GE(of_record.size(), 4u);
    EXPECT_STREQ(of_record[1].dtmb_name, "name");
    EXPECT_EQ(describe(of_record[1].dtmb_type).dtty_count, 16u);
    EXPECT_EQ(of_record[1].dtmb_offset, 64u);

    dtrace_typedesc_t visit = of_symbol("visit");
    EXPECT_EQ(visit.dtty_kind, DTRACE_TYPE_FUNCTION);
    EXPECT_EQ(describe(visit.dtty_base).dtty_kind, DTRACE_TYPE_INTEGER);
}

TEST_F(Symbols, TypesAreFoundByName)
{
    dtrace_typeinfo_t info{};
    ASSERT_EQ(dtrace_lookup_by_type(session.get(), "a.out", "struct point", &info), 0)
        << error_of(session);
    dtrace_typedesc_t point = describe(info.dtt_type);
    EXPECT_EQ(point.dtty_kind, DTRACE_TYPE_STRUCT);
    EXPECT_EQ(point.dtty_size, 8u);
    auto x_y = members(info.dtt_type);
    ASSERT_EQ(x_y.size(), 2u);
    EXPECT_STREQ(x_y[1].dtmb_name, "y");
    EXPECT_EQ(x_y[1].dtmb_offset, 32u);

    ASSERT_EQ(dtrace_lookup_by_type(session.get(), DTRACE_OBJ_EVERY, "struct packed *",
                                    &info),
              0);
    auto packed = members(describe(info.dtt_type).dtty_base);
    ASSERT_GE(packed.size(), 2u);
    EXPECT_EQ(packed[1].dtmb_bits, 30u);

    ASSERT_EQ(dtrace_lookup_by_type(session.get(), "a.out", "enum color", &info), 0);
    auto colors = members(info.dtt_type);
    ASSERT_EQ(colors.size(), 4u);
    EXPECT_STREQ(colors[1].dtmb_name, "GREEN");
    EXPECT_EQ(colors[1].dtmb_value, 5);
    EXPECT_EQ(colors[3].dtmb_value, -1);
    EXPECT_EQ(colors[3].dtmb_type, nullptr);

    ASSERT_EQ(dtrace_lookup_by_type(session.get(), "D", "uint16_t", &info), 0);
    EXPECT_STREQ(info.dtt_object, "D");
    EXPECT_EQ(describe(info.dtt_type).dtty_size, 2u);

    EXPECT_EQ(dtrace_lookup_by_type(session.get(), "a.out", "struct nothing", &info),
              -1);
    EXPECT_EQ(error(), EDT_NOTYPE);
    EXPECT_EQ(
        dtrace_lookup_by_type(session.get(), DTRACE_OBJ_EVERY, "nothing_t", &info), -1);
    EXPECT_EQ(error(), EDT_NOTYPE);
}

TEST_F(Symbols, TypesAreCompiledAsDWritesThem)
{
    dtrace_typeinfo_t info{};
    ASSERT_EQ(dtrace_type_strcompile(session.get(), "unsigned char", &info), 0)
        << error_of(session);
    EXPECT_EQ(describe(info.dtt_type).dtty_size, 1u);
    EXPECT_FALSE(describe(info.dtt_type).dtty_signed);
    ASSERT_EQ(dtrace_type_strcompile(session.get(), "a.out`record_t *[4]", &info), 0)
        << error_of(session);
    EXPECT_EQ(describe(info.dtt_type).dtty_kind, DTRACE_TYPE_ARRAY);
    EXPECT_EQ(describe(info.dtt_type).dtty_count, 4u);
    ASSERT_EQ(dtrace_type_strcompile(session.get(), "string", &info), 0);
    EXPECT_EQ(describe(info.dtt_type).dtty_kind, DTRACE_TYPE_STRING);

    for (const char* wrong : {"", "int x", "nothing_t", "int; int", "3"}) {
        EXPECT_EQ(dtrace_type_strcompile(session.get(), wrong, &info), -1) << wrong;
        EXPECT_EQ(error(), EDT_COMPILER) << wrong;
    }
    std::FILE* file = std::tmpfile();
    std::fputs("short *", file);
    std::rewind(file);
    ASSERT_EQ(dtrace_type_fcompile(session.get(), file, &info), 0) << error_of(session);
    std::fclose(file);
    EXPECT_EQ(describe(describe(info.dtt_type).dtty_base).dtty_size, 2u);
}

TEST_F(Symbols, AreReadAgainWhenAskedTo)
{
    EXPECT_EQ(dtrace_update(session.get()), 0);
    EXPECT_EQ(dtrace_ctlfd(session.get()), -1);
    char text[32];
    EXPECT_EQ(dtrace_addr2str(session.get(), 0xfffffffffffff000, text, sizeof text),
              18);
    EXPECT_STREQ(text, "0xfffffffffffff000");
}

TEST(SymbolsOfNoTarget, AreRefusedByName)
{
    SessionHandle session = open_session();
    dtrace_objinfo_t info{};
    EXPECT_EQ(dtrace_object_info(session.get(), DTRACE_OBJ_EXEC, &info), -1);
    EXPECT_EQ(error_of(session), "there is no target: name one with -p or -c");
    EXPECT_EQ(dtrace_object_iter(
                  session.get(),
                  [](dtrace_hdl_t*, const dtrace_objinfo_t*, void*) { return 0; },
                  nullptr),
              -1);
    dtrace_typeinfo_t type{};
    EXPECT_EQ(dtrace_lookup_by_type(session.get(), DTRACE_OBJ_EVERY, "int", &type), 0);
}

TEST(Names, AreListedForProvidersAndParsedForAttributes)
{
    SessionHandle session = open_session();
    const char* names[8] = {};
    int n = dtrace_provider_modules(session.get(), names, 8);
    ASSERT_GE(n, 3);
    EXPECT_STREQ(names[0], "dtrace");
    EXPECT_EQ(dtrace_provider_modules(session.get(), names, 1), n);

    dtrace_attribute_t evolving{}, mixed{};
    ASSERT_EQ(dtrace_str2attr("Evolving/Evolving/Common", &evolving), 0);
    ASSERT_EQ(dtrace_str2attr("Stable/Private/CPU", &mixed), 0);
    char text[64];
    EXPECT_STREQ(dtrace_attr2str(dtrace_attr_min(evolving, mixed), text, sizeof text),
                 "Evolving/Private/CPU");
    EXPECT_STREQ(dtrace_attr2str(dtrace_attr_max(evolving, mixed), text, sizeof text),
                 "Stable/Evolving/Common");
}

} // namespace
