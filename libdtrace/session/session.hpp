// SPDX-License-Identifier: MIT
// A session: what a dtrace_hdl_t is. All state of one consumer, and how it moves.
//
//   open ── compile programs ── exec (take them) ── go ── { sleep, work } ── stop ── close
//
// go() makes the arena, loads each program's DOF into it, adds the probes and their ECBs,
// plants the sites, fires BEGIN. When a step fails, all before it are undone: the targets
// have their bytes back, and go() may be called again. Later a library that a target loads can add probes to
// the same arena. stop() fires END; what is still in the buffers is consumed by the
// work() after it.
//
// Everything happens in the caller's thread, except tick and profile (Clock) and the sweeps
// of modules while probes are made (ExtentMaps).
#pragma once

#include "libdtrace/session/arena_memory.hpp"
#include "libdtrace/session/clock.hpp"
#include "libdtrace/session/clock_line.hpp"
#include "libdtrace/api/include/dtrace.h"
#include "libdtrace/session/kernel_device.hpp"
#include "libdtrace/session/kernel_unwind.hpp"
#include "libdtrace/session/local_host.hpp"
#include "libdtrace/session/new_processes.hpp"
#include "libdtrace/session/options.hpp"
#include "libdtrace/session/processes.hpp"
#include "libdtrace/compile/compiler.hpp"
#include "libdtrace/consume/consumer.hpp"
#include "libdtrace/providers/dtrace_provider.hpp"
#include "libdtrace/providers/fbt_provider.hpp"
#include "libdtrace/providers/kernel_libraries.hpp"
#include "libdtrace/providers/pid_provider.hpp"
#include "libdtrace/providers/profile_provider.hpp"
#include "libdtrace/providers/cpc_provider.hpp"
#include "libdtrace/providers/sdt_provider.hpp"
#include "libdtrace/providers/stable_provider.hpp"
#include "libdtrace/providers/syscall_provider.hpp"
#include "libdtrace/providers/usdt_provider.hpp"
#include "libdtrace/symbols/kernel/kernel_types.hpp"

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

struct dtrace_prog {
    std::shared_ptr<const dt::Program> program;
    // Of each clause: the probes that its descriptions matched, in their order.
    std::vector<std::vector<std::uint32_t>> matched;
    // What it was compiled from: an anonymous enabling is compiled once more.
    struct Source {
        std::string text, name;
        dtrace_probespec_t spec = DTRACE_PROBESPEC_NAME;
        uint_t cflags = 0;
        bool is_string = false;
        std::vector<std::string> arguments;
    } source;
};

namespace dt {

// A program that was executed. One that is executed twice fires twice.
struct Enabling {
    dtrace_prog* prog = nullptr;
    std::uint32_t first_clause = 0; // in the arena
    bool loaded = false;
};

// How a list of sites is reported: text before and after a site, and what is counted when
// the list is long.
struct SiteWords {
    std::string before, after, more;
};
extern const SiteWords not_probed, by_breakpoint;

Mechanism mechanism_of(const Options& options);
Site site_of(std::uint32_t probe, const ProbeSite& at);

// One of each, as the C API has it.
template <class F> struct Handler {
    F* func = nullptr;
    void* arg = nullptr;
};

} // namespace dt

namespace dt {

// Those of libdtrace/providers/kernel, as far as they were needed.
struct KernelLibraries {
    std::set<std::string> wanted; // providers whose arguments were asked for
    std::set<std::string, std::less<>> tried; // names of files
    std::string why_not;                      // one of them does not compile
    std::vector<ProviderBlock> providers;
    std::shared_ptr<const TypeTable> types; // of their arguments
};

} // namespace dt

struct dtrace_hdl : dt::Events {
    dtrace_hdl();
    ~dtrace_hdl() override;

    // errors
    int error = 0;
    std::string error_text; // empty: the text of the number
    int fail(int number, std::string text = "");
    int fail(const dt::Error& error);
    // What cannot be, unless we are wrong: with -x core the process ends here, for a look
    // at its core.
    void internal_error(const std::string& text) const;

    // compile.cpp
    dtrace_prog* compile(std::string_view text, const std::string& source_name,
                         dtrace_probespec_t spec, uint_t cflags, int argc,
                         char* const argv[], bool string_program);
    dt::Compiler& the_compiler(); // made with the first that needs it
    dt::CompileOptions compile_options(uint_t cflags);
    int load_libraries(uint_t cflags);
    std::variant<dt::ProbeMatch, dt::Diagnostic> match(const dt::ProbeSpec& spec);
    int set_option(const char* name, const char* value);
    // Of any source: what the option changes is changed at once.
    dt::Options::Refused take_option(std::string_view name, std::string_view value);
    std::string hint_for(const dt::ProbeSpec& spec);
    std::string why_not_in_process(const dt::ProbeSpec& spec);
    std::string looked_at(const dt::ProbeSpec& spec);
    dt::ProviderAttributes attributes_of_provider(const dt::ProbeInfo& probe);
    dt::ProbeStability stability_of(std::span<const std::uint32_t> ids);
    void apply_display();

    // session_types.cpp
    struct Scope {
        ps_prochandle* process = nullptr;
        std::string_view module;
        std::string why_not; // there is no process
    };
    Scope in_scope(std::string_view scope);
    std::optional<std::uint64_t> symbol_address(std::string_view scope,
                                                std::string_view symbol);
    std::variant<std::vector<dt::TargetModule>, std::string>
    modules_of(std::string_view scope);
    std::variant<dt::ProbedFunction, dt::ArgumentTypes, std::string>
    probed_function(std::uint32_t id);

    // session_kernel_types.cpp
    void know_kernel(dt::CompileOptions& to);
    std::variant<dt::ProbedFunction, dt::ArgumentTypes, std::string>
    probed_in_kernel(const dt::ProbeInfo& probe);
    // The text says why its arguments are not known. The module may be empty.
    std::variant<dt::ProbedFunction, dt::ArgumentTypes, std::string>
    kernel_function(std::string_view module, std::string_view function,
                    dt::ProbedFunction::At at);
    std::variant<dt::ProbedFunction, dt::ArgumentTypes, std::string>
    kernel_tracepoint(std::string_view module, std::string_view name);
    std::variant<dt::ProbedFunction, dt::ArgumentTypes, std::string>
    system_call(const dt::ProbeInfo& probe);

    // session_kernel_libraries.cpp
    bool load_kernel_libraries(std::string_view refused);
    void load_kernel_library(const dt::KernelLibrary& library);
    bool kernel_has_member(std::string_view name); // "task_struct.comm"
    std::variant<dt::ProbedFunction, dt::ArgumentTypes, std::string>
    kernel_arguments(const dt::ProbeInfo& probe);

    // api_symbols.cpp: what an object name of the C API means; none: fail() was called.
    std::vector<const dt::Module*> modules_called(const char* object);

    // session.cpp
    int exec(dtrace_prog* prog);
    int go();
    int stop();
    int start();     // go(), which may fail at any step
    void back_out(); // of a start() that failed: as before go()
    void make_consumer();
    int load(dt::Enabling& enabling);
    int give_arena();
    // They will be planted, and so many of our threads prepare that.
    void expect(std::size_t n_sites, unsigned n_threads);
    int check_sizes();
    int enable(const dt::Enabling& enabling);
    int enable(std::span<const std::uint32_t> ids, std::size_t clause); // of the arena
    int start_clock();
    void report_sampled();
    int add_new_probes();

    // session_kernel.cpp: sessions whose probes fire in the kernel module
    void look_for_kernel();
    bool has_kernel() const { return kernel.has_value(); }
    int choose_host(); // is this one?
    dt::KernelProvider* kernel_provider_of(std::uint32_t id) const; // or null
    void provide_all(); // probes of the kernel that there are
    dt_arena_config kernel_config();
    int make_kernel_arena();
    int add_kernel_probes();
    int enable_in_kernel(std::span<const std::uint32_t> ids, std::size_t clause);
    int attach_in_kernel(); // what is enabled, of probes from first_unattached on
    void look_at_modules(std::uint64_t now); // of the kernel
    bool walks_user_stacks() const;
    int match_new_modules();
    int attach_in_kernel(std::vector<dt::KernelSite>& sites,
                         const std::vector<std::uint32_t>& ids);
    int start_kernel_clock();
    void fire(std::uint32_t probe); // BEGIN or END
    // session_uprobes.cpp: processes' probes in such sessions
    void foresee_planting();
    int plant_by_kernel(ps_prochandle& process, const std::vector<dt::Site>& sites,
                        const dt::StaticTable& statics);
    std::string kernel_hint(const dt::ProbeSpec& spec);

    // session_anonymous.cpp
    int save_anonymous(FILE* to);
    int claim_anonymous();
    int recompile(std::string_view programs, std::string_view sources);

    // session_memory.cpp
    int fit_options();
    int make_arena();
    std::vector<pid_t> pids_of_targets() const;
    void touch_arena();
    bool is_cramped(pid_t pid) const;
    int plant(ps_prochandle* process);
    void unplant(ps_prochandle* process);
    void report_notes(ps_prochandle* process); // of providers, since the last time
    void forget_sites(pid_t pid);
    bool recycles_probes() const;
    void end_program(ps_prochandle& process);
    void recycle_probes();
    int rename_probes();
    std::vector<dt::ProcessSymbols*> usdt_candidates(bool everybody);
    void grab_found();
    bool shares_with_others(pid_t pid); // by the process' user
    void report_left_out();
    void tell_untraced(pid_t pid, const dt::Error& why);
    void handle_agent_events();
    void resume_changed(const dt::AgentEvent& event);
    void report_threads_in_danger(const ps_prochandle& process);
    int status();
    void tend(std::uint64_t now);

    // session_rematch.cpp
    bool may_be_static(const dt::ProbeSpec& spec);
    std::string pid_provider_of(const ps_prochandle& process);
    bool awaits_libraries(const ps_prochandle& process);
    bool awaits_statics();
    void libraries_changed(pid_t pid, std::span<const dt::ForgottenProbe> forgotten);
    void program_changed(ps_prochandle& process, bool goes_on);
    void note_program(ps_prochandle& process, bool goes_on);
    void report_unmatched(ps_prochandle& process);
    void report_unmatched(std::uint64_t now_ns); // if libraries had time to load
    int rematch(ps_prochandle& process);
    bool has_own_targets() const; // that were asked for, by -p or -c
    void look_at_new_processes(std::uint64_t now);
    void take_up(pid_t pid);

    // consume.cpp
    dt::Output* output_to(FILE* file);
    std::unique_ptr<dt::Output> make_output(FILE* file); // null: nobody takes the text
    int consume(FILE* file, dtrace_consume_probe_f* probe_func,
                dtrace_consume_rec_f* record_func, void* arg, bool final);

    // events.cpp: dt::Events, from the consumer
    bool fault(const dt::FaultEvent& event) override;
    bool drop(const dt::DropEvent& event) override;
    bool writes_json() const;
    std::optional<std::string> setopt(std::string_view name,
                                      std::string_view value) override;
    int run_command(const std::string& command) override;
    void complain(std::string_view text) override;
    void report_process(ps_prochandle* process, const std::string& text);
    void report_sites(ps_prochandle* process, const std::vector<dt::Site>& sites,
                      const std::vector<dt::Refusal>& refused, const dt::SiteWords& words);
    bool is_new_place(const ps_prochandle& process, std::string_view remark,
                      std::uint32_t id);
    void report_loops(ps_prochandle* process, const std::vector<dt::Site>& sites,
                      const std::vector<std::uint32_t>& looping);

    // api_sites.cpp
    int plan_listed(pid_t pid);

    dt::Options options;
    dt::Registry registry;
    dt::Processes processes;
    dt::KernelTypes kernel_types{processes.kernel()};
    dt::KernelLibraries kernel_libraries;
    dt::NewProcesses new_processes; // looked for when descriptions mean everybody's
    std::set<std::string> remarks; // on places of functions, which is_new_place() reported
    std::set<pid_t> told_untraced; // of whom it was said that they are not traced
    // The users of processes that descriptions found only by their probes.
    std::optional<std::uint64_t> other_user; // the one besides dtrace's own
    std::set<std::uint64_t> left_out_users, told_users;
    std::set<pid_t> left_out;
    bool agent_has_arena = false;
    // The kernel module, where there is one that we may use.
    std::optional<dt::KernelDevice> kernel;
    std::optional<dt::KernelUnwind> kernel_unwind; // of a session in the kernel
    std::string why_no_kernel;
    bool in_kernel = false; // all of this session's probes fire there
    std::uint32_t first_unattached = 1;
    std::string kernel_modules; // that were loaded at the last look
    std::uint64_t modules_looked_at = 0; // monotonic ns
    dt::DtraceProvider dtrace_provider;
    dt::ProfileProvider profile_provider;
    dt::ProcessProbes probes;
    dt::PidProvider pid_provider;
    dt::UsdtProvider usdt_provider;
    dt::FbtProvider fbt_provider;
    dt::CpcProvider cpc_provider;
    dt::SdtProvider sdt_provider;
    dt::SyscallProvider syscall_provider;
    dt::StablePlaces stable_places;
    std::vector<std::unique_ptr<dt::StableProvider>> stable_providers;
    std::vector<dt::Provider*> providers;
    std::unique_ptr<dt::Compiler> compiler;
    std::vector<std::string> libraries, library_folders; // that were compiled: names
    std::vector<std::unique_ptr<dtrace_prog>> programs;
    std::vector<dt::Enabling> enabled;             // in the order of exec
    std::map<std::string, dt::ProbeMatch> matches; // of the compilation under way
    std::size_t n_foreseen = 0; // sites of a description, at most, as expect() was told
    std::vector<std::string> argument_texts; // of the last dtrace_probe_info()
    std::vector<char*> argument_words;
    std::vector<std::uint32_t> listed; // probes of the last dtrace_probe_iter()
    std::map<std::uint32_t, std::vector<dt::SitePlan>> plans; // of each: its sites'
    std::vector<std::string> patch_notes; // of the last dtrace_patch_iter()
    std::vector<const char*> patch_note_texts;
    std::set<std::string> kept; // names that the C API has handed out
    const char* keep(std::string name)
    {
        return kept.insert(std::move(name)).first->c_str();
    }
    std::vector<std::unique_ptr<dt::Format>> formats; // of the C API's printf family
    std::map<FILE*, std::unique_ptr<dt::Output>> reopened; // by dtrace_freopen()
    std::string error_quote; // source line and caret of the last compile error

    std::optional<dt::ArenaMemory> arena;
    bool arena_is_charged_to_us = false; // because targets have little memory left
    std::uint32_t n_probes_added = 0; // of the registry, in the arena
    // Probes that no process fires any more, whose records may still be in buffers.
    struct RetiredProbes {
        std::shared_ptr<dt::ProgramProbes> probes;
        std::uint64_t since_ns = 0;
    };
    std::deque<RetiredProbes> retired_probes;
    std::unique_ptr<dt::LocalHost> host;
    std::unique_ptr<dt::Consumer> consumer;
    dt::Clock clock;
    dt::ClockLine clock_line; // of the arena's session
    bool active = false, stopped = false, drained = false;
    int exit_status = 0;
    int wake_fd = -1;
    std::uint64_t cleaned_at = 0, lease_renewed_at = 0; // monotonic ns

    dt::Handler<dtrace_handle_err_f> on_err;
    dt::Handler<dtrace_handle_drop_f> on_drop;
    dt::Handler<dtrace_handle_proc_f> on_proc;
    dt::Handler<dtrace_handle_buffered_f> on_buffered;
    dt::Handler<dtrace_handle_setopt_f> on_setopt;

    std::unique_ptr<dt::Output> out; // of the last dtrace_work()
    FILE* out_file = nullptr;
    // Descriptions and records as the C API shows them, made when first needed.
    std::map<std::uint32_t, std::shared_ptr<struct EcbView>> views;
};
