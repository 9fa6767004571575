// SPDX-License-Identifier: MIT
// Sets up the runtime in the test process. Signal handlers fix up faulting loads and
// answer upcalls, as the agent does.
#pragma once

#include "ptrace-agent/native/native.hpp"
#include "ptrace-agent/runtime/image.hpp"
#include "tests/unit/dif/session.hpp"

#include <csignal>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace runtime_test {

using Function = void (*)();
inline const void* address(Function function)
{
    return reinterpret_cast<const void*>(function);
}

class InProcess {
public:
    // Loads `program` if it is not empty. load() adds further programs.
    using Configure = std::function<void(dt_arena_config&)>;
    explicit InProcess(const std::string& program = "", unsigned n_shards = 4,
                       const Configure& configure = {});
    ~InProcess();
    InProcess(const InProcess&) = delete;

    void load(const std::string& program);

    // probed() makes a site with these probes. Returns the function to call instead of
    // `target`. A name is, for example, "pid1:a.out:work:entry".
    struct Probe {
        std::string name;
        dt_rt_kind kind = DT_RT_ENTRY;
        std::uint64_t arg0 = 0;
    };
    Function probed(std::vector<Probe> probes, const void* target,
                    std::uint32_t condition = 0);
    // Compiles the clauses of the site's probe, up to the first one that only the
    // engine can run. Returns "", or the reason if no clause is compiled.
    std::string compile(Function trampoline);
    void set_inert(Function trampoline);
    // Moves a site to another session, which has the same arena and stacks. The site's
    // code is then the engine's.
    void move_to_session(Function trampoline, unsigned session);
    // Lets the second trampoline's site fire after that of the first one, through a link
    // (DT_RT_LINKS).
    void chain(Function first, Function second);
    bool use_rseq = true; // applies to clauses that are compiled afterwards
    dt_rt_site& site_of(Function trampoline);

    dif_test::Session session;
    dt_rt_config& config() { return *config_; }
    dt_u32& live() { return *reinterpret_cast<dt_u32*>(base_ + DT_RT_LIVE); }
    dt_rt_header& header() { return *reinterpret_cast<dt_rt_header*>(base_); }
    std::byte* base() { return base_; }
    void add_thread(); // adds the calling thread
    // Adds the operands of a static probe's arguments. Returns the value for
    // Probe::arg0.
    std::uint64_t add_operands(const std::vector<dt_operand>& operands);
    void add_range(const void* start, std::uint64_t bytes);
    // Sets the session's clock as a consumer does, so that it follows CLOCK_MONOTONIC.
    void set_clock();

    // A signal handler calls this function to reply to an upcall. If it is empty,
    // upcalls are refused.
    std::function<int(dt_rt_upcall&)> upcall;
    unsigned n_upcalls = 0, n_faults = 0;

private:
    std::byte* base_ = nullptr;
    std::byte* code_ = nullptr; // the trampolines
    std::size_t code_used_ = 0;
    dt_rt_config* config_ = nullptr;
    std::uint32_t n_sites_ = 0, n_firings_ = 0, n_operands_ = 0;
    std::vector<dt::native::Compiled::Fixup> fixups_; // offsets from the image base
    std::uint64_t native_used_ = DT_RT_CODE;

    std::string compile(dt_rt_site& site, std::uint32_t epid, dt::native::Place place);
    static void on_signal(int signal, siginfo_t* info, void* context);
    static void answer(int signal, siginfo_t* info, void* context);
};

inline const InProcess::Probe entry{"pid1:a.out:work:entry"};
inline const InProcess::Probe ret{"pid1:a.out:work:return", DT_RT_RETURN, 0x17};

// Bits of rflags.
constexpr std::uint64_t arithmetic = 0x8d5, direction = 0x400, alignment = 0x40000;

} // namespace runtime_test

extern "C" {
struct Registers {
    std::uint64_t rax, rbx, rcx, rdx, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15,
        rflags, rsi;
};
// with_registers() loads %xmm0 to %xmm15 from vectors_before, and stores them in
// vectors_after when the function has returned.
extern std::uint64_t vectors_before[32], vectors_after[32];
void probed_work();
std::uint64_t probed_add(std::uint64_t a, std::uint64_t b);
void with_registers(Registers* registers, void (*function)());
long red_zone_after(void (*trampoline)());
void red_zone_back();
void with_stack_off_by(long bytes, void (*function)());
void with_stack_at(void* top, void (*function)());
}
