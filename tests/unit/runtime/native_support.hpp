// SPDX-License-Identifier: MIT
// Helpers for tests of compiled clauses.
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

// Returns how many events were counted in the counters of CPUs, in the shared counters,
// and by the engine.
Counted counted(InProcess& runtime);
std::uint64_t fired_by_engine(InProcess& runtime);

bool has_rseq();
struct rseq& own_rseq();

// Calls the function from fifty threads and a signal handler. The threads change CPUs,
// and some unregister their rseq area. Calls `meanwhile` repeatedly. Returns the number
// of calls.
std::uint64_t call_from_many_threads(Function function, unsigned n_calls,
                                     const std::function<void()>& meanwhile = {});

} // namespace runtime_test
