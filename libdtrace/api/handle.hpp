// SPDX-License-Identifier: MIT
// Defines dtrace_hdl_t, the handle of the C API: a session, the caller's handlers, and
// the data returned to the caller. This data stays valid until dtrace_close(), or until
// the next call to the same function.
#pragma once

#include "libdtrace/api/include/dtrace.h"
#include "libdtrace/consume/output.hpp"
#include "libdtrace/session/session.hpp"

#include <sys/eventfd.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace dt {

// A handler that the caller has set, and the argument to pass to it.
template <class F> struct Handler {
    F* func = nullptr;
    void* arg = nullptr;
};

} // namespace dt

struct dtrace_hdl : dt::Listener {
    dt::Session session{*this};
    dt::Compiler& compiler() { return session.compiler().compiler(); }
    dt::ProcessNames& names() { return session.compiler().names(); }
    dt::SessionState& state() { return session.state(); }
    const dt::SessionState& state() const { return session.state(); }
    int fail(int number, std::string text = "")
    {
        return state().fail(number, std::move(text));
    }
    int fail(const dt::Error& error) { return state().fail(error); }

    // Returns the output for the file, and keeps the output in `out`. The file may be
    // null, as in make_output(). On failure, calls fail() and returns null.
    dt::Output* output_to(FILE* file);
    // Creates an output for the file, or for the buffered handler if the file is null.
    // If neither exists, calls fail() and returns null.
    std::unique_ptr<dt::Output> make_output(FILE* file);
    // Drains the buffers once and prints the records. On failure, calls fail() and
    // returns -1.
    int consume(FILE* file, dtrace_consume_probe_f* probe_func,
                dtrace_consume_rec_f* record_func, void* arg, bool final);

    // The functions of dt::Listener, which events.cpp defines.
    bool fault(const dt::FaultEvent& event) override;
    bool drop(const dt::DropEvent& event) override;
    std::optional<std::string> setopt(std::string_view name,
                                      std::string_view value) override;
    int run_command(const std::string& command) override;
    void complain(std::string_view text) override;
    void process(ps_prochandle* process, const char* text) override;
    void probes_renamed() override { views.clear(); }
    bool writes_json() const;

    // Returns the modules with this name. If there are none, calls fail() and returns
    // an empty vector. Defined in api_symbols.cpp.
    std::vector<const dt::Module*> modules_called(const char* object);
    // Plans the sites of the listed probes in a process. On failure, calls fail() and
    // returns -1. Defined in api_sites.cpp.
    int plan_listed(pid_t pid);
    // Stores a name until the handle is freed, and returns its text.
    const char* keep(std::string name)
    {
        return kept.insert(std::move(name)).first->c_str();
    }

    // Makes dtrace_sleep() return.
    dt::Fd wake{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    dt::Handler<dtrace_handle_err_f> on_err;
    dt::Handler<dtrace_handle_drop_f> on_drop;
    dt::Handler<dtrace_handle_proc_f> on_proc;
    dt::Handler<dtrace_handle_buffered_f> on_buffered;
    dt::Handler<dtrace_handle_setopt_f> on_setopt;

    std::unique_ptr<dt::Output> out; // the output that dtrace_work() last used
    FILE* out_file = nullptr;
    // The outputs that dtrace_freopen() has redirected.
    std::map<FILE*, std::unique_ptr<dt::Output>> reopened;
    // The formats that dtrace_printf_create() and dtrace_printa_create() returned.
    std::vector<std::unique_ptr<dt::Format>> formats;
    // The C API's descriptions of ECBs, by EPID. They are created on first use.
    std::map<std::uint32_t, std::shared_ptr<struct EcbView>> views;

    // The types of args[] that the last dtrace_probe_info() returned.
    std::vector<std::string> argument_texts;
    std::vector<char*> argument_words;
    std::string why_no_arguments;      // dtrace_probeinfo_t::dtp_why points to it
    std::vector<std::uint32_t> listed; // probes of the last dtrace_probe_iter()
    // The plans for the sites of the listed probes, by probe id.
    std::map<std::uint32_t, std::vector<dt::SitePlan>> plans;
    // The notes that the last dtrace_patch_iter() returned.
    std::vector<std::string> patch_notes;
    std::vector<const char*> patch_note_texts;
    std::set<std::string> kept; // the names stored by keep()
};
