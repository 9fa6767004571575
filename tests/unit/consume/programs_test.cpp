// SPDX-License-Identifier: MIT
// Compiles and runs D programs in this process, and tests their output.
#include "dif/engine.h"
#include "libdtrace/compile/compiler.hpp"
#include "libdtrace/consume/constants.hpp"
#include "libdtrace/consume/consumer.hpp"
#include "session.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace dt;

namespace {

// A host that has only a clock, which advances by one each time it is read.
struct Host {
    dt_host host{};
    std::uint64_t now = 1000;
    static Host& of(dt_host* host) { return *static_cast<Host*>(host->self); }
    static dt_u64 tick(dt_host* host) { return of(host).now++; }
    static dt_u64 wall(dt_host*) { return 1795209911000000000ull; }
    static dt_u64 none(dt_host*) { return 0; }
    dt_host_ops ops{.timestamp = tick, .walltime = wall, .vtimestamp = none};

    explicit Host(void* arena)
    {
        host.ops = &ops;
        host.arena = arena;
        host.owner = static_cast<dt_u32>(getpid());
        host.self = this;
    }
};

struct Collected : Events {
    std::string text;
    bool fault(const FaultEvent& event) override
    {
        text += event.text + "\n";
        return true;
    }
    std::optional<std::string> setopt(std::string_view, std::string_view) override
    {
        return "not here";
    }
    void complain(std::string_view what) override { text += std::string(what) + "\n"; }
};

struct Ran {
    std::string out, events;
    std::optional<int> status;
};

// Runs BEGIN. Then fires the probe test:::fire n times, with arg0 counting up from 0.
// Then runs END.
Ran run(const std::string& text, int n = 0, bool quiet = true)
{
    Compiler compiler;
    CompileOptions options;
    options.string_program = true;
    auto compiled = compiler.compile(text, options);
    if (auto* diagnostic = std::get_if<Diagnostic>(&compiled)) {
        ADD_FAILURE() << diagnostic->text;
        return {};
    }
    auto program = std::make_shared<Program>(std::get<Program>(std::move(compiled)));

    dt_arena_config config{};
    for (dt_u64& option : config.options)
        option = DT_OPT_UNSET;
    config.options[DTRACEOPT_temporal] = 1;
    config.n_shards = 2;
    config.walltime = 1;
    dt_u64 program_bytes = 0, total_bytes = 0;
    dt_arena_layout(&config, &program_bytes, &total_bytes);
    void* arena = mmap(nullptr, total_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    dt_arena_init(arena, &config);
    for (const char* name : {"BEGIN", "END", "ERROR"})
        dt_probe_add(arena, "dtrace", "", "", name);
    std::uint32_t fire = dt_probe_add(arena, "test", "", "", "fire");

    auto dof = write_dof(*program, 0);
    dt_load_error error{};
    dt_u32 first_clause = 0, n_clauses = 0;
    if (dt_load(arena, dof.data(), dof.size(), &first_clause, &n_clauses, &error) !=
        0) {
        ADD_FAILURE() << error.text;
        munmap(arena, total_bytes);
        return {};
    }
    for (std::size_t i = 0; i < program->clauses.size(); i++)
        for (const ProbeSpec& spec : program->clauses[i].probes) {
            std::uint32_t probe = spec.name == "BEGIN"   ? DT_PROBE_BEGIN
                                  : spec.name == "END"   ? DT_PROBE_END
                                  : spec.name == "ERROR" ? DT_PROBE_ERROR
                                                         : fire;
            dt_ecb_add(arena, probe, first_clause + static_cast<std::uint32_t>(i));
        }

    Host host(arena);
    Collected events;
    Consumer::Config settings;
    settings.arena = arena;
    settings.events = &events;
    Consumer consumer(settings);
    consumer.add_program(program, first_clause);
    consumer.display().quiet = quiet;
    StringOutput out;
    PrintAll print_all;
    dt_activity_advance(arena, DT_ACTIVITY_INACTIVE, DT_ACTIVITY_WARMUP);
    dt_fire(&host.host, DT_PROBE_BEGIN, nullptr, 0);
    dt_activity_advance(arena, DT_ACTIVITY_WARMUP, DT_ACTIVITY_ACTIVE);
    for (int i = 0; i < n; i++) {
        dt_u64 arg = static_cast<dt_u64>(i);
        dt_fire(&host.host, fire, &arg, 1);
    }
    dt_activity_advance(arena, DT_ACTIVITY_ACTIVE, DT_ACTIVITY_DRAINING);
    dt_activity_advance(arena, DT_ACTIVITY_DRAINING, DT_ACTIVITY_COOLDOWN);
    dt_fire(&host.host, DT_PROBE_END, nullptr, 0);
    EXPECT_TRUE(consumer.drain(DrainKind::Final, out, print_all));
    EXPECT_TRUE(consumer.print_aggregations(out));
    Ran ran{out.taken, events.text, consumer.exit_status()};
    munmap(arena, total_bytes);
    return ran;
}

} // namespace

TEST(Programs, TraceAndExitHaveTheirValues)
{
    Ran ran = run("BEGIN { trace(\"Hello World!\"); exit(3); }", 0, false);
    EXPECT_EQ(ran.out, "  Hello World!                     ");
    EXPECT_EQ(ran.status, 3);
}

TEST(Programs, PrintfTakesValuesOfEverySize)
{
    Ran ran = run("BEGIN { this->c = (char)-1; this->s = (short)-2; x = 3; "
                  "printf(\"%d %d %d %s %x %c|\", this->c, this->s, x, \"four\", "
                  "0xabcdef012, 'y'); "
                  "printf(\"%5s%-5d|%05d\\n\", \"ab\", 7, -42); }");
    EXPECT_EQ(ran.out, "-1 -2 3 four abcdef012 y|   ab7    |-0042\n");
}

TEST(Programs, AggregationsComeOutByKeyAndFunction)
{
    Ran ran = run("test:::fire { @n[arg0 % 2 ? \"odd\" : \"even\"] = count(); "
                  "@s[arg0 % 2] = sum(arg0); @a = avg(arg0); @m = max(arg0); }"
                  "END { printa(\"%s=%@d \", @n); printa(\"%d:%@d \", @s); "
                  "printa(\"%@d %@d\\n\", @a, @m); }",
                  5);
    EXPECT_EQ(ran.out, "odd=2 even=3 1:4 0:6 2 4\n");
}

TEST(Programs, DistributionsAreDrawnFromWhatTheEngineCounted)
{
    Ran ran = run("test:::fire { @ = quantize(arg0); }", 4);
    EXPECT_EQ(ran.out,
              "\n"
              "           value  ------------- Distribution ------------- count    \n"
              "              -1 |                                         0        \n"
              "               0 |@@@@@@@@@@                               1        \n"
              "               1 |@@@@@@@@@@                               1        \n"
              "               2 |@@@@@@@@@@@@@@@@@@@@                     2        \n"
              "               4 |                                         0        \n"
              "\n");
    Ran linear = run("test:::fire { @ = lquantize(arg0, 0, 3, 1, -2); }", 5);
    EXPECT_NE(linear.out.find("@| -4       \n"), std::string::npos) << linear.out;
    Ran log = run("test:::fire { @ = llquantize(arg0, 10, 0, 1, 10); }", 12);
    EXPECT_NE(log.out.find("\n             < 1 |@@@"), std::string::npos) << log.out;
    EXPECT_NE(log.out.find("\n              10 |@@@@@@@ "), std::string::npos)
        << log.out;
}

TEST(Programs, LibraryActionsActInStreamOrder)
{
    Ran ran =
        run("test:::fire { @[arg0] = sum(arg0 * 10); }"
            "END { normalize(@, 10); printa(\"%d:%@d \", @); denormalize(@); "
            "trunc(@, 2); printa(\"%d:%@d \", @); clear(@); printa(\"%d:%@d \", @); "
            "trunc(@); printa(\"never\", @); }",
            4);
    EXPECT_EQ(ran.out, "0:0 1:1 2:2 3:3 2:20 3:30 2:0 3:0 ");
}

TEST(Programs, AggregationsAndOptionsOfActionsAreConstantsOfTheClause)
{
    Compiler compiler;
    CompileOptions options;
    options.string_program = true;
    auto compiled = compiler.compile(
        "BEGIN { @a = count(); @b = count(); clear(@b); trunc(@b); trunc(@b, 3); "
        "normalize(@b, 10); denormalize(@b); printa(@b); printa(\"%@d %@d\", @a, @b); "
        "setopt(\"quiet\"); setopt(\"switchrate\", \"1s\"); freopen(\"/dev/null\"); "
        "exit(0); }",
        options);
    ASSERT_TRUE(std::holds_alternative<Program>(compiled));
    std::size_t n_constants = 0;
    for (const Action& action : std::get<Program>(compiled).clauses[0].actions)
        if (action.kind == DTRACEACT_LIBACT || action.kind == DTRACEACT_PRINTA ||
            action.kind == DTRACEACT_EXIT) {
            ASSERT_TRUE(action.difo);
            EXPECT_TRUE(constant_of(*action.difo)) << action.source.line;
            n_constants++;
        }
    EXPECT_EQ(n_constants, 14u);
}

TEST(Programs, FaultsNameTheClauseAndLaterClausesRun)
{
    Ran ran = run("BEGIN { trace(*(int *)0); } BEGIN { trace(\"after\"); }");
    EXPECT_EQ(ran.out, "after");
    EXPECT_EQ(ran.events.find("error on enabled probe ID 1 (ID 1: dtrace:::BEGIN): "
                              "invalid address (0x0) in action #1 at DIF offset "),
              0u)
        << ran.events;
}

TEST(Programs, TracememAndArraysAreDumped)
{
    Ran ran = run("BEGIN { this->p = (char *)alloca(8); *this->p = 65; "
                  "*(this->p + 1) = 1; tracemem(this->p, 8, 2); }");
    EXPECT_NE(ran.out.find("\n         0: 41 01   "), std::string::npos) << ran.out;
}
