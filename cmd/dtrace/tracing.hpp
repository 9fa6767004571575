// SPDX-License-Identifier: MIT
// Compiles and enables the programs of dtrace(1), and prints their records.
#pragma once

#include "arguments.hpp"
#include "rows.hpp"

// Returns the pid in an argument of -p. Exits with a message if it is not a valid pid.
pid_t pid_of(const TargetArgument& target);

// Compiles a piece, which is the D text or file of one -P, -m, -f, -n, -i or -s. Exits
// with a message and status 1 if it does not compile. The result is never null.
dtrace_prog_t* compile_piece(dtrace_hdl_t* session, const Arguments& args,
                             const Piece& piece);

class Tracing {
public:
    Tracing(dtrace_hdl_t* session, const Arguments& args, FILE* out)
        : session_(session), args_(args), out_(out)
    {
    }

    // Starts the commands of -c and attaches to the processes of -p, in the given
    // order.
    void take_targets();
    // Compiles all pieces and, unless -e is given, enables their probes. Exits with
    // status 1 if this fails.
    void compile();
    // Lists the probes that match the pieces (-l), or all probes if there is no piece.
    // Returns the exit status.
    int list();
    // Traces until the program calls exit(), a signal arrives, or all targets have
    // exited. Returns the exit status.
    int run();

private:
    dtrace_prog_t* compile_piece(const Piece& piece)
    {
        return ::compile_piece(session_, args_, piece);
    }
    // Enables a program, unless -e is given. `what` is the program's name in messages,
    // and `heading` is its name in the report of -v.
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
    std::size_t n_clauses_ = 0; // the number of clauses of all enabled programs
    // Whether data is missing because a running target is no longer traced, or because
    // output was discarded.
    bool lost_ = false;
    Rows rows_{session_, out_};
    // With -x format=json, errors and drops are lines of the output, not messages.
    bool told_in_lines_ = false;
};

// Installs handlers for SIGINT, SIGTERM, SIGHUP and SIGQUIT. After the first signal,
// dtrace stops tracing and prints the remaining records. After a second one, it
// discards them.
void catch_signals(dtrace_hdl_t* session, FILE* out);
// Closes the session, which releases the targets. A second interrupt during the release
// ends dtrace immediately.
void release_targets(dtrace_hdl_t* session);
