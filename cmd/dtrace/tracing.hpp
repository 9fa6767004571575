// SPDX-License-Identifier: MIT
// Compiles, enables and consumes the programs of dtrace(1).
#pragma once

#include "arguments.hpp"
#include "rows.hpp"

// Returns the pid of a -p argument. Exits if it is not valid.
pid_t pid_of(const TargetArgument& target);

// Compiles a piece. Exits with status 1 if it does not compile, so the result is never
// null.
dtrace_prog_t* compile_piece(dtrace_hdl_t* session, const Arguments& args,
                             const Piece& piece);

class Tracing {
public:
    Tracing(dtrace_hdl_t* session, const Arguments& args, FILE* out)
        : session_(session), args_(args), out_(out)
    {
    }

    // Starts or grabs the targets of -c and -p, in the given order.
    void take_targets();
    // Compiles all pieces. Exits with status 1 if one does not compile.
    void compile();
    // Lists the probes that match the pieces (-l), or all probes if there is no piece.
    int list();
    // Runs until exit(), a signal, or the exit of all targets. Returns the exit status.
    int run();

private:
    dtrace_prog_t* compile_piece(const Piece& piece)
    {
        return ::compile_piece(session_, args_, piece);
    }
    // Enables a program. `what` is its name in messages, and `heading` its name in the
    // report of -v.
    void enable(dtrace_prog_t* prog, const std::string& what,
                const std::string& heading);

    static int on_probe(const dtrace_probedata_t* data, void* arg);
    static int on_record(const dtrace_probedata_t* data, const dtrace_recdesc_t* record,
                         void* arg);
    static int on_error(const dtrace_errdata_t* data, void* arg);
    static int on_drop(const dtrace_dropdata_t* data, void* arg);
    static int on_piece(const dtrace_bufdata_t* data, void* arg);
    static int on_setopt(const dtrace_setoptdata_t* data, void* arg);
    static void on_process(ps_prochandle* process, const char* message, void* arg);
    void process_ended(ps_prochandle* process);
    bool all_ended() const;
    void read_format();

    dtrace_hdl_t* session_;
    const Arguments& args_;
    FILE* out_;
    std::vector<ps_prochandle*> targets_;
    std::size_t n_ended_ = 0;
    std::size_t n_clauses_ = 0; // in all enabled programs
    bool lost_ = false;         // a target still runs but is no longer traced
    Rows rows_{session_, out_};
    bool told_in_lines_ = false; // errors and drops are lines of the output
};

// Installs handlers for SIGINT, SIGTERM, SIGHUP and SIGQUIT. The first signal requests an
// orderly end; the second discards the remaining output.
void catch_signals(dtrace_hdl_t* session, FILE* out);
// Closes the session. From now on, a second interrupt ends dtrace immediately.
void release_targets(dtrace_hdl_t* session);
