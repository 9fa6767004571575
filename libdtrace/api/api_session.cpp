// SPDX-License-Identifier: MIT
// C API: opening a session, options, processes.
#include "libdtrace/api/handle.hpp"
#include "libdtrace/session/debug.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>

static dt::EvalTime evaltime_of(dt::EvalTimeOption option)
{
    switch (option) {
    case dt::EvalTimeOption::exec:
        return dt::EvalTime::exec;
    case dt::EvalTimeOption::preinit:
        return dt::EvalTime::preinit;
    case dt::EvalTimeOption::postinit:
        return dt::EvalTime::postinit;
    case dt::EvalTimeOption::main:
        return dt::EvalTime::main;
    }
    return dt::EvalTime::postinit;
}

extern "C" {

dtrace_hdl_t* dtrace_open(int version, int flags, int* error)
{
    auto refuse = [&](int number) -> dtrace_hdl_t* {
        if (error != nullptr)
            *error = number;
        return nullptr;
    };
    if (version > DTRACE_VERSION)
        return refuse(EDT_VERSION);
    if ((flags & ~(DTRACE_O_NODEV | DTRACE_O_NOSYS | DTRACE_O_LP64 | DTRACE_O_ILP32)) !=
        0)
        return refuse(EINVAL);
    if ((flags & DTRACE_O_ILP32) != 0)
        return refuse(EDT_DATAMODEL);
    if (::secure_getenv("DTRACE_DEBUG") != nullptr)
        _dtrace_debug = 1;
    dt::debug("open: %s, interface %d", _dtrace_version, version);
    return new dtrace_hdl;
}

void dtrace_close(dtrace_hdl_t* dtp)
{
    delete dtp;
}

int dtrace_ctlfd(dtrace_hdl_t*)
{
    return -1;
}

int dtrace_update(dtrace_hdl_t* dtp)
{
    for (const auto& process : dtp->state().processes.all())
        if (process->is_held() && process->symbols)
            // refresh() fails if the process has exited. That error is ignored, because
            // an event reports the exit.
            (void)process->symbols->refresh();
    dtp->state().processes.kernel().refresh();
    return 0;
}

int dtrace_setopt(dtrace_hdl_t* dtp, const char* name, const char* value)
{
    return dtp->session.set_option(name, value);
}

int dtrace_getopt(dtrace_hdl_t* dtp, const char* name, dtrace_optval_t* value)
{
    auto found = dtp->state().options.get(name);
    if (!found)
        return dtp->fail(EDT_BADOPTNAME);
    *value = static_cast<dtrace_optval_t>(*found);
    return 0;
}

ps_prochandle* dtrace_proc_create(dtrace_hdl_t* dtp, const char* path,
                                  char* const argv[], dtrace_proc_f* func, void* arg)
{
    std::vector<std::string> words;
    for (char* const* word = argv; *word != nullptr; word++)
        words.emplace_back(*word);
    if (words.empty())
        words.emplace_back(path);
    words[0] = path;
    std::vector<dt::EnvChange> env;
    for (const std::string& setting : dtp->state().options.setenv) {
        std::size_t equals = setting.find('=');
        env.push_back({setting.substr(0, equals),
                       equals == std::string::npos ? "" : setting.substr(equals + 1)});
    }
    for (const std::string& name : dtp->state().options.unsetenv)
        env.push_back({name, std::nullopt});
    auto made = dtp->state().processes.create(
        words, env, evaltime_of(dtp->state().options.evaltime));
    if (!made) {
        dtp->fail(made.error());
        return nullptr;
    }
    if (func != nullptr)
        func(dtp, *made, arg);
    return *made;
}

ps_prochandle* dtrace_proc_grab(dtrace_hdl_t* dtp, pid_t pid, int)
{
    auto grabbed = dtp->state().processes.grab(pid);
    if (!grabbed) {
        dtp->fail(grabbed.error());
        return nullptr;
    }
    return *grabbed;
}

void dtrace_proc_continue(dtrace_hdl_t* dtp, ps_prochandle* proc)
{
    if (!proc->is_held())
        return;
    // If the target has died, resume() fails. An event also reports the exit.
    if (auto resumed = dtp->state().processes.agent_of(*proc)->resume(proc->pid);
        !resumed)
        dtp->fail(resumed.error());
}

void dtrace_proc_release(dtrace_hdl_t* dtp, ps_prochandle* proc)
{
    dtp->state().processes.release(proc);
}

int dtrace_proc_status(dtrace_hdl_t*, ps_prochandle* proc)
{
    return proc->status();
}

int dtrace_proc_followed(dtrace_hdl_t* dtp)
{
    return dtp->state().processes.n_followed();
}

pid_t dtrace_proc_getpid(dtrace_hdl_t*, ps_prochandle* proc)
{
    return proc->pid;
}

int dtrace_uaddr2str(dtrace_hdl_t* dtp, pid_t pid, uint64_t addr, char* to, size_t len)
{
    std::string text =
        dtp->state().processes.uaddr(static_cast<std::uint64_t>(pid), addr);
    return std::snprintf(to, len, "%s", text.c_str());
}

int dtrace_addr2str(dtrace_hdl_t* dtp, uint64_t addr, char* to, int len)
{
    std::string text = dtp->state().processes.kaddr(addr);
    return std::snprintf(to, len < 0 ? 0 : static_cast<std::size_t>(len), "%s",
                         text.c_str());
}

int dtrace_anon_save(dtrace_hdl_t* dtp, FILE* to)
{
    return dtp->session.save_anonymous(to);
}

} // extern "C"
