// SPDX-License-Identifier: MIT
// Passes the consumer's events to the caller's handlers.
#include "base/pidfd.hpp"
#include "libdtrace/api/views.hpp"
#include "libdtrace/consume/structured.hpp"

#include <cerrno>
#include <csignal>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// Prints the event as a line of JSON (-x format=json).
template <class Event> static bool put_line(dtrace_hdl& session, const Event& event)
{
    dt::put_json(session.out->text(), event);
    return bool(session.out->commit());
}

bool dtrace_hdl::writes_json() const
{
    return state().consumer && out &&
           state().consumer->display().form == dt::OutputForm::json;
}

bool dtrace_hdl::fault(const dt::FaultEvent& event)
{
    if (writes_json() && !put_line(*this, event))
        return false;
    if (on_err.func == nullptr)
        return true;
    std::string text = event.text;
    if (!event.source.empty())
        text += "\n" + event.source;
    EcbView& view = view_of(*this, *event.ecb);
    dtrace_errdata_t data{};
    data.dteda_handle = this;
    data.dteda_edesc = &view.edesc;
    data.dteda_pdesc = &view.probe;
    data.dteda_cpu = static_cast<processorid_t>(event.cpu);
    data.dteda_action = static_cast<int>(event.action);
    data.dteda_offset = static_cast<int>(event.offset);
    data.dteda_fault = static_cast<int>(event.fault);
    data.dteda_addr = event.value;
    data.dteda_msg = text.c_str();
    return on_err.func(&data, on_err.arg) == DTRACE_HANDLE_OK;
}

bool dtrace_hdl::drop(const dt::DropEvent& event)
{
    if (writes_json() && !put_line(*this, event))
        return false;
    if (on_drop.func == nullptr)
        return true;
    dtrace_dropdata_t data{};
    data.dtdda_handle = this;
    data.dtdda_cpu = event.cpu ? static_cast<processorid_t>(*event.cpu) : -1;
    data.dtdda_kind = static_cast<int>(event.kind);
    data.dtdda_drops = event.count;
    data.dtdda_total = event.total;
    data.dtdda_msg = event.text.c_str();
    return on_drop.func(&data, on_drop.arg) == DTRACE_HANDLE_OK;
}

std::optional<std::string> dtrace_hdl::setopt(std::string_view name,
                                              std::string_view value)
{
    std::string option(name);
    std::uint64_t before = state().options.get(name).value_or(DT_OPT_UNSET);
    if (session.set_option(option.c_str(), std::string(value).c_str()) != 0)
        return dtrace_errmsg(this, state().error);
    if (on_setopt.func != nullptr) {
        dtrace_setoptdata_t data{};
        data.dtsda_handle = this;
        data.dtsda_option = option.c_str();
        data.dtsda_oldval = static_cast<dtrace_optval_t>(before);
        data.dtsda_newval = static_cast<dtrace_optval_t>(
            state().options.get(name).value_or(DT_OPT_UNSET));
        on_setopt.func(&data, on_setopt.arg);
    }
    return std::nullopt;
}

namespace {

// Ignores SIGINT and SIGQUIT while the command runs, as system(3) does.
class IgnoredInterrupts {
public:
    IgnoredInterrupts()
    {
        struct sigaction ignore {};
        ignore.sa_handler = SIG_IGN;
        ::sigaction(SIGINT, &ignore, &interrupt_);
        ::sigaction(SIGQUIT, &ignore, &quit_);
    }
    ~IgnoredInterrupts()
    {
        ::sigaction(SIGINT, &interrupt_, nullptr);
        ::sigaction(SIGQUIT, &quit_, nullptr);
    }
    IgnoredInterrupts(const IgnoredInterrupts&) = delete;
    IgnoredInterrupts& operator=(const IgnoredInterrupts&) = delete;
    // Returns the signals that were not ignored before. The command resets them to
    // their default action.
    sigset_t defaults() const
    {
        sigset_t set;
        sigemptyset(&set);
        if (interrupt_.sa_handler != SIG_IGN)
            sigaddset(&set, SIGINT);
        if (quit_.sa_handler != SIG_IGN)
            sigaddset(&set, SIGQUIT);
        return set;
    }

private:
    struct sigaction interrupt_ {
    }, quit_{};
};

} // namespace

// Runs the command of a system() action. Returns its wait status, or -1 with errno. The
// command may be a target, so events of targets are handled while it runs. Otherwise
// the command would wait forever.
int dtrace_hdl::run_command(const std::string& command)
{
    constexpr std::uint64_t check_again_ns = 10'000'000;
    IgnoredInterrupts ignored;
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    const sigset_t defaults = ignored.defaults();
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    const char* argv[] = {"sh", "-c", command.c_str(), nullptr};
    pid_t pid = 0;
    const int failed = ::posix_spawn(&pid, "/bin/sh", nullptr, &attributes,
                                     const_cast<char**>(argv), environ);
    posix_spawnattr_destroy(&attributes);
    if (failed != 0) {
        errno = failed;
        return -1;
    }
    const dt::Fd ended = dt::open_pidfd(pid);
    for (;;) {
        int status = 0;
        const pid_t reaped = ::waitpid(pid, &status, WNOHANG);
        if (reaped == pid)
            return status;
        if (reaped < 0 && errno != EINTR)
            return -1;
        session.serve_targets();
        (void)session.targets().wait(check_again_ns, ended.get());
    }
}

void dtrace_hdl::complain(std::string_view text)
{
    process(nullptr, std::string(text).c_str());
}

void dtrace_hdl::process(ps_prochandle* process, const char* text)
{
    if (on_proc.func != nullptr)
        on_proc.func(process, text, on_proc.arg);
}
