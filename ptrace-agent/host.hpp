// SPDX-License-Identifier: MIT
// The agent as a host of the engine: one stopped thread at one tracepoint.
//
// The thread is in a ptrace-stop and its registers are at hand, at the instruction that
// the breakpoint replaced. Its memory is read with process_vm_readv(), so that a page
// that the program could not read itself is a fault here too. The engine runs in the
// agent's own thread: it may take its time, the target pays for it.
#pragma once

#include "dif/engine.h"
#include "fasttrap/registers.hpp"
#include "ptrace-agent/arena_map.hpp"
#include "ptrace-agent/target.hpp"

#include <string>

namespace dt::agent {

// uregs[] counts as the amd64 register set of illumos' <sys/regset.h> does; R_* of the
// D library are these numbers. A row: D name, index, how to get it.
// clang-format off
#define AGENT_UREGS(X)                                                        \
    X(R_R15, 0, regs[Reg::r15])   X(R_R14, 1, regs[Reg::r14])                 \
    X(R_R13, 2, regs[Reg::r13])   X(R_R12, 3, regs[Reg::r12])                 \
    X(R_R11, 4, regs[Reg::r11])   X(R_R10, 5, regs[Reg::r10])                 \
    X(R_R9, 6, regs[Reg::r9])     X(R_R8, 7, regs[Reg::r8])                   \
    X(R_RDI, 8, regs[Reg::rdi])   X(R_RSI, 9, regs[Reg::rsi])                 \
    X(R_RBP, 10, regs[Reg::rbp])  X(R_RBX, 11, regs[Reg::rbx])                \
    X(R_RDX, 12, regs[Reg::rdx])  X(R_RCX, 13, regs[Reg::rcx])                \
    X(R_RAX, 14, regs[Reg::rax])  X(R_TRAPNO, 15, 3 /* #BP */)                \
    X(R_ERR, 16, 0)               X(R_RIP, 17, regs.rip)                      \
    X(R_CS, 18, 0x33)             X(R_RFL, 19, regs.rflags)                   \
    X(R_RSP, 20, regs[Reg::rsp])  X(R_SS, 21, 0x2b)                           \
    X(R_FS, 22, 0)                X(R_GS, 23, 0)                              \
    X(R_ES, 24, 0)                X(R_DS, 25, 0)                              \
    X(R_FSBASE, 26, regs.fs_base) X(R_GSBASE, 27, regs.gs_base)
// clang-format on

class FiringHost {
public:
    FiringHost(const ArenaMap& arena, Thread& thread, const Registers& regs);
    void fire(const Firing& firing);
    void fire_profile(std::uint32_t probe); // the thread is where it happened to be

    // host.cpp: memory and time.
    int load(std::uint64_t addr, void* to, std::uint64_t bytes, std::uint64_t* bad);
    std::int64_t load_string(std::uint64_t addr, char* to, std::uint64_t max,
                             std::uint64_t* bad);
    int store(std::uint64_t addr, const void* from, std::uint64_t bytes,
              std::uint64_t* bad);
    std::uint64_t vtimestamp();
    std::uint64_t arg(std::uint32_t n);
    std::int64_t ustack(std::uint64_t* pcs, std::uint32_t max);

    // host_vars.cpp: what is known about the process.
    int var(std::uint32_t id, std::uint32_t index, std::uint64_t* value);
    std::uint64_t var_string(std::uint32_t id, char* to, std::uint64_t max);
    int progenyof(std::uint64_t pid);
    int raise(int signal);

private:
    int ureg(std::uint32_t index, std::uint64_t* value) const;
    const std::string& status();
    int errno_of_thread(std::uint64_t* value);

    dt_host host_{}; // host_.self is this
    Thread& thread_;
    const Registers& regs_;
    SiteKind kind_ = SiteKind::entry;
    std::string status_; // of this firing, when it was asked for
};

} // namespace dt::agent
