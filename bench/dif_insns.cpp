// SPDX-License-Identifier: MIT
// How many simple DIF instructions does the engine run per second, and how long does
// one firing take?
//
// A clause that runs 60,000 instructions and records nothing answers the first question.
// Clauses that have a single action answer the second question.
#include <sys/mman.h>
#include <sys/utsname.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include "dif/engine.h"
#include "tests/unit/dif/dof_builder.hpp"

using namespace dif_test;

namespace {

std::uint64_t now(dt_host*)
{
    auto t = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(t).count();
}

const dt_host_ops ops = {now,     now,     nullptr, nullptr, nullptr, nullptr, nullptr,
                         nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};

std::uint64_t cpu_ns()
{
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}

struct Engine {
    dt_host host{};
    std::uint32_t probe = 0;

    explicit Engine(DofBuilder& dof)
    {
        dt_arena_config config{};
        std::uint64_t program, total;
        std::uint32_t first, n;
        dt_load_error error;
        for (auto& option : config.options)
            option = DT_OPT_UNSET;
        config.n_shards = 1;
        dt_arena_layout(&config, &program, &total);
        host.arena = mmap(nullptr, total, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (host.arena == MAP_FAILED)
            std::abort();
        dt_arena_init(host.arena, &config);
        auto image = dof.build();
        if (dt_load(host.arena, image.data(), image.size(), &first, &n, &error) != 0) {
            std::fprintf(stderr, "%s\n", error.text);
            std::exit(1);
        }
        probe = dt_probe_add(host.arena, "bench", "", "", "probe");
        for (std::uint32_t i = 0; i < n; i++)
            dt_ecb_add(host.arena, probe, first + i);
        dt_activity_advance(host.arena, DT_ACTIVITY_INACTIVE, DT_ACTIVITY_ACTIVE);
        host.ops = &ops;
        host.owner = 1;
    }
    // Returns the nanoseconds per firing of each round, in ascending order.
    std::vector<double> measure(unsigned firings)
    {
        std::vector<double> rounds;
        for (int round = 0; round < 15; round++) {
            std::uint64_t start = cpu_ns();
            std::uint64_t args[] = {1, 2};
            for (unsigned i = 0; i < firings; i++) {
                dt_fire(&host, probe, args, 2);
                empty_buffer(i);
            }
            rounds.push_back(double(cpu_ns() - start) / firings);
        }
        std::sort(rounds.begin(), rounds.end());
        return rounds;
    }

private:
    // Empties the buffer after every 65536 firings, before it is full.
    void empty_buffer(unsigned i)
    {
        static std::vector<char> to(8 << 20);
        if (i % 65536 == 65535)
            dt_drain_principal(host.arena, 0, 2, to.data(), to.size(), nullptr,
                               nullptr);
    }
};

void report(const char* what, const std::vector<double>& r, double scale,
            const char* unit)
{
    std::printf("%-44s %10.1f %s  (%.1f .. %.1f)\n", what, scale / r[r.size() / 2],
                unit, scale / r.back(), scale / r.front());
}

void report_ns(const char* what, const std::vector<double>& r)
{
    std::printf("%-44s %10.1f ns  (%.1f .. %.1f)\n", what, r[r.size() / 2], r.front(),
                r.back());
}

} // namespace

int main()
{
    constexpr unsigned n_loop = 10000;
    Difo simple;
    simple.setx(1, 1).setx(2, 2);
    for (unsigned i = 0; i < n_loop; i++) {
        simple.op(DIF_OP_ADD, 1, 2, 3).op(DIF_OP_XOR, 3, 1, 4).op(DIF_OP_MOV, 4, 0, 5);
        simple.op(DIF_OP_CMP, 3, 4);
        simple.branch(DIF_OP_BNE, simple.text.size() + 1);
        simple.op(DIF_OP_SLL, 5, 1, 6);
    }
    simple.ret(3);
    Difo fetching;
    fetching.setx(1, 1).setx(2, 2);
    for (unsigned i = 0; i < n_loop; i++) {
        fetching.ldgs(DIF_VAR_arg0, 1);
        fetching.op(DIF_OP_ADD, 1, 2, 3).op(DIF_OP_XOR, 3, 1, 4);
        fetching.op(DIF_OP_CMP, 3, 4);
        fetching.branch(DIF_OP_BNE, fetching.text.size() + 1);
        fetching.op(DIF_OP_SLL, 4, 1, 6);
    }
    fetching.ret(3);
    utsname machine;
    uname(&machine);
    std::printf("machine: %s %s\n", machine.machine, machine.release);

    DofBuilder straight, fetches, count, trace, keyed, tls;
    straight.clause("bench:::probe").run(simple);
    Engine e(straight);
    report("simple DIF instructions", e.measure(100), 1e3 * simple.text.size(), "M/s");
    fetches.clause("bench:::probe").run(fetching);
    Engine f(fetches);
    report("every sixth one fetches arg0", f.measure(100), 1e3 * fetching.text.size(),
           "M/s");

    count.clause("bench:::probe").aggregate(DTRACEAGG_count, 1, 0);
    report_ns("firing of @ = count()", Engine(count).measure(200000));
    keyed.clause("bench:::probe")
        .key(builtin(DIF_VAR_arg0))
        .aggregate(DTRACEAGG_quantize, 1, 1, builtin(DIF_VAR_arg1));
    report_ns("firing of @[arg0] = quantize(arg1)", Engine(keyed).measure(200000));
    trace.clause("bench:::probe").trace(builtin(DIF_VAR_arg0));
    report_ns("firing of trace(arg0)", Engine(trace).measure(200000));
    tls.clause("bench:::probe")
        .run(Difo()
                 .variable("ts", 0x500, DIFV_SCOPE_THREAD)
                 .ldgs(DIF_VAR_timestamp, 1)
                 .indexed(DIF_OP_STTS, 0x500, 1)
                 .ret(1));
    report_ns("firing of self->ts = timestamp", Engine(tls).measure(200000));
    return 0;
}
