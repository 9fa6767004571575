// SPDX-License-Identifier: MIT
#include "engine_double.hpp"

#include "dif/engine.h"
#include "dif/vars.h"

#include <algorithm>

using namespace dt::test;

static std::uint64_t number(dt_host* host, unsigned id, unsigned index = 0)
{
    dt_u64 value = 0;
    return host->ops->var(host, id, index, &value) == 0 ? value : ~0ull;
}

static void string(dt_host* host, unsigned id, char* to, std::size_t max)
{
    auto n = host->ops->var_string(host, id, 0, to, max - 1);
    to[n] = '\0';
}

static dt_u64 arg_of(dt_host* host, dt_u32 n)
{
    dt_u64 value = 0, bad = 0;
    return host->ops->arg(host, n, &value, &bad) == 0 ? value : 0;
}

extern "C" void dt_fire(dt_host* host, dt_u32 probe, const dt_u64* args, dt_u32 n_args)
{
    auto& notes =
        *reinterpret_cast<Notebook*>(static_cast<char*>(host->arena) + program_bytes);
    if (probe >= max_probes)
        return;
    Seen& seen = notes.seen[probe];
    if (notes.ask & ask_args) {
        for (dt_u32 i = 0; i < 10; ++i)
            seen.args[i] = i < n_args ? args[i] : arg_of(host, i);
        seen.n_args = n_args;
        seen.thread_key = host->thread_key;
    }
    if (notes.ask & ask_stack) {
        dt_u64 pcs[max_pcs];
        seen.depth = host->ops->ustack(host, pcs, max_pcs);
        std::copy(pcs, pcs + std::max<std::int64_t>(0, seen.depth), seen.pcs);
    }
    if (notes.ask & ask_vars) {
        seen.pid = number(host, DIF_VAR_pid);
        seen.tid = number(host, DIF_VAR_tid);
        seen.ppid = number(host, DIF_VAR_ppid);
        seen.uid = number(host, DIF_VAR_uid);
        seen.errno_value = number(host, DIF_VAR_errno);
        seen.rip = number(host, DIF_VAR_uregs, 17);
        seen.rsp = number(host, DIF_VAR_uregs, 20);
        seen.vtimestamp = host->ops->vtimestamp(host);
        string(host, DIF_VAR_execname, seen.execname, sizeof seen.execname);
        string(host, DIF_VAR_pr_psargs, seen.psargs, sizeof seen.psargs);
    }
    if (notes.ask & ask_memory) {
        dt_u64 bad = 0;
        seen.text_length =
            host->ops->load_string(host, args[0], seen.text, sizeof seen.text, &bad);
        seen.bad = bad;
    }
    if (notes.raise_signal != 0) {
        host->ops->raise(host, static_cast<int>(notes.raise_signal));
        notes.raise_signal = 0;
    }
    seen.hits.fetch_add(1);
}
