// SPDX-License-Identifier: MIT
// C API: compiles, enables and shows programs.
#include "libdtrace/api/views.hpp"

#include "dif/actions.h"

#include <cstdlib>
#include <cstring>

static std::string read_all(FILE* file)
{
    std::string text;
    char chunk[65536];
    for (std::size_t n = 0; (n = std::fread(chunk, 1, sizeof chunk, file)) > 0;)
        text.append(chunk, n);
    return text;
}

static void disassemble_to(FILE* to, const std::shared_ptr<dt::Difo>& difo)
{
    if (!difo)
        return;
    std::string text = dt::disassemble(*difo);
    std::fwrite(text.data(), 1, text.size(), to);
}

// Returns whether the entry is the first entry of an action that records data. Such an
// action can have several entries, for example one for each value of a printf(). Only
// the first entry has an ntuple other than 0. Must not be called for aggregating
// actions.
static bool begins_record(const dt::Action& action)
{
    bool nothing = action.kind == DTRACEACT_DIFEXPR && action.difo->rtype.size == 0;
    return action.ntuple != 0 && !nothing && DTRACEACT_CLASS(action.kind) != 0x600;
}

extern "C" {

dtrace_prog_t* dtrace_program_strcompile(dtrace_hdl_t* dtp, const char* text,
                                         dtrace_probespec_t spec, uint_t cflags,
                                         int argc, char* const argv[])
{
    return dtp->session.compiler().compile(text, "", spec, cflags, argc, argv, true);
}

dtrace_prog_t* dtrace_program_fcompile(dtrace_hdl_t* dtp, FILE* file, uint_t cflags,
                                       int argc, char* const argv[])
{
    std::string text = read_all(file);
    if (std::ferror(file)) {
        dtp->fail(EDT_FIO);
        return nullptr;
    }
    return dtp->session.compiler().compile(text, argc > 0 ? argv[0] : "",
                                           DTRACE_PROBESPEC_NAME, cflags, argc, argv,
                                           false);
}

void dtrace_program_info(dtrace_hdl_t*, dtrace_prog_t* prog, dtrace_proginfo_t* info)
{
    std::memset(info, 0, sizeof *info);
    dt::Attributes descriptions = dt::strongest_attributes, names = descriptions;
    for (std::size_t k = 0; k < prog->program->clauses.size(); k++) {
        const dt::CompiledClause& clause = prog->program->clauses[k];
        if (clause.prepares)
            continue;
        descriptions = dt::weakest(descriptions, clause.descriptions);
        names = dt::weakest(names, clause.names);
        info->dpi_matches += static_cast<uint_t>(prog->matched[k].size());
        if (clause.default_action)
            info->dpi_recgens++;
        for (const dt::Action& action : clause.actions) {
            if (DTRACEACT_ISAGG(action.kind))
                info->dpi_aggregates += action.ntuple != DT_NTUPLE_INCREMENT;
            else if (action.kind == DTRACEACT_SPECULATE)
                info->dpi_speculations++;
            else if (begins_record(action))
                info->dpi_recgens++;
        }
    }
    info->dpi_descattr = attribute_of(descriptions);
    info->dpi_stmtattr = attribute_of(names);
}

int dtrace_program_exec(dtrace_hdl_t* dtp, dtrace_prog_t* prog, dtrace_proginfo_t* info)
{
    if (info != nullptr)
        dtrace_program_info(dtp, prog, info);
    return dtp->session.exec(prog);
}

const char* dtrace_program_text(dtrace_hdl_t*, dtrace_prog_t* prog)
{
    return prog->program->text.c_str();
}

void dtrace_program_disasm(dtrace_hdl_t*, dtrace_prog_t* prog, FILE* to)
{
    for (const dt::CompiledClause& clause : prog->program->clauses) {
        disassemble_to(to, clause.predicate);
        for (const dt::Action& action : clause.actions)
            disassemble_to(to, action.difo);
    }
}

int dtrace_stmt_iter(dtrace_hdl_t* dtp, dtrace_prog_t* prog, dtrace_stmt_f* func,
                     void* arg)
{
    for (const dt::CompiledClause& clause : prog->program->clauses) {
        if (clause.prepares)
            continue;
        for (const dt::ProbeSpec& probe : clause.probes) {
            dtrace_ecbdesc_t ecb{};
            copy_probe_spec(ecb.dted_probe, probe);
            dtrace_stmtdesc_t stmt{&ecb, attribute_of(clause.descriptions),
                                   attribute_of(clause.names)};
            if (int stop = func(dtp, prog, &stmt, arg); stop != 0)
                return stop;
        }
    }
    return 0;
}

void* dtrace_dof_create(dtrace_hdl_t* dtp, dtrace_prog_t* prog, uint_t)
{
    auto dof = dt::write_dof(*prog->program, 0);
    void* copy = std::malloc(dof.size());
    if (copy == nullptr) {
        dtp->fail(EDT_NOMEM);
        return nullptr;
    }
    std::memcpy(copy, dof.data(), dof.size());
    return copy;
}

size_t dtrace_dof_size(const void* dof)
{
    return static_cast<const dof_hdr*>(dof)->filesz;
}

void dtrace_dof_destroy(dtrace_hdl_t*, void* dof)
{
    std::free(dof);
}

} // extern "C"
