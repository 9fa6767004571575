// SPDX-License-Identifier: MIT
// Tests that invalid DOF is refused, and that a refused program changes nothing.
#include <gtest/gtest.h>

#include <functional>

#include "tests/unit/dif/session.hpp"

using namespace dif_test;

namespace {

DofBuilder good()
{
    DofBuilder dof;
    Difo d = literal("text");
    d.variable("x", 0x500, DIFV_SCOPE_GLOBAL);
    dof.clause("p:m:f:n").when(constant(1)).trace(d).trace(builtin(DIF_VAR_arg0));
    dof.build();
    return dof;
}

std::string refused(const std::vector<char>& image)
{
    Session s;
    return s.load(image);
}

std::string with_header(const std::function<void(dof_hdr&)>& change)
{
    auto image = good().build();
    dof_hdr h;
    std::memcpy(&h, image.data(), sizeof(h));
    change(h);
    std::memcpy(image.data(), &h, sizeof(h));
    return refused(image);
}

std::string with_section(dof_sectype type, const std::function<void(dof_sec&)>& change)
{
    auto image = good().build();
    dof_hdr h;
    std::memcpy(&h, image.data(), sizeof(h));
    for (unsigned i = 0; i < h.secnum; i++) {
        dof_sec sec;
        char* at = image.data() + h.secoff + i * sizeof(sec);
        std::memcpy(&sec, at, sizeof(sec));
        if (sec.type != type)
            continue;
        change(sec);
        std::memcpy(at, &sec, sizeof(sec));
        break;
    }
    return refused(image);
}

std::string with_bytes(dof_sectype type,
                       const std::function<void(std::string&)>& change)
{
    DofBuilder dof = good();
    for (auto& section : dof.sections()) {
        if (section.head.type == type) {
            change(section.bytes);
            break;
        }
    }
    return refused(dof.image());
}

template <typename T> void poke(std::string& bytes, std::size_t at, T value)
{
    std::memcpy(bytes.data() + at, &value, sizeof(value));
}

} // namespace

TEST(Load, AGoodImageIsTaken)
{
    EXPECT_EQ(refused(good().build()), "");
}

TEST(Load, HeadersThatLieAreRefused)
{
    EXPECT_EQ(with_header([](dof_hdr& h) { h.ident[0] = 0; }), "not DOF: wrong magic");
    EXPECT_EQ(with_header([](dof_hdr& h) { h.ident[DOF_ID_MODEL] = 1; }),
              "DOF is not for 64-bit little-endian programs");
    EXPECT_EQ(with_header([](dof_hdr& h) { h.ident[DOF_ID_VERSION] = 9; }),
              "DOF has an unsupported version");
    EXPECT_EQ(with_header([](dof_hdr& h) { h.ident[DOF_ID_DIFIREG] = 9; }),
              "DOF uses an unsupported number of registers");
    EXPECT_EQ(with_header([](dof_hdr& h) { h.ident[DOF_ID_ABI] = 0; }),
              "DOF is for another system's DTrace");
    EXPECT_EQ(with_header([](dof_hdr& h) { h.hdrsize = 1; }),
              "DOF header has invalid flags or sizes");
    EXPECT_EQ(with_header([](dof_hdr& h) { h.filesz++; }), "DOF is truncated");
    EXPECT_EQ(with_header([](dof_hdr& h) { h.loadsz = ~0ull; }), "DOF is truncated");
    for (std::uint32_t n : {~0u, 1u << 20, 1u << 31})
        EXPECT_EQ(with_header([n](dof_hdr& h) { h.secnum = n; }),
                  "DOF section table is out of bounds");
    for (std::uint64_t off : {0ull, 63ull, 65ull, ~0ull, 1ull << 40})
        EXPECT_EQ(with_header([off](dof_hdr& h) { h.secoff = off; }),
                  "DOF section table is out of bounds");
}

TEST(Load, SectionsThatLieAreRefused)
{
    EXPECT_EQ(with_section(DOF_SECT_DIF, [](dof_sec& s) { s.type = 27; }),
              "DOF section has an unknown type");
    for (std::uint32_t align : {0u, 3u, 8192u})
        EXPECT_EQ(with_section(DOF_SECT_DIF, [align](dof_sec& s) { s.align = align; }),
                  "DOF section has an invalid alignment or is misaligned");
    EXPECT_EQ(with_section(DOF_SECT_DIF, [](dof_sec& s) { s.offset++; }),
              "DOF section has an invalid alignment or is misaligned");
    EXPECT_EQ(with_section(DOF_SECT_DIF, [](dof_sec& s) { s.offset = 1ull << 40; }),
              "DOF section is out of bounds");
    EXPECT_EQ(with_section(DOF_SECT_DIF, [](dof_sec& s) { s.size = ~3ull; }),
              "DOF section is out of bounds");
    EXPECT_EQ(with_section(DOF_SECT_DIF, [](dof_sec& s) { s.entsize = 5; }),
              "DOF section's size is not a multiple of its entry size");
    EXPECT_EQ(with_section(DOF_SECT_DIF, [](dof_sec& s) { s.flags = 2; }),
              "DOF section has unknown flags");
    EXPECT_EQ(with_section(DOF_SECT_DIF, [](dof_sec& s) { s.offset = 0; }),
              "DOF sections overlap");
    EXPECT_EQ(with_section(DOF_SECT_DIF, [](dof_sec& s) { s.flags = 0; }),
              "DOF section is not loadable");
    EXPECT_EQ(with_section(DOF_SECT_DIF, [](dof_sec& s) { s.size = 0; }),
              "DIF text has an invalid size");
    EXPECT_EQ(with_section(DOF_SECT_DIF, [](dof_sec& s) { s.type = DOF_SECT_SOURCE; }),
              "DIFO refers to a section that cannot be part of a DIFO");
    EXPECT_EQ(
        with_section(DOF_SECT_VARTAB, [](dof_sec& s) { s.type = DOF_SECT_STRTAB; }),
        "DIFO has two tables of the same kind");
}

TEST(Load, TablesThatLieAreRefused)
{
    EXPECT_EQ(with_bytes(DOF_SECT_STRTAB, [](std::string& b) { b += "x"; }),
              "string table is not terminated");
    EXPECT_EQ(with_bytes(DOF_SECT_INTTAB, [](std::string& b) { b += "x"; }),
              "DOF section's size is not a multiple of its entry size");
    EXPECT_EQ(with_bytes(DOF_SECT_DIFOHDR, [](std::string& b) { b.resize(6); }),
              "DIFO header has an invalid size");
    EXPECT_EQ(with_bytes(DOF_SECT_DIFOHDR, [](std::string& b) { b.resize(8); }),
              "DIFO has no text");
    EXPECT_EQ(with_bytes(DOF_SECT_DIFOHDR,
                         [](std::string& b) { poke(b, 8, std::uint32_t{99}); }),
              "DOF section number is out of range");
    EXPECT_EQ(with_bytes(DOF_SECT_DIFOHDR, [](std::string& b) { b[0] = 2; }),
              "DIFO's result has an unknown type");
    EXPECT_EQ(with_bytes(DOF_SECT_PROBEDESC,
                         [](std::string& b) { poke(b, 8, std::uint32_t{9999}); }),
              "DOF string is not in its string table");
    EXPECT_EQ(with_bytes(DOF_SECT_PROBEDESC, [](std::string& b) { b.resize(20); }),
              "probe description has an invalid size");
    EXPECT_EQ(with_bytes(DOF_SECT_ECBDESC,
                         [](std::string& b) { poke(b, 0, std::uint32_t{0}); }),
              "DOF section has the wrong type");
    EXPECT_EQ(with_bytes(DOF_SECT_ECBDESC, [](std::string& b) { b.clear(); }),
              "ECB section has an invalid size");
    EXPECT_EQ(with_bytes(DOF_SECT_ACTDESC,
                         [](std::string& b) { poke(b, 8, std::uint32_t{12345}); }),
              "unknown action");
}

TEST(Load, KeysAndIncrementsOutOfPlaceAreRefused)
{
    auto refused_clause = [](const std::function<void(Clause&)>& build) {
        Session s;
        DofBuilder dof;
        build(dof.clause("p:m:f:n"));
        return s.load(dof);
    };
    EXPECT_EQ(refused_clause([](Clause& c) { c.aggregate(DTRACEAGG_count, 1, 1); }),
              "aggregation's key is incomplete");
    EXPECT_EQ(refused_clause([](Clause& c) {
                  c.aggregate(DTRACEAGG_count, 1, 0).aggregate(DTRACEAGG_count, 1, 1);
              }),
              "action cannot be part of a key");
    EXPECT_EQ(
        refused_clause([](Clause& c) {
            c.action({DTRACEACT_EXIT, constant(1, 4)}).aggregate(DTRACEAGG_count, 1, 1);
        }),
        "action cannot be part of a key");
    EXPECT_EQ(refused_clause([](Clause& c) {
                  c.action({DTRACEAGG_quantize, constant(1), DT_NTUPLE_INCREMENT});
              }),
              "increment is not followed by its distribution");
    EXPECT_EQ(refused_clause([](Clause& c) { c.aggregate(DTRACEAGG_sum, 1, 0); }),
              "aggregating function needs an integer value");
    EXPECT_EQ(refused_clause([](Clause& c) {
                  c.action({DTRACEACT_EXIT, literal("x")});
              }),
              "action needs an integer value");
    EXPECT_EQ(refused_clause([](Clause& c) {
                  c.action({DTRACEACT_USTACK, {}, 1, DTRACE_USTACK_ARG(100000, 0)});
              }),
              "too many stack frames");
}

TEST(Load, ARefusedProgramChangesNothing)
{
    Session s;
    DofBuilder bad;
    Difo d = constant(1);
    d.variable("x", 0x500, DIFV_SCOPE_GLOBAL, string_type());
    bad.clause("p:m:f:n").trace(d);
    bad.clause("p:m:f:n").trace(Difo().word(0));
    s.start();
    dt_arena before = s.arena();
    EXPECT_EQ(s.load(bad), "unknown opcode");
    EXPECT_EQ(std::memcmp(&before, &s.arena(), sizeof(before)), 0);

    DofBuilder other;
    Difo as_int = constant(1);
    as_int.variable("x", 0x500, DIFV_SCOPE_GLOBAL);
    other.clause("p:m:f:n").trace(as_int);
    EXPECT_EQ(s.load(other), "") << "the refused program's variable is forgotten";
}

TEST(Load, AProgramThatDoesNotFitIsRefused)
{
    Session s;
    s.config.heap_bytes = 1024;
    s.config.max_clauses = 8;
    DofBuilder big;
    Difo d = literal(std::string(200000, 'x'));
    big.clause("p:m:f:n").trace(d);
    EXPECT_EQ(s.load(big), "the program is too large for its arena");
    DofBuilder many;
    for (int i = 0; i < 9; i++)
        many.clause("p:m:f:n");
    EXPECT_EQ(s.load(many), "too many clauses");
}

TEST(Load, EcbdescsOfOneNumberShareAClause)
{
    Session s;
    DofBuilder dof;
    dof.clause("p:m:f:a").trace(constant(1));
    dof.clause("p:m:f:b").trace(constant(2));
    dof.build();
    for (auto& section : dof.sections()) {
        if (section.head.type == DOF_SECT_ECBDESC)
            poke(section.bytes, 16, std::uint64_t{7});
    }
    ASSERT_EQ(s.load(dof.image()), "");
    EXPECT_EQ(s.arena().clauses.n, 1u);
    s.fire("a");
    s.fire("b");
    auto records = s.records();
    ASSERT_EQ(records.size(), 2u);
    EXPECT_EQ(records[1].u64(), 1u);
}

TEST(Load, EveryTruncationAndEveryFlippedByteIsRefusedOrHarmless)
{
    auto image = good().build();
    for (std::size_t n = 0; n < image.size(); n++)
        EXPECT_NE(refused(std::vector<char>(image.begin(), image.begin() + n)), "");
    Session s;
    s.start();
    for (std::size_t at = 0; at < image.size(); at++) {
        for (unsigned char flip : {0x01, 0x80, 0xff}) {
            auto lie = image;
            lie[at] ^= flip;
            s.load(lie);
        }
        if (at % 50 == 0) {
            s.fire("n", {1});
            s.records();
        }
    }
}

TEST(Arena, LayoutIsInCompletePartsAndDefaultsAreTheOptionTables)
{
    dt_arena_config config{};
    for (auto& option : config.options)
        option = DT_OPT_UNSET;
    std::uint64_t program, total;
    dt_arena_layout(&config, &program, &total);
    EXPECT_EQ(program % 65536, 0u);
    EXPECT_EQ(total % 65536, 0u);
    EXPECT_GT(total, program);
    Session s;
    s.start();
    EXPECT_EQ(s.arena().options[DTRACEOPT_strsize], 256u);
    EXPECT_EQ(s.arena().options[DTRACEOPT_ustackframes], 20u);
}

TEST(Load, FloatingPointIsRefusedByNameWhereHostsHaveNone)
{
    auto sum = [] {
        Difo d;
        d.op(DIF_OP_FADD, 0, 0, 1).ret(1);
        return d;
    };
    DofBuilder computes;
    computes.clause("p:m:f:n").trace(sum());
    for (int has_float : {1, 0}) {
        Session s;
        s.config.has_float = static_cast<dt_u32>(has_float);
        EXPECT_EQ(s.load(computes),
                  has_float != 0
                      ? ""
                      : "floating-point arithmetic is not available in the kernel");
    }
}
