// SPDX-License-Identifier: MIT
// Measures what a firing inside the target costs.
//
// The program maps the runtime's image into its own process. In a loop, it calls a
// trampoline that fires the probe. Each line shows the median of 15 rounds and the
// spread, in ns of CPU time per call, minus the time without the probe. Each clause is
// measured in the interpreter. If it can be compiled, it is also measured as native code.
#include "tests/unit/runtime/in_process.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <sys/utsname.h>
#include <vector>

using namespace runtime_test;

namespace {

constexpr unsigned n_calls = 20000;
constexpr int n_rounds = 15;
const InProcess::Probe entry{"pid1:a.out:work:entry"};
const InProcess::Probe ret{"pid1:a.out:work:return", DT_RT_RETURN};

double cpu_ns()
{
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

struct Spread {
    double least, median, most;
};

Spread measure(InProcess* runtime, const std::vector<Function>& calls)
{
    std::vector<double> rounds;
    for (int round = 0; round < n_rounds; round++) {
        double begin = cpu_ns();
        for (unsigned i = 0; i < n_calls; i++)
            for (Function call : calls)
                reinterpret_cast<void (*)(unsigned long)>(call)(i & 7);
        rounds.push_back((cpu_ns() - begin) / n_calls);
        if (runtime != nullptr) // empties the buffer, so that no record is dropped
            (void)runtime->session.records();
    }
    std::sort(rounds.begin(), rounds.end());
    return {rounds.front(), rounds[n_rounds / 2], rounds.back()};
}

void report(const char* what, const char* program, int inert = 0)
{
    InProcess runtime(program);
    const auto* work = reinterpret_cast<const void*>(probed_work);
    std::vector<Function> calls;
    for (const InProcess::Probe& probe : {entry, ret})
        if (std::string(program).find(probe.name) != std::string::npos)
            calls.push_back(runtime.probed({probe}, work));
    std::vector<Function> bare(calls.size(), probed_work);
    runtime.add_thread();
    runtime.set_clock();
    runtime.live() = inert != 1;
    if (inert == 2)
        runtime.set_inert(calls[0]);
    Spread without = measure(nullptr, bare), with = measure(&runtime, calls);
    std::printf("%-40s %7.1f ns  (%5.1f .. %5.1f)", what, with.median - without.median,
                with.least - without.median, with.most - without.median);
    std::string why;
    for (Function call : calls)
        why += runtime.compile(call);
    if (inert != 0 || !why.empty()) {
        std::printf("  %s\n", why.c_str());
    } else {
        Spread compiled = measure(&runtime, calls);
        std::printf("  compiled %7.1f ns  (%5.1f .. %5.1f)\n",
                    compiled.median - without.median, compiled.least - without.median,
                    compiled.most - without.median);
    }
    for (auto kind : {DTRACEDROP_PRINCIPAL, DTRACEDROP_NOSHARD, DTRACEDROP_AGGREGATION,
                      DTRACEDROP_DYNAMIC, DTRACEDROP_LEASE})
        if (runtime.session.drops(kind) != 0)
            std::printf("  drops of kind %d: %llu\n", kind,
                        static_cast<unsigned long long>(runtime.session.drops(kind)));
}

} // namespace

int main()
{
    utsname machine{};
    uname(&machine);
    std::printf("machine: %s %s\n", machine.machine, machine.release);
    report("count()", "pid1:a.out:work:entry { @ = count(); }");
    report("@[arg0] = count()", "pid1:a.out:work:entry { @[arg0] = count(); }");
    report("@[probefunc] = count()",
           "pid1:a.out:work:entry { @[probefunc] = count(); }");
    report("@[tid, arg0] = sum(arg0)",
           "pid1:a.out:work:entry { @[tid, arg0] = sum(arg0); }");
    report("@ = quantize(arg0)", "pid1:a.out:work:entry { @ = quantize(arg0); }");
    report("trace(arg0)", "pid1:a.out:work:entry { trace(arg0); }");
    report("entry and return, latency to quantize",
           "pid1:a.out:work:entry { self->ts = timestamp; }"
           "pid1:a.out:work:return /self->ts/"
           "{ @ = quantize(timestamp - self->ts); self->ts = 0; }");
    report("return, count()", "pid1:a.out:work:return { @ = count(); }");
    report("three clauses: count(), @[arg0], false",
           "pid1:a.out:work:entry { @ = count(); }"
           "pid1:a.out:work:entry { @k[arg0] = count(); }"
           "pid1:a.out:work:entry /arg0 == -1/ { @ = count(); }");
    report("false predicate /arg0 == -1/",
           "pid1:a.out:work:entry /arg0 == -1/ { @ = count(); }");
    report("inert, not live", "pid1:a.out:work:entry { @ = count(); }", 1);
    report("inert, n_firings = 0", "pid1:a.out:work:entry { @ = count(); }", 2);
    return 0;
}
