// SPDX-License-Identifier: MIT
// Prints a row for each patch, and then a summary for each process. A patch is a place
// where the text of a process differs from the mapped file.
#include "patches.hpp"

#include "report.hpp"
#include "tracing.hpp"

#include <cerrno>
#include <cinttypes>
#include <cstring>
#include <string>

namespace {

struct Table {
    FILE* out;
    int pid;
    int n_rows;
};

const char* state_of(const dtrace_patchdesc_t* patch)
{
    switch (patch->dtpt_kind) {
    case DTRACE_PATCH_JUMP:
        return patch->dtpt_live ? "live" : "inert";
    case DTRACE_PATCH_INT3:
        return patch->dtpt_live ? "live" : "lethal";
    default:
        return "-";
    }
}

int print_row(dtrace_hdl_t*, const dtrace_patchdesc_t* patch, void* arg)
{
    auto* table = static_cast<Table*>(arg);
    if (table->n_rows++ == 0)
        std::fprintf(table->out, "%7s %18s %17s %33s %6s %6s %s\n", "PID", "ADDRESS",
                     "MODULE", "FUNCTION", "PROBES", "STATE", "PATCH");
    char probes[16] = "-";
    if (patch->dtpt_kind == DTRACE_PATCH_JUMP)
        std::snprintf(probes, sizeof probes, "%" PRIu32, patch->dtpt_firings);
    std::fprintf(table->out, "%7d %#18" PRIx64 " %17s %33s %6s %6s %s\n", table->pid,
                 patch->dtpt_addr, patch->dtpt_mod, patch->dtpt_func, probes,
                 state_of(patch), patch->dtpt_text);
    return 0;
}

const char* plural(uint32_t n)
{
    return n == 1 ? "" : "s";
}

void print_total(FILE* out, int pid, const dtrace_patchinfo_t& info)
{
    for (const char* const* note = info.dtpi_notes; *note != nullptr; note++)
        std::fprintf(out, "pid %d: %s\n", pid, *note);
    if (info.dtpi_jumps + info.dtpi_int3s + info.dtpi_unknown == 0)
        std::fprintf(out, "pid %d: no patches\n", pid);
    else
        std::fprintf(out,
                     "pid %d: %" PRIu32 " jump%s (%" PRIu32 " live, %" PRIu32
                     " inert), %" PRIu32 " breakpoint%s, %" PRIu32 " unknown\n",
                     pid, info.dtpi_jumps, plural(info.dtpi_jumps), info.dtpi_live,
                     info.dtpi_jumps - info.dtpi_live, info.dtpi_int3s,
                     plural(info.dtpi_int3s), info.dtpi_unknown);
    if (info.dtpi_runtime == 0)
        std::fprintf(out, "pid %d: no runtime is mapped\n", pid);
    else if (info.dtpi_version == 0)
        std::fprintf(
            out,
            "pid %d: the runtime of a different dtrace version is mapped at %#" PRIx64
            "; it is not known whether its jumps are live\n",
            pid, info.dtpi_runtime);
    else
        std::fprintf(out,
                     "pid %d: the runtime is mapped at %#" PRIx64 "; its agent %s\n",
                     pid, info.dtpi_runtime,
                     info.dtpi_agent_lives
                         ? ("is process " + std::to_string(info.dtpi_agent)).c_str()
                         : "has exited");
    if (info.dtpi_tracer != 0)
        std::fprintf(out, "pid %d: traced by process %d\n", pid, info.dtpi_tracer);
}

} // namespace

int list_patches(dtrace_hdl_t* session, const Arguments& args, FILE* out)
{
    int status = 0;
    Table table{out, 0, 0};
    for (const TargetArgument& target : args.targets) {
        table.pid = pid_of(target);
        dtrace_patchinfo_t info{};
        if (dtrace_patch_iter(session, table.pid, print_row, &table, &info) != 0) {
            std::fflush(out); // so that the output so far appears before the message
            say("failed to read pid %d: %s", table.pid,
                dtrace_errmsg(session, dtrace_errno(session)));
            status = 1;
            continue;
        }
        print_total(out, table.pid, info);
    }
    if (std::fflush(out) == 0 && std::ferror(out) == 0)
        return status;
    say("failed to write the list: %s", std::strerror(errno));
    return 1;
}
