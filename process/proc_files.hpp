// SPDX-License-Identifier: MIT
// Reads values from files in /proc. Nothing is cached. For a process that has exited,
// the results are empty.
#pragma once

#include "base/fd.hpp"
#include "base/target_addr.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace dt {

std::string proc_path(pid_t pid, std::string_view file);
std::string read_proc_file(pid_t pid, std::string_view file, std::size_t max = 1 << 16);
std::string read_proc_link(pid_t pid, std::string_view file); // "" if unreadable

// Returns the value in a line "Name:\tvalue" of a status file. Returns "" if there is
// no such line.
std::string status_field(const std::string& status, std::string_view name);
// Returns the n-th number (counted from 0) in the value of a status_field(). Returns 0
// if there is no such number. `base` is as in strtoull().
std::uint64_t status_number(const std::string& status, std::string_view name, int n = 0,
                            int base = 10);
// Returns the process's pid in its own pid namespace, the innermost one. Returns 0 if the
// status does not contain it.
pid_t innermost_pid(const std::string& status);
// Returns whether the process is the ancestor itself, or descends from it. Searches 4096
// generations, because parents may change meanwhile.
bool is_descendant(pid_t pid, pid_t ancestor);

// Returns a numeric field of a stat file. The number of the field is as in proc(5).
// Returns 0 if there is no such field.
std::uint64_t stat_number(const std::string& stat, int field);

// Returns the status file of one thread.
std::string thread_status(pid_t pid, pid_t tid);

// Returns the state letter of a thread ('R', 'S', 'D', 'Z', ...), or 0 if it has
// exited.
char thread_state(pid_t pid, pid_t tid);

// Returns how many ns a thread has run on a processor (schedstat). Returns 0 if the
// kernel does not count that.
std::uint64_t thread_run_ns(pid_t pid, pid_t tid);

// A system call in which a thread is blocked: its number and its first argument.
struct BlockedCall {
    long number = -1;
    std::uint64_t first = 0;
};
// Returns nullopt if the thread is not blocked in a system call, or if this user may
// not know it.
std::optional<BlockedCall> blocked_call(pid_t pid, pid_t tid);
// Returns where a thread that is blocked in the kernel will continue in user mode.
// Returns nullopt if the thread is running, or if this user may not know it.
struct UserPlace {
    TargetAddr pc, sp;
};
std::optional<UserPlace> blocked_place(pid_t pid, pid_t tid);
// Returns whether the thread is blocked in execve(2) or execveat(2).
bool is_in_exec(pid_t pid, pid_t tid);

std::vector<pid_t> threads_of(pid_t pid);
// Returns the ids of all processes in this pid namespace.
std::vector<pid_t> pids_in_proc();

// Returns whether two processes share their memory (CLONE_VM). Returns nullopt if
// kcmp(2) is not available or not permitted.
std::optional<bool> share_memory(pid_t a, pid_t b);

// Returns whether a thread of the process has a shadow stack (x86_Thread_features,
// Linux 6.6).
bool has_shadow_stack(pid_t pid);

// Returns a value from the auxiliary vector by its type, for example AT_ENTRY. Returns
// nullopt if there is no such value.
std::optional<std::uint64_t> auxv_value(pid_t pid, std::uint64_t type);

} // namespace dt
