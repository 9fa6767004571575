// SPDX-License-Identifier: MIT
// Tests the structure of the DOF that is generated for programs. Other tests check that
// the engine accepts the DOF.
#include "libdtrace/compile/compiler.hpp"
#include "tests/unit/n_cases.hpp"

#include <cstring>
#include <gtest/gtest.h>

namespace dt::gen {
namespace {

std::shared_ptr<Difo> small_difo(std::uint64_t value = 42)
{
    auto out = std::make_shared<Difo>();
    out->text = {0x25000001, 0x23000001};
    out->ints = {value};
    out->strs = std::string(1, '\0');
    out->rtype.size = 8;
    return out;
}

CompiledClause clause(std::string name, std::shared_ptr<Difo> difo)
{
    CompiledClause out;
    ProbeSpec spec;
    spec.provider = "dtrace";
    spec.name = std::move(name);
    out.probes.push_back(spec);
    out.source.at = {3, 1};
    Action action;
    action.kind = DTRACEACT_DIFEXPR;
    action.difo = std::move(difo);
    out.actions.push_back(action);
    return out;
}

template <class T> T read(const std::vector<std::byte>& dof, std::size_t at)
{
    T out;
    EXPECT_LE(at + sizeof out, dof.size());
    std::memcpy(&out, dof.data() + at, sizeof out);
    return out;
}

dof_sec section(const std::vector<std::byte>& dof, std::size_t i)
{
    return read<dof_sec>(dof, sizeof(dof_hdr) + i * sizeof(dof_sec));
}

std::vector<dof_sec> sections(const std::vector<std::byte>& dof, dof_sectype type)
{
    std::vector<dof_sec> out;
    for (std::size_t i = 0; i < read<dof_hdr>(dof, 0).secnum; i++)
        if (section(dof, i).type == unsigned(type))
            out.push_back(section(dof, i));
    return out;
}

TEST(WriteDof, LaysOutAlignedSectionsInsideTheFile)
{
    Program program;
    program.clauses.push_back(clause("BEGIN", small_difo()));
    auto dof = write_dof(program, 0);

    auto header = read<dof_hdr>(dof, 0);
    EXPECT_EQ(std::memcmp(header.ident,
                          "\x7f"
                          "DOF",
                          4),
              0);
    EXPECT_EQ(header.ident[DOF_ID_ABI], DOF_ABI_LINUX);
    EXPECT_EQ(header.filesz, dof.size());
    for (std::size_t i = 0; i < header.secnum; i++) {
        dof_sec sec = section(dof, i);
        EXPECT_EQ(sec.offset % sec.align, 0u);
        EXPECT_GE(sec.offset, header.secoff + header.secnum * header.secsize);
        EXPECT_LE(sec.offset + sec.size, dof.size());
        if (sec.entsize != 0) {
            EXPECT_EQ(sec.size % sec.entsize, 0u);
        }
    }
}

TEST(WriteDof, NumbersClausesOnFromTheFirst)
{
    Program program;
    program.clauses.push_back(clause("BEGIN", small_difo()));
    program.clauses.push_back(clause("END", small_difo()));
    program.clauses[1].probes.push_back(program.clauses[0].probes[0]);
    auto dof = write_dof(program, 10);

    auto ecbs = sections(dof, DOF_SECT_ECBDESC);
    ASSERT_EQ(ecbs.size(), 3u);
    EXPECT_EQ(read<dof_ecbdesc>(dof, ecbs[0].offset).uarg, 10u);
    auto second = read<dof_ecbdesc>(dof, ecbs[1].offset);
    auto third = read<dof_ecbdesc>(dof, ecbs[2].offset);
    EXPECT_EQ(second.uarg, 11u);
    EXPECT_EQ(third.uarg, 11u);
    EXPECT_EQ(second.actions, third.actions);
    EXPECT_NE(second.probes, third.probes);
    EXPECT_EQ(second.line, 3u);
}

TEST(WriteDof, FormatsAreStringsOfTheirAction)
{
    Program program;
    program.clauses.push_back(clause("BEGIN", nullptr));
    program.clauses[0].actions[0].format = "hello";
    program.clauses[0].actions[0].has_format = true;
    auto dof = write_dof(program, 0);

    auto actions = sections(dof, DOF_SECT_ACTDESC);
    ASSERT_EQ(actions.size(), 1u);
    auto action = read<dof_actdesc>(dof, actions[0].offset);
    EXPECT_EQ(action.difo, DOF_SECIDX_NONE);
    dof_sec strings = section(dof, action.strtab);
    EXPECT_EQ(strings.type, unsigned(DOF_SECT_STRTAB));
    EXPECT_STREQ(
        reinterpret_cast<const char*>(dof.data() + strings.offset + action.arg),
        "hello");
}

TEST(WriteDof, WritesEqualSectionsOnce)
{
    Program program;
    program.clauses.push_back(clause("BEGIN", small_difo()));
    program.clauses.push_back(clause("END", small_difo()));
    program.clauses.push_back(clause("ERROR", small_difo(43)));
    auto dof = write_dof(program, 0);
    EXPECT_EQ(sections(dof, DOF_SECT_DIF).size(), 1u);
    EXPECT_EQ(sections(dof, DOF_SECT_INTTAB).size(), 2u);
    EXPECT_EQ(sections(dof, DOF_SECT_DIFOHDR).size(), 2u);
    EXPECT_EQ(sections(dof, DOF_SECT_ECBDESC).size(), 3u);
}

TEST(WriteDof, GrowsLinearlyWithTheProgram)
{
    auto bytes_of = [](std::uint64_t n_clauses) {
        Program program;
        for (std::uint64_t i = 0; i < n_clauses; i++)
            program.clauses.push_back(clause("BEGIN", small_difo(i + 1)));
        return write_dof(program, 0).size();
    };
    std::size_t each = bytes_of(3) - bytes_of(2);
    const std::uint64_t many = test::n_cases(100000);
    EXPECT_EQ(bytes_of(many) - bytes_of(2), (many - 2) * each);
    EXPECT_LE(each, 512u);
}

} // namespace
} // namespace dt::gen
