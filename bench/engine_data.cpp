// SPDX-License-Identifier: MIT
// How long does the interpreter take for a store to an associative array, a read from
// an associative array, an aggregation by an integer, and an aggregation by a string?
// Do two threads together do twice as much work as one?
//
// Each row of the output is a clause. The column "alone" is the row's time minus the
// time of a clause that only assigns a constant. The goals apply to this column.
//
// Two properties of the machine affect the results:
//   - The 100,000 elements take 6 MB and are read in an unpredictable order. The row
//     "a read of 6 MB at random" shows the cost of one memory read.
//   - Two CPUs may share a core. So each round also runs loop(), which does not use the
//     engine, in two threads. The round counts only if the two threads do at least 1.9
//     times the work of one thread.
#include "dif/engine.h"
#include "dif/float.h"
#include "dif/vars.h"
#include "libdtrace/compile/compiler.hpp"

#include <algorithm>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <numeric>
#include <random>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <vector>

namespace {

constexpr unsigned n_live = 100000; // elements with different keys
constexpr unsigned n_rounds = 15, n_firings = 200000;

std::uint64_t thread_ns()
{
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1000000000 +
           static_cast<std::uint64_t>(t.tv_nsec);
}

// Returns a counter, because the results must not include the cost of reading a clock.
dt_u64 host_now(dt_host*)
{
    static thread_local dt_u64 now = 0;
    return ++now;
}

// Selects one of the 64 strings that execname can return. Each has 20 bytes.
thread_local unsigned which_name = 0;

dt_u64 host_string(dt_host*, dt_u32, dt_u32, char* to, dt_u64 max)
{
    static const char digits[] = "0123456789abcdef";
    char name[] = "a-process-of-many--..";
    name[18] = digits[which_name >> 4 & 3];
    name[19] = digits[which_name & 15];
    dt_u64 n = std::min<dt_u64>(max, 20);
    std::memcpy(to, name, n);
    return n;
}

dt_host_ops host_ops()
{
    dt_host_ops ops{};
    ops.timestamp = ops.walltime = ops.vtimestamp = host_now;
    ops.var_string = host_string;
    ops.flop = dt_flop;
    return ops;
}

const dt_host_ops ops = host_ops();

class Engine {
public:
    explicit Engine(const std::string& body, unsigned n_threads = 1)
    {
        dt_arena_config config{};
        for (auto& option : config.options)
            option = DT_OPT_UNSET;
        config.options[DTRACEOPT_dynvarsize] = 32 << 20;
        config.options[DTRACEOPT_aggsize] = 64 << 20;
        config.options[DTRACEOPT_strsize] = 32;
        config.n_shards = n_threads;
        config.has_float = 1;
        dt_u64 program_bytes, bytes;
        dt_arena_layout(&config, &program_bytes, &bytes);
        arena_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (arena_ == MAP_FAILED)
            std::abort();
        dt_arena_init(arena_, &config);
        load("bench:::fill { a[arg0, \"a string\"] = 1; } bench:::probe { " + body +
             " }");
        dt_activity_advance(arena_, DT_ACTIVITY_INACTIVE, DT_ACTIVITY_ACTIVE);
    }

    // Fires a probe n times as thread number `thread`. Returns the ns per firing. Fill
    // uses the keys in ascending order. Body uses them in an unpredictable order.
    enum class Probe { Fill, Body };
    double fire(unsigned thread, unsigned n, Probe which = Probe::Body)
    {
        dt_host host{};
        host.ops = &ops;
        host.arena = arena_;
        host.owner = 1 + thread;
        host.shard = thread;
        host.thread_key = 1 + thread;
        std::uint64_t start = thread_ns();
        for (unsigned i = 0; i < n; i++) {
            dt_u64 key = which == Probe::Fill ? i : i * 7919ull % n_live;
            which_name = static_cast<unsigned>(key);
            dt_fire(&host, probes_[which == Probe::Body], &key, 1);
        }
        return static_cast<double>(thread_ns() - start) / n;
    }

private:
    void load(const std::string& text)
    {
        dt::CompileOptions options;
        options.strsize = 32;
        dt::Compiler compiler;
        auto compiled = compiler.compile(text, options);
        if (auto* diagnostic = std::get_if<dt::Diagnostic>(&compiled)) {
            std::fprintf(stderr, "%s\n", diagnostic->text.c_str());
            std::exit(1);
        }
        auto dof = dt::write_dof(std::get<dt::Program>(compiled), 0);
        dt_u32 first = 0, n = 0;
        dt_load_error error{};
        if (dt_load(arena_, dof.data(), dof.size(), &first, &n, &error) != 0) {
            std::fprintf(stderr, "%s\n", error.text);
            std::exit(1);
        }
        for (dt_u32 i = 0; i < n; i++) {
            probes_[i] =
                dt_probe_add(arena_, "bench", "", "", i == 0 ? "fill" : "probe");
            dt_ecb_add(arena_, probes_[i], first + i);
        }
    }

    void* arena_ = nullptr;
    dt_u32 probes_[2] = {};
};

struct Spread {
    double median, least, most;
};

Spread spread(std::vector<double> rounds)
{
    std::sort(rounds.begin(), rounds.end());
    return {rounds[rounds.size() / 2], rounds.front(), rounds.back()};
}

Spread measure(Engine& engine)
{
    engine.fire(0, n_live, Engine::Probe::Fill); // creates all elements
    engine.fire(0, n_live);
    std::vector<double> rounds;
    for (unsigned i = 0; i < n_rounds; i++)
        rounds.push_back(engine.fire(0, n_firings));
    return spread(std::move(rounds));
}

// Returns the time in ns of one memory read. Each read depends on the previous read,
// and the cache lines are read in random order.
double ns_of_read()
{
    struct alignas(64) Line {
        Line* next;
    };
    std::vector<Line> lines(n_live);
    std::vector<unsigned> order(n_live);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::minstd_rand());
    for (unsigned i = 0; i < n_live; i++)
        lines[order[i]].next = &lines[order[(i + 1) % n_live]];
    std::vector<double> rounds;
    Line* volatile at = lines.data();
    for (unsigned i = 0; i < n_rounds; i++) {
        std::uint64_t start = thread_ns();
        Line* line = at;
        for (unsigned n = 0; n < n_firings; n++)
            line = line->next;
        at = line;
        rounds.push_back(static_cast<double>(thread_ns() - start) / n_firings);
    }
    return spread(std::move(rounds)).median;
}

// Returns the speed of two threads divided by the speed of one thread. work(thread)
// returns its time in ns.
template <class F> double scaling(F work)
{
    double alone = work(0), together[2];
    std::barrier start(2);
    auto run = [&](unsigned thread) {
        start.arrive_and_wait();
        together[thread] = work(thread);
    };
    std::thread other(run, 1);
    run(0);
    other.join();
    return alone / together[0] + alone / together[1];
}

// Runs a loop that uses only registers and keeps all arithmetic units of a core busy.
// Returns its time in ns.
double loop(unsigned)
{
    std::uint64_t start = thread_ns(), a = start, b = start, c = start, d = start;
    for (unsigned i = 0; i < 10 * n_firings; i++)
        __asm__ volatile("add $1, %0\n\tadd $1, %1\n\tadd $1, %2\n\tadd $1, %3\n\t"
                         "add $1, %0\n\tadd $1, %1\n\tadd $1, %2\n\tadd $1, %3"
                         : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
    return static_cast<double>(thread_ns() - start);
}

struct Scaling {
    Spread ours, machine;
    unsigned n_judged; // the number of rounds that count
};

Scaling scaling_of(const std::string& body)
{
    Engine engine(body, 2);
    for (unsigned thread : {0u, 1u})
        engine.fire(thread, n_live);
    auto fire = [&](unsigned thread) { return engine.fire(thread, n_firings); };
    std::vector<double> ours, machine, judged;
    for (unsigned i = 0; i < 4 * n_rounds; i++) {
        double before = scaling(loop);
        ours.push_back(scaling(fire));
        double after = scaling(loop);
        machine.push_back(std::min(before, after));
        if (machine.back() >= 1.9)
            judged.push_back(ours.back());
    }
    auto n_judged = static_cast<unsigned>(judged.size());
    return {spread(n_judged != 0 ? judged : ours), spread(machine), n_judged};
}

struct Row {
    const char* what;
    const char* body;
    double most_ns; // the goal; 0 means no goal
};

constexpr Row rows[] = {
    {"nothing but the firing", "this->x = 1;", 0},
    {"a[arg0, \"key\"] = 1, 100,000 live", "a[arg0, \"a string\"] = 1;", 150},
    {"x = a[arg0, \"key\"]", "this->x = a[arg0, \"a string\"];", 150},
    {"a[arg0 & 63, \"key\"] = 1", "a[arg0 & 63, \"a string\"] = 1;", 0},
    {"x = a[arg0 & 63, \"key\"]", "this->x = a[arg0 & 63, \"a string\"];", 0},
    {"a[arg0, execname] = arg0", "a[arg0, execname] = arg0;", 150},
    {"@[arg0 & 63] = count()", "@[arg0 & 63] = count();", 40},
    {"@[arg0] = count(), 100,000 keys", "@[arg0] = count();", 0},
    {"@[execname] = count(), 20 bytes", "@[execname] = count();", 80},
    {"@[\"20 bytes\"] = count()", "@[\"a-process-of-many---\"] = count();", 80},
    {"@ = sum(arg0 * 0.5)", "@ = sum(arg0 * 0.5);", 0},
};

} // namespace

int main()
{
    double nothing = 0;
    std::printf("%-36s %9s %9s   %-17s %s\n", "ns a firing", "median", "alone",
                "spread", "must");
    for (const Row& row : rows) {
        Engine engine(row.body);
        Spread ns = measure(engine);
        if (nothing == 0)
            nothing = ns.median;
        std::printf("%-36s %9.1f %9.1f   %6.1f .. %-6.1f  ", row.what, ns.median,
                    ns.median - nothing, ns.least, ns.most);
        if (row.most_ns != 0)
            std::printf("%.0f %s", row.most_ns,
                        ns.median - nothing <= row.most_ns ? "held" : "NO");
        std::printf("\n");
    }
    std::printf("%-36s %9s %9.1f\n", "a read of 6 MB at random, without us", "",
                ns_of_read());
    std::printf("\n%-36s %9s   %-14s %s\n", "two threads do, in one's time", "x",
                "spread", "must 1.8, of rounds in which loops without us scaled");
    for (const char* body :
         {"this->x = 1;", "a[arg0, \"a string\"] = 1;", "@[arg0 & 63] = count();",
          "@[\"a-process-of-many---\"] = count();"}) {
        Scaling x = scaling_of(body);
        std::printf("%-36s %9.2f   %.2f .. %-6.2f ", body, x.ours.median, x.ours.least,
                    x.ours.most);
        if (x.n_judged == 0)
            std::printf("none: two loops did %.2f\n", x.machine.median);
        else
            std::printf("%s, %u of %u\n", x.ours.median >= 1.8 ? "held" : "NO",
                        x.n_judged, 4 * n_rounds);
    }
    return 0;
}
