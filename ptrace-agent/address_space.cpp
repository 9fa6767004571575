// SPDX-License-Identifier: MIT
#include "ptrace-agent/address_space.hpp"

#include "process/maps.hpp"
#include "process/proc_files.hpp"
#include "ptrace-agent/confine/confinement.hpp"
#include "ptrace-agent/confine/relayed_calls.hpp"
#include "ptrace-agent/unwind.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

namespace dt::agent {

Fd open_mem(pid_t pid)
{
    return Fd(open(proc_path(pid, "mem").c_str(), O_RDWR | O_CLOEXEC));
}

AddressSpace::AddressSpace(pid_t owner, TracepointTable& table)
    : tracepoints(*this, table), owner_(owner), proc_tid_(owner),
      mem_(open_mem(proc_tid()))
{
}

AddressSpace::~AddressSpace()
{
    forget_unwind(*this);
}

void AddressSpace::hand_over(pid_t to)
{
    owner_ = proc_tid_ = to;
    handed_over_ = true;
    forget_unwind(*this); // libunwind's state refers to the earlier owner
}

void AddressSpace::reopen()
{
    mem_ = open_mem(proc_tid());
}

pid_t AddressSpace::proc_tid()
{
    auto has_memory = [this](pid_t tid) {
        char state = thread_state(owner_, tid);
        return state != 'Z' && state != 'X' && state != 0;
    };
    if (has_memory(proc_tid_))
        return proc_tid_;
    for (pid_t tid : threads_of(owner_)) {
        if (has_memory(tid))
            return proc_tid_ = tid;
    }
    return proc_tid_;
}

bool AddressSpace::read(TargetAddr from, std::span<std::byte> into)
{
    touched_ = true;
    if (handed_over_ || is_confined())
        return read_text(from, into);
    iovec local{into.data(), into.size()};
    iovec remote{reinterpret_cast<void*>(from.value), into.size()};
    ssize_t n = process_vm_readv(proc_tid_, &local, 1, &remote, 1, 0);
    if (n < 0 && errno == ESRCH) // the owner has exited, but a vfork child still runs
        return read_text(from, into);
    return n == static_cast<ssize_t>(into.size());
}

// Returns whether the program itself may write to these bytes.
static bool is_writable(pid_t pid, TargetAddr at, std::uint64_t n_bytes)
{
    const std::vector<Mapping> all = mappings_of(pid);
    const TargetAddr end = at + n_bytes;
    while (at < end) {
        const Mapping* mapping = find_mapping(all, at);
        if (mapping == nullptr || !mapping->writable)
            return false;
        at = mapping->end;
    }
    return true;
}

bool AddressSpace::write(TargetAddr to, std::span<const std::byte> bytes)
{
    touched_ = true;
    if (is_confined())
        return is_writable(proc_tid(), to, bytes.size()) && write_text(to, bytes);
    if (handed_over_)
        return write_text(to, bytes);
    iovec local{const_cast<std::byte*>(bytes.data()), bytes.size()};
    iovec remote{reinterpret_cast<void*>(to.value), bytes.size()};
    ssize_t n = process_vm_writev(proc_tid_, &local, 1, &remote, 1, 0);
    if (n < 0 && errno == ESRCH)
        return write_text(to, bytes);
    return n == static_cast<ssize_t>(bytes.size());
}

bool AddressSpace::read_text(TargetAddr from, std::span<std::byte> into) const
{
    return pread(mem_.get(), into.data(), into.size(),
                 static_cast<off_t>(from.value)) == static_cast<ssize_t>(into.size());
}

bool AddressSpace::write_text(TargetAddr to, std::span<const std::byte> bytes)
{
    return write_memory(mem_.get(), bytes.data(), bytes.size(), to.value) ==
           static_cast<ssize_t>(bytes.size());
}

bool AddressSpace::read_original(TargetAddr from, std::span<std::byte> into) const
{
    if (!read_text(from, into))
        return false;
    tracepoints.overlay_original(from, into);
    patches.overlay_original(from, into);
    return true;
}

void AddressSpace::forget_all()
{
    tracepoints.forget_all();
    known_text.forget_all();
    statics.forget_all();
    slots.forget_all();
    rescue.forget();
    patches.forget_all();
    runtime.forget();
    native.forget();
    calls.forget();
    runtime.refusal.clear();
    forget_unwind(*this);
    call_place.forget_all();
    journal.forget();
    text_was_original = has_left_mappings = false;
    watched = {};
    errno_place.forget_all();
}

} // namespace dt::agent
