// SPDX-License-Identifier: MIT
// How many printf records per second can the consumer format on one core?
//
// The program writes records of one printf clause into the buffers of an arena. Then it
// measures how long dtrace(1) -q takes to drain, check, merge, format and print them to
// /dev/null. For comparison, it also measures a loop of snprintf() and fwrite() over
// the same values.
#include "cmd/dtrace/rows.hpp"
#include "dif/engine.h"
#include "libdtrace/api/handle.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <vector>

using namespace dt;

namespace {

constexpr int n_runs = 5;
constexpr std::uint32_t n_shards = 4;
constexpr std::uint64_t buffer_bytes = 4 << 20;

struct Values {
    dt_rechdr header;
    std::int32_t pid;
    char name[20];
    std::int64_t bytes;
    std::uint64_t at;
};
static_assert(sizeof(Values) == 56);

constexpr std::size_t records_per_shard = buffer_bytes / sizeof(Values);
constexpr int n_rounds = 10;
constexpr char format[] = "%d %s: %d bytes at %x\n";

Values value_of(std::uint32_t epid, std::uint64_t i)
{
    Values v{};
    v.header = {epid, 0, 0, i};
    v.pid = static_cast<std::int32_t>(1000 + i % 30000);
    std::strcpy(v.name, i % 3 ? "redis-server" : "python3");
    v.bytes = static_cast<std::int64_t>(i * 37 % 100000);
    v.at = 0x7f0000000000 + i * 64;
    return v;
}

void* make_arena(std::uint32_t& epid)
{
    dt_arena_config config{};
    for (dt_u64& option : config.options)
        option = DT_OPT_UNSET;
    config.options[DTRACEOPT_bufsize] = buffer_bytes;
    config.options[DTRACEOPT_temporal] = 1;
    config.options[DTRACEOPT_quiet] = 1;
    config.n_shards = n_shards;
    config.max_probes = config.max_ecbs = config.max_clauses = config.max_vars = 64;
    config.heap_bytes = 64 << 10;
    dt_u64 program_bytes = 0, total_bytes = 0;
    dt_arena_layout(&config, &program_bytes, &total_bytes);
    void* memory = mmap(nullptr, total_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        std::perror("mmap");
        std::exit(1);
    }
    dt_arena_init(memory, &config);
    auto* arena = static_cast<dt_arena*>(memory);
    std::uint64_t at = DT_ALIGN(arena->heap_used, 8ull);
    arena->heap_used = at + 4 * sizeof(dt_action);
    auto* actions = static_cast<dt_action*>(dt_at(memory, at));
    const std::array<std::pair<std::uint32_t, std::uint32_t>, 4> places = {
        {{offsetof(Values, pid), 4},
         {offsetof(Values, name), 20},
         {offsetof(Values, bytes), 8},
         {offsetof(Values, at), 8}}};
    for (std::size_t i = 0; i < places.size(); i++) {
        actions[i].kind = DTRACEACT_PRINTF;
        actions[i].ntuple = i == 0 ? 4 : 1;
        actions[i].rec_offset = places[i].first;
        actions[i].rec_size = places[i].second;
    }
    auto* clause = static_cast<dt_clause*>(dt_at(memory, arena->clauses.at));
    clause->actions = at;
    clause->n_actions = 4;
    clause->rec_bytes = sizeof(Values);
    arena->clauses.n = 1;
    epid = dt_ecb_add(memory,
                      dt_probe_add(memory, "pid1", "libc.so.6", "read", "entry"), 0);
    return memory;
}

std::shared_ptr<Program> make_program()
{
    auto program = std::make_shared<Program>();
    program->types = std::make_shared<TypeTable>();
    CompiledClause clause;
    for (const char* type : {"int", "string", "long", "unsigned long"}) {
        Action action;
        action.kind = DTRACEACT_PRINTF;
        action.type = program->types->lookup(type);
        if (clause.actions.empty()) {
            action.has_format = true;
            action.format = format;
            action.ntuple = 4;
        }
        clause.actions.push_back(action);
    }
    program->clauses.push_back(clause);
    return program;
}

// Fills the buffers of all shards. Consecutive records are in different shards, so that
// the consumer has to merge them by time.
void fill(void* memory, std::uint32_t epid, std::uint64_t first)
{
    auto* arena = static_cast<dt_arena*>(memory);
    for (std::uint32_t n = 0; n < n_shards; n++) {
        auto* shard = static_cast<dt_shard*>(
            dt_at(memory, arena->shards + n * arena->shard_bytes));
        dt_buffer& buffer = shard->principal[shard->active];
        auto* to = static_cast<char*>(dt_at(memory, buffer.at));
        for (std::size_t i = 0; i < records_per_shard; i++) {
            Values v = value_of(epid, first + i * n_shards + n);
            std::memcpy(to + i * sizeof v, &v, sizeof v);
        }
        buffer.used = records_per_shard * sizeof(Values);
    }
}

// Calls what(). Returns the CPU time in seconds.
double seconds(const std::function<void()>& what)
{
    auto now = [] {
        timespec t{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
    };
    double start = now();
    what();
    return now() - start;
}

// Creates a stopped session. Its dtrace_consume() consumes the records of this arena.
dtrace_hdl_t* open_session(void* arena)
{
    dtrace_hdl_t* session = dtrace_open(DTRACE_VERSION, 0, nullptr);
    if (session == nullptr || dtrace_setopt(session, "quiet", nullptr) != 0) {
        std::fputs("the session cannot be opened\n", stderr);
        std::exit(1);
    }
    Consumer::Config config;
    config.arena = arena;
    auto consumer = std::make_unique<Consumer>(config);
    consumer->add_program(make_program(), 0);
    consumer->display().quiet = true;
    session->state().consumer = std::move(consumer);
    session->state().active = session->state().stopped = true;
    return session;
}

int begin_row(const dtrace_probedata_t* data, void* rows)
{
    static_cast<Rows*>(rows)->begin(*data);
    return DTRACE_CONSUME_THIS;
}

int end_row(const dtrace_probedata_t*, const dtrace_recdesc_t* record, void* rows)
{
    if (record == nullptr)
        static_cast<Rows*>(rows)->end();
    return DTRACE_CONSUME_THIS;
}

double run_consumer(std::FILE* null)
{
    std::uint32_t epid = 0;
    void* memory = make_arena(epid);
    dtrace_hdl_t* session = open_session(memory);
    Rows rows(session, null);
    rows.read_options();
    double total = 0;
    bool drained = true;
    for (int round = 0; round <= n_rounds; round++) {
        fill(memory, epid,
             static_cast<std::uint64_t>(round) * n_shards * records_per_shard);
        double took = seconds([&] {
            drained &= dtrace_consume(session, null, begin_row, end_row, &rows) == 0;
        });
        // The first round does not count, because it also causes page faults in the
        // consumer's buffer.
        if (round > 0)
            total += took;
    }
    if (!drained) {
        std::fputs("the drain failed\n", stderr);
        std::exit(1);
    }
    dtrace_close(session);
    munmap(memory, static_cast<dt_arena*>(memory)->total_bytes);
    return n_rounds * n_shards * static_cast<double>(records_per_shard) / total;
}

double run_snprintf(std::FILE* null)
{
    const std::uint64_t n = n_shards * records_per_shard;
    std::vector<Values> values;
    for (std::uint64_t i = 0; i < n; i++)
        values.push_back(value_of(1, i));
    double took = seconds([&] {
        char line[256];
        for (const Values& v : values) {
            int bytes = std::snprintf(line, sizeof line, "%d %s: %lld bytes at %llx\n",
                                      v.pid, v.name, static_cast<long long>(v.bytes),
                                      static_cast<unsigned long long>(v.at));
            fwrite_unlocked(line, 1, static_cast<std::size_t>(bytes), null);
        }
    });
    return static_cast<double>(n) / took;
}

double report(const char* what, const std::function<double()>& run)
{
    std::array<double, n_runs> rates{};
    for (double& rate : rates)
        rate = run() / 1e6;
    std::sort(rates.begin(), rates.end());
    std::printf("%-28s %7.2f M records/s   median of %d, from %.2f to %.2f\n", what,
                rates[n_runs / 2], n_runs, rates.front(), rates.back());
    return rates[n_runs / 2];
}

} // namespace

int main()
{
    std::FILE* null = std::fopen("/dev/null", "w");
    if (!null) {
        std::perror("/dev/null");
        return 1;
    }
    utsname machine{};
    uname(&machine);
    std::printf("printf(\"%%d %%s: %%d bytes at %%x\"), %u shards, CPU time of one "
                "core; %s %s\n",
                n_shards, machine.machine, machine.release);
    double consumer =
        report("drain, merge, format, write", [&] { return run_consumer(null); });
    double bare =
        report("snprintf and fwrite alone", [&] { return run_snprintf(null); });
    std::printf("ratio %.2f; wanted: at least 3 M records/s\n", consumer / bare);
    std::fclose(null);
    return 0;
}
