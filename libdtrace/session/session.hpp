// SPDX-License-Identifier: MIT
// A session: everything that one consumer does, from the text of a program to its
// output.
//
//   compile programs ── exec (add them) ── go ── { serve targets, consume } ── stop
//
// go() chooses the backend, makes the arena, loads the programs, adds the probes and
// their ECBs, plants the sites and fires BEGIN. If a step fails, go() undoes the
// earlier steps and may be called again. stop() fires END. After that, the remaining
// records are consumed.
//
// Everything runs in the caller's thread, except tick and profile probes (TimerThread)
// and the computation of extents (ExtentMaps).
//
// Functions with an int result return 0, or -1 after SessionState::fail().
#pragma once

#include "libdtrace/session/backends/backend.hpp"
#include "libdtrace/session/backends/clock_line.hpp"
#include "libdtrace/session/program_compiler.hpp"
#include "libdtrace/session/session_state.hpp"
#include "libdtrace/session/site_reports.hpp"
#include "libdtrace/session/targets.hpp"

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>

namespace dt {

class Session {
public:
    explicit Session(Listener& listener) : s_(listener) {}

    SessionState& state() { return s_; }
    const SessionState& state() const { return s_; }
    ProgramCompiler& compiler() { return compiler_; }
    Targets& targets() { return targets_; }

    int set_option(const char* name, const char* value);
    // Adds a program. Its probes fire after go().
    int exec(dtrace_prog* prog);
    int go();
    int stop();
    // Returns DTRACE_STATUS_*, or -1 after SessionState::fail().
    int status();
    // Does the periodic work: renews the clock line and the lease, cleans variables and
    // speculations, and makes pending reports.
    void tend(std::uint64_t now_ns);
    // Handles events of targets and calls tend(). Consumes no records.
    void serve_targets();
    // Writes the programs that exec() has added. The kernel module reads the file when
    // it is loaded.
    int save_anonymous(FILE* to);

private:
    int make_backend();
    int start(); // the steps of go(); if one fails, go() calls back_out()
    int prepare();
    void back_out();
    int claim_anonymous();
    void make_consumer();
    int load(Enabling& enabling);
    int check_sizes();
    int enable(const Enabling& enabling);
    void fire(std::uint32_t probe); // BEGIN or END
    void advance(dt_activity from, dt_activity to);
    void clean_all();
    void apply_display();

    SessionState s_;
    SiteReports reports_{s_};
    ProgramCompiler compiler_{s_};
    std::unique_ptr<Backend> backend_; // null before go()
    Targets targets_{s_, backend_};
    // indexed by the address of the arena
    std::map<const void*, ClockLine> clock_lines_;
    std::uint64_t cleaned_at_ = 0, lease_renewed_at_ = 0; // monotonic ns
};

} // namespace dt
