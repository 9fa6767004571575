// SPDX-License-Identifier: MIT
// Replaces the engine, so that tests need no D programs. dt_fire() requests values from
// the agent, and stores them in a Notebook. The notebook is in the data part of the
// arena, which the test also maps.
#pragma once

#include <atomic>
#include <cstdint>

namespace dt::test {

constexpr unsigned max_probes = 8192;
constexpr unsigned max_pcs = 16;

// The values that dt_fire() requests from the host, one bit for each kind.
enum Ask : std::uint64_t { ask_args = 1, ask_stack = 2, ask_vars = 4, ask_memory = 8 };

struct Seen {
    std::atomic<std::uint64_t> hits;
    std::uint64_t args[10];
    std::uint64_t n_args;
    std::uint64_t pid, tid, ppid, uid, errno_value, rip, rsp, vtimestamp;
    std::uint64_t thread_key;
    std::int64_t depth;
    std::uint64_t pcs[max_pcs];
    char execname[32];
    char psargs[128];
    char text[64]; // the string at arg0
    std::int64_t text_length;
    std::uint64_t bad; // the address that could not be loaded
};

struct Notebook {
    std::uint64_t ask;
    std::uint64_t raise_signal; // dt_fire() raises this signal once
    Seen seen[max_probes];
};

constexpr std::uint64_t program_bytes = 64 << 10;
constexpr std::uint64_t data_bytes = (sizeof(Notebook) + 0xffff) & ~0xffffull;

} // namespace dt::test
