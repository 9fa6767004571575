// SPDX-License-Identifier: MIT
// What the tests of compiled clauses share: probes to compile, what was counted and by
// whom, and threads to whom everything happens.
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

// How many events a clause with count() or quantize() had, and where.
Counted counted(InProcess& runtime);
std::uint64_t fired_by_engine(InProcess& runtime);

bool has_rseq();
struct rseq& own_rseq();

// Fifty threads on two CPUs that are moved, interrupted, and some of which give their
// registration up: how many calls they made.
std::uint64_t call_from_many_threads(Function function, unsigned n_calls,
                                     const std::function<void()>& meanwhile = {});

} // namespace runtime_test
