// SPDX-License-Identifier: MIT
// Helpers for tests of compiled clauses. They create a probe to compile, return the
// number of counted events, and run threads that are interrupted in many ways.
#pragma once

#include "tests/unit/runtime/in_process.hpp"

#include <cstdint>
#include <functional>
#include <linux/rseq.h>

namespace runtime_test {

inline const char* const count_entries = "pid1:a.out:work:entry { @ = count(); }";
void call(Function function, unsigned long argument);

struct Counted {
    std::uint64_t on_cpus = 0, shared = 0, by_engine = 0;
    std::uint64_t all() const { return on_cpus + shared + by_engine; }
};

// Returns how many events count() or quantize() has counted: in per-CPU counters, in
// the shared counters, and in the engine.
Counted counted(InProcess& runtime);
std::uint64_t fired_by_engine(InProcess& runtime);

bool has_rseq();
struct rseq& own_rseq();

// Calls the function from fifty threads, which are moved between CPUs and interrupted
// by a signal handler that also calls the function. Some threads give up their rseq
// registration. Calls `meanwhile` repeatedly until the threads have finished. Returns
// the number of calls, including those of the signal handler.
std::uint64_t call_from_many_threads(Function function, unsigned n_calls,
                                     const std::function<void()>& meanwhile = {});

} // namespace runtime_test
