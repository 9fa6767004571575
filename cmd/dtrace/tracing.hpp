// SPDX-License-Identifier: MIT
// Compiling, enabling and consuming, as dtrace(1) does it.
#pragma once

#include "arguments.hpp"

// Of -p. One that is none ends the command.
pid_t pid_of(const TargetArgument& target);

// Never null: a piece that does not compile ends the command with status 1.
dtrace_prog_t* compile_piece(dtrace_hdl_t* session, const Arguments& args,
                             const Piece& piece);

class Tracing {
public:
    Tracing(dtrace_hdl_t* session, const Arguments& args, FILE* out)
        : session_(session), args_(args), out_(out)
    {
    }

    // -c and -p, in the order given.
    void take_targets();
    // All pieces; exits with status 1 when one does not compile.
    void compile();
    // -l: what the pieces match, or everything.
    int list();
    // Until exit(), a signal, or the end of all targets: the exit status.
    int run();

private:
    dtrace_prog_t* compile_piece(const Piece& piece)
    {
        return ::compile_piece(session_, args_, piece);
    }
    // Enables a program. what: its name in messages; heading: its name in the report of
    // -v.
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
    std::size_t n_clauses_ = 0; // of all enabled programs
    bool lost_ = false;         // a target lives on, but nobody traces it
    bool header_done_ = false;
    bool quiet_ = false;
    bool flowindent_ = false;
    bool text_ = true;           // -x format
    bool rows_ = true;           // of the record under way
    bool told_in_lines_ = false; // errors and drops
};

// Handlers for SIGINT and the like: the first asks for an orderly end, the second
// ends at once.
void catch_signals(dtrace_hdl_t* session, FILE* out);
// Closes the session. From now on a second interrupt ends dtrace at once.
void release_targets(dtrace_hdl_t* session);
