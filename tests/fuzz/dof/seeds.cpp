// SPDX-License-Identifier: MIT
#include "tests/fuzz/dof/seeds.hpp"

#include <filesystem>

#include "dif/arena.h"
#include "tests/dif/runner.hpp"

namespace dif_test {
namespace {

std::vector<char> every_kind_of_action()
{
    DofBuilder dof;
    Difo arg = builtin(DIF_VAR_arg0);
    Clause& c = dof.clause("p:m:f:n");
    c.when(arg);
    for (std::uint32_t kind : {DTRACEACT_PRINTF, DTRACEACT_SYSTEM, DTRACEACT_FREOPEN}) {
        Action a{kind, arg, 2};
        a.format = "%d %s";
        c.action(a).action({kind, literal("abc")});
    }
    c.action({DTRACEACT_TRACEMEM, literal("abc").returns(bytes_type(4)), 2});
    c.action({DTRACEACT_TRACEMEM_DYNSIZE, arg});
    c.action({DTRACEACT_PRINTA, constant(1), 1})
        .action({DTRACEACT_LIBACT, constant(1), 1, 1});
    c.action({DTRACEACT_USTACK, {}, 1, DTRACE_USTACK_ARG(5, 0)});
    c.action({DTRACEACT_RAISE, arg, 1}).action({DTRACEACT_STOP, {}, 1});
    c.key(literal("key")).action({DTRACEACT_USYM, arg}).key(arg);
    c.action({DTRACEAGG_lquantize, constant(2), DT_NTUPLE_INCREMENT});
    c.aggregate(DTRACEAGG_lquantize, 1, 3, arg, DTRACE_LQUANTIZE_ARG(1, 10, 0));
    c.aggregate(DTRACEAGG_llquantize, 2, 0, arg, DTRACE_LLQUANTIZE_ARG(10, 0, 6, 20));
    c.aggregate(DTRACEAGG_stddev, 3, 0, arg).aggregate(DTRACEAGG_quantize, 4, 0, arg);
    c.action({DTRACEACT_EXIT, constant(0, 4), 1});
    return dof.build();
}

std::vector<char> speculation()
{
    DofBuilder dof;
    dof.clause("p:m:f:n").run(Difo()
                                  .variable("s", 0x500, DIFV_SCOPE_GLOBAL)
                                  .call(DIF_SUBR_speculation, 1)
                                  .indexed(DIF_OP_STGS, 0x500, 1)
                                  .ret(1));
    Difo id;
    id.variable("s", 0x500, DIFV_SCOPE_GLOBAL).ldgs(0x500, 1).ret(1);
    dof.clause("p:m:f:n")
        .action({DTRACEACT_SPECULATE, id, 1})
        .trace(builtin(DIF_VAR_arg1));
    dof.clause("p:m:f:n").action({DTRACEACT_COMMIT, id, 1});
    dof.clause("p:m:f:n").action({DTRACEACT_DISCARD, id, 1});
    return dof.build();
}

} // namespace

std::vector<std::vector<char>> dof_seeds()
{
    std::vector<std::vector<char>> out = {every_kind_of_action(), speculation()};
    for (const auto& entry : std::filesystem::directory_iterator(DIF_CASES_DIR)) {
        if (entry.path().extension() != ".dif")
            continue;
        for (const Case& c : read_cases(entry.path())) {
            DofBuilder dof;
            dof.clause("p:m:f:n").trace(c.difo);
            out.push_back(dof.build());
        }
    }
    return out;
}

} // namespace dif_test
