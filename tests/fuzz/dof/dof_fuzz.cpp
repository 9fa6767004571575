// SPDX-License-Identifier: MIT
// Loads arbitrary bytes as DOF. Loading must not access memory outside the arena. If
// the loader accepts the bytes, fires probes to run the clauses.
//
// libFuzzer or fuzz_test.cpp calls LLVMFuzzerTestOneInput().
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "dif/engine.h"
#include "tests/unit/dif/session.hpp"

namespace {

using dif_test::Session;

// One arena for all inputs. Its initial state is restored before each input.
class Arena {
public:
    Arena()
    {
        session_.config.n_shards = 1;
        session_.config.max_clauses = 64;
        session_.config.max_probes = 64;
        session_.config.max_ecbs = 128;
        session_.config.max_vars = 64;
        session_.config.heap_bytes = 1 << 20;
        session_.config.options[DTRACEOPT_bufsize] = 4096;
        session_.config.options[DTRACEOPT_aggsize] = 8192;
        session_.config.options[DTRACEOPT_dynvarsize] = 16384;
        session_.config.options[DTRACEOPT_nspec] = 2;
        session_.config.options[DTRACEOPT_destructive] = 1;
        session_.host.target.assign(256, 'x');
        session_.host.frames = {1, 2, 3};
        session_.start();
        probe_ = dt_probe_add(session_.memory(), "p", "m", "f", "n");
        header_ = session_.arena();
    }

    void run(const std::uint8_t* data, std::size_t bytes)
    {
        std::uint32_t first = 0, n = 0;
        dt_load_error error;
        restore();
        if (dt_load(session_.memory(), data, bytes, &first, &n, &error) != 0)
            return;
        for (std::uint32_t i = 0; i < n; i++)
            dt_ecb_add(session_.memory(), probe_, first + i);
        dt_ecb_add(session_.memory(), DT_PROBE_ERROR, first);
        for (std::uint64_t i = 0; i < 3; i++) {
            std::uint64_t args[] = {i, 0x10000, ~0ull, 1ull << 63, DT_VBASE, i << 40};
            dt_fire(&session_.host.host, probe_, args, 6);
        }
        session_.records();
        session_.aggregations();
        dt_clean(session_.memory(), 1, session_.host.clock, Session::all_live);
    }

private:
    // Removes the variables of the previous input, but does not clear their storage. A
    // hostile target could also write any bytes there.
    void restore()
    {
        dt_arena& a = session_.arena();
        auto* index =
            static_cast<std::uint32_t*>(dt_at(session_.memory(), a.var_index));
        auto* vars = static_cast<dt_var*>(dt_at(session_.memory(), a.vars.at));
        for (std::uint32_t i = 0; i < a.vars.n; i++)
            index[vars[i].scope << 16 | vars[i].id] = 0;
        a = header_;
        session_.probes()[probe_ - 1].first_ecb = 0;
        session_.probes()[DT_PROBE_ERROR - 1].first_ecb = 0;
        session_.session().activity = DT_ACTIVITY_ACTIVE;
        session_.session().exited = 0;
        session_.host.raised.clear();
    }

    Session session_;
    std::uint32_t probe_ = 0;
    dt_arena header_{};
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes)
{
    static Arena* arena = new Arena;
    arena->run(data, bytes);
    return 0;
}
