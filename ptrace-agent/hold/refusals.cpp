// SPDX-License-Identifier: MIT
#include "ptrace-agent/hold/refusals.hpp"

#include "base/clock_ns.hpp"
#include "process/maps.hpp"
#include "process/proc_files.hpp"
#include "process/regular_file.hpp"
#include "ptrace-agent/confine/confinement.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/runtime/runtime.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace dt::agent {

static std::string name_of(pid_t pid)
{
    std::string name = read_proc_file(pid, "comm", 64);
    if (!name.empty() && name.back() == '\n')
        name.pop_back();
    return name;
}

static bool is_32_bit(pid_t pid)
{
    Fd exe =
        open_regular(proc_path(pid, "exe"), max_regular_file_bytes, FileSystems::local);
    unsigned char ident[EI_NIDENT] = {};
    return exe && read(exe.get(), ident, sizeof ident) == sizeof ident &&
           std::memcmp(ident, ELFMAG, SELFMAG) == 0 && ident[EI_CLASS] == ELFCLASS32;
}

Result<Ok> refuse_32_bit(pid_t pid, const std::string& name)
{
    if (is_32_bit(pid))
        return Error{Code::unsupported, name + " is a 32-bit program; only 64-bit "
                                               "programs can be traced"};
    return Ok{};
}

// Returns whether the kernel has marked the program as one that gained privileges
// (AT_SECURE).
static bool is_marked_secure(pid_t pid)
{
    const std::string auxv = read_proc_file(pid, "auxv");
    for (std::size_t at = 0; at + 2 * sizeof(std::uint64_t) <= auxv.size();
         at += 2 * sizeof(std::uint64_t)) {
        std::uint64_t pair[2];
        std::memcpy(pair, auxv.data() + at, sizeof pair);
        if (pair[0] == AT_SECURE)
            return pair[1] != 0;
    }
    return false;
}

// A traced set-user-ID program gains no privileges if its tracer has none, but the
// kernel marks it anyway. So the real and effective ids are compared, too.
Result<Ok> refuse_gained_rights(pid_t pid, const std::string& name)
{
    const std::string status = read_proc_file(pid, "status");
    auto differs = [&status](const char* field) {
        return status_number(status, field, 0) != status_number(status, field, 1);
    };
    // The broker of a confined agent does not open the auxiliary vector of a program that
    // gained privileges.
    const bool hidden = is_confined() && !status_field(status, "VmSize").empty() &&
                        read_proc_file(pid, "auxv").empty();
    const bool tracer_has_privileges = is_confined() || geteuid() == 0;
    if (hidden || (is_marked_secure(pid) &&
                   (tracer_has_privileges || differs("Uid") || differs("Gid"))))
        return Error{Code::permission,
                     name + " gained privileges when it was executed (for example, "
                            "set-user-ID); to trace it, name its process with -p"};
    return Ok{};
}

Result<Ok> refuse_shadow_stack(pid_t pid, const std::string& name)
{
    if (has_shadow_stack(pid))
        return Error{Code::unsupported,
                     name +
                         " runs with a shadow stack (x86_Thread_features in "
                         "/proc/" +
                         std::to_string(pid) +
                         "/status) and would be killed by instructions that are moved "
                         "for probes; to trace it, start it with "
                         "GLIBC_TUNABLES=glibc.cpu.x86_shstk=off"};
    return Ok{};
}

static Error held_by(pid_t tracer)
{
    return Error{Code::busy, "it is being traced by process " + std::to_string(tracer) +
                                 " (" + name_of(tracer) +
                                 "); detach that process from it first"};
}

std::optional<pid_t> absent_agent_of(pid_t pid)
{
    constexpr std::uint32_t owner_died = 0x40000000, owner_tid = 0x3fffffff;
    for (const Mapping& mapping : mappings_of(pid)) {
        if (mapping.path != "/memfd:dtrace-config" || mapping.offset != 0)
            continue;
        const Fd mem(open(proc_path(pid, "mem").c_str(), O_RDONLY | O_CLOEXEC));
        auto word = [&mem](TargetAddr at) {
            std::uint32_t value = 0;
            return pread(mem.get(), &value, sizeof value,
                         static_cast<off_t>(at.value)) == sizeof value
                       ? value
                       : 0;
        };
        const TargetAddr config = mapping.begin;
        const std::uint32_t alive = word(config + offsetof(dt_rt_config, alive));
        // In a forked child, the kernel has cleared the word at DT_RT_LIVE.
        if (word(TargetAddr{config.value - DT_RT_CONFIG + DT_RT_LIVE}) != 0 &&
            word(config + offsetof(dt_rt_config, away)) != DT_RT_PRESENT &&
            alive != 0 && (alive & owner_died) == 0)
            return static_cast<pid_t>(alive & owner_tid);
    }
    return std::nullopt;
}

Error explain_refusal(pid_t pid, int error)
{
    if (error == ESRCH)
        return Error{Code::not_found, "no such process", error};
    std::string status = read_proc_file(pid, "status");
    if (auto tracer = static_cast<pid_t>(status_number(status, "TracerPid")))
        return held_by(tracer);
    auto denied = [error](const std::string& why) {
        return Error{Code::permission, "not permitted: " + why, error};
    };
    const uid_t us = is_confined() ? 0 : geteuid(); // the broker runs as root
    for (int i = 0; i < 3; ++i) {
        auto theirs = static_cast<uid_t>(status_number(status, "Uid", i));
        if (us != 0 && theirs != us)
            return denied("it belongs to user " + std::to_string(theirs) +
                          ", and dtrace runs as user " + std::to_string(us));
    }
    struct stat info {};
    // The directory /proc/PID always belongs to the user of the process. The files in
    // it do so only if the process is dumpable (proc(5)).
    if (us != 0 && stat(proc_path(pid, "status").c_str(), &info) == 0 &&
        info.st_uid != us)
        return denied(
            "it is not dumpable (prctl PR_SET_DUMPABLE, or a set-id program)");
    std::string scope;
    if (Fd yama(open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC));
        yama) {
        char digit = 0;
        if (read(yama.get(), &digit, 1) == 1 && digit > '0')
            scope = digit;
    }
    if (!scope.empty())
        return denied("kernel.yama.ptrace_scope is " + scope +
                      (scope == "1"   ? ", which allows only descendants to be traced"
                       : scope == "2" ? ", which allows only root to trace"
                                      : ", which allows no process to attach"));
    return denied(std::strerror(error));
}

static bool is_kernel_thread(pid_t pid)
{
    constexpr std::uint64_t pf_kthread = 0x00200000; // include/linux/sched.h
    constexpr int flags = 9; // number of the field in proc(5), stat
    return (stat_number(read_proc_file(pid, "stat"), flags) & pf_kthread) != 0;
}

Result<Ok> check_grabbable(pid_t pid)
{
    std::string status = read_proc_file(pid, "status");
    if (status.empty())
        return Error{Code::not_found, "no such process", ESRCH};
    auto group = static_cast<pid_t>(status_number(status, "Tgid"));
    if (group != pid)
        return Error{Code::not_found, "it is a thread of process " +
                                          std::to_string(group) +
                                          "; name that process instead"};
    if (pid == getpid() || pid == getppid())
        return Error{Code::invalid, "a process cannot trace itself"};
    if (is_kernel_thread(pid))
        return Error{Code::unsupported, "it is a kernel thread"};
    // If the leader has exited, the status has no VmSize, but other threads may still
    // run.
    if (status_field(status, "VmSize").empty() && threads_of(pid).size() < 2)
        return Error{Code::gone, "it has already exited (a zombie)"};
    if (auto tracer = static_cast<pid_t>(status_number(status, "TracerPid")))
        return held_by(tracer);
    if (const auto agent = absent_agent_of(pid)) {
        if (*agent == getpid())
            return Error{Code::permission,
                         "its memory names this ptrace-agent as its tracer, but the "
                         "agent does not know the process; restart the process"};
        return held_by(*agent);
    }
    if (auto checked = refuse_32_bit(pid, name_of(pid)); !checked)
        return checked;
    return refuse_shadow_stack(pid, name_of(pid));
}

} // namespace dt::agent
