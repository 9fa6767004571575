// SPDX-License-Identifier: MIT
#include "tests/unit/runtime/in_process.hpp"

#include "dif/slots.h"
#include "libdtrace/compile/compiler.hpp"

#include <cpuid.h>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

namespace runtime_test {

constexpr std::size_t code_bytes = 1 << 20;
// The stacks follow the runtime's region.
constexpr std::size_t memory_bytes =
    DT_RT_REGION_BYTES + DT_RT_MAX_SHARDS * DT_RT_STACK_BYTES;
constexpr std::size_t trampoline_bytes = 64;
static InProcess* current = nullptr;

static std::uint64_t fs_base()
{
    std::uint64_t base;
    // the TCB begins with its own address
    __asm__ volatile("mov %%fs:0, %0" : "=r"(base));
    return base;
}

InProcess::InProcess(const std::string& program, unsigned n_shards,
                     const Configure& configure)
{
    const auto image = dt::runtime_image();
    void* all = mmap(nullptr, memory_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    void* code = mmap(nullptr, code_bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED || code == MAP_FAILED)
        throw std::runtime_error("mmap");
    base_ = static_cast<std::byte*>(all);
    code_ = static_cast<std::byte*>(code);
    std::memcpy(base_, image.data(), image.size());
    if (mprotect(base_, image.size(), PROT_READ | PROT_EXEC) != 0 ||
        mprotect(base_ + DT_RT_CODE, DT_RT_CODE_BYTES,
                 PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        throw std::runtime_error("mprotect");
    const std::uint64_t enter = reinterpret_cast<std::uint64_t>(base_) + header().enter;
    std::memcpy(code_, &enter, sizeof enter);
    code_used_ = trampoline_bytes;

    session.config.n_shards = n_shards;
    session.config.n_cpus = static_cast<dt_u32>(sysconf(_SC_NPROCESSORS_CONF));
    session.config.options[DTRACEOPT_bufsize] = 1 << 20;
    session.config.options[DTRACEOPT_aggsize] = 1 << 20;
    session.config.options[DTRACEOPT_destructive] = 1;
    if (configure)
        configure(session.config);
    session.start();
    config_ = reinterpret_cast<dt_rt_config*>(base_ + DT_RT_CONFIG);
    dt_rt_config& c = *config_;
    c.magic = DT_RT_MAGIC;
    dt_rt_session& own = c.sessions[0];
    own.arena = reinterpret_cast<std::uint64_t>(session.memory());
    own.arena_bytes = session.arena().total_bytes;
    own.shards = own.arena + session.arena().shards;
    own.shard_bytes = session.arena().shard_bytes;
    own.stacks = reinterpret_cast<std::uint64_t>(base_) + DT_RT_REGION_BYTES;
    own.n_shards = session.arena().n_shards;
    c.pid = static_cast<dt_u32>(getpid());
    unsigned a = 0, b = 0, cpuid_c = 0, d = 0;
    __get_cpuid_count(7, 0, &a, &b, &cpuid_c, &d);
    c.cpu_method = cpuid_c & bit_RDPID ? DT_RT_CPU_RDPID : DT_RT_CPU_LSL;
    c.fs_method = b & bit_FSGSBASE ? DT_RT_FS_RDFSBASE : DT_RT_FS_CALL;
    c.may_call = 1;
    live() = 1;
    c.rseq = __rseq_size != 0;
    c.uid = geteuid();
    c.gid = getegid();
    c.ppid = static_cast<dt_u32>(getppid());
    std::strcpy(c.execname, "in_process");

    current = this;
    struct sigaction action {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    for (int signal : {SIGSEGV, SIGBUS, SIGTRAP})
        sigaction(signal, &action, nullptr);
    if (!program.empty())
        load(program);
}

InProcess::~InProcess()
{
    for (int signal : {SIGSEGV, SIGBUS, SIGTRAP})
        ::signal(signal, SIG_DFL);
    current = nullptr;
    munmap(base_, memory_bytes);
    munmap(code_, code_bytes);
}

void InProcess::load(const std::string& program)
{
    dt::Compiler compiler;
    auto compiled = compiler.compile(program, {});
    if (!std::holds_alternative<dt::Program>(compiled))
        throw std::runtime_error(std::get<dt::Diagnostic>(compiled).text);
    std::vector<std::byte> dof = dt::write_dof(std::get<dt::Program>(compiled), 0);
    auto* bytes = reinterpret_cast<const char*>(dof.data());
    std::string refused = session.load(std::vector<char>(bytes, bytes + dof.size()));
    if (!refused.empty())
        throw std::runtime_error(refused);
}

// Writes a trampoline (runtime.h): its head, its tail, and a jump to the target.
Function InProcess::probed(std::vector<Probe> probes, const void* target,
                           std::uint32_t condition)
{
    std::byte* at = code_ + code_used_;
    code_used_ += trampoline_bytes;
    std::uint32_t n = 0;
    auto put = [&](std::initializer_list<unsigned> bytes) {
        for (unsigned byte : bytes)
            at[n++] = static_cast<std::byte>(byte);
    };
    auto put32 = [&](std::uint32_t value) {
        std::memcpy(at + n, &value, 4);
        n += 4;
    };
    put({0x48, 0x8d, 0x64, 0x24, 0x80}); // lea -128(%rsp),%rsp
    put({0x53});                         // push %rbx
    put({0xbb});                         // mov $site,%ebx
    put32(n_sites_);
    put({0xff, 0x25}); // jmp *code_(%rip)
    put32(static_cast<std::uint32_t>(code_ - (at + n + 4)));
    const std::uint32_t tail = n;
    put({0x5b});                   // pop %rbx
    put({0x48, 0x8d, 0xa4, 0x24}); // lea 128(%rsp),%rsp
    put32(128);
    put({0xff, 0x25}); // jmp *target
    // The target is an aligned word. An unaligned load would cause SIGBUS if AC is set.
    const std::uint32_t literal = trampoline_bytes - 8;
    put32(literal - n - 4);
    std::memcpy(at + literal, &target, 8);

    dt_rt_site& site = config_->sites[n_sites_++];
    site.at = reinterpret_cast<std::uint64_t>(target);
    site.back = reinterpret_cast<std::uint64_t>(at + tail);
    site.first_firing = n_firings_;
    site.n_firings = static_cast<dt_u32>(probes.size());
    site.condition = static_cast<dt_u8>(condition);
    site.code = reinterpret_cast<std::uint64_t>(base_) +
                (condition != 0 ? dt_rt_condition_at(&header(), 0, condition)
                                : dt_rt_generic_at(&header(), 0));
    for (const Probe& probe : probes) {
        std::uint32_t id = session.probe_named(probe.name);
        config_->firings[n_firings_++] = {id, static_cast<dt_u32>(probe.kind),
                                          probe.arg0};
    }
    return reinterpret_cast<Function>(at);
}

std::string InProcess::compile(dt_rt_site& site, std::uint32_t epid,
                               dt::native::Place place)
{
    const dt_rt_firing& firing = config_->firings[site.first_firing];
    const auto* ecbs =
        static_cast<dt_ecb*>(dt_at(session.memory(), session.arena().ecbs.at));
    std::span<const dt_operand> operands;
    auto arguments = firing.kind == DT_RT_RETURN ? dt::native::Arguments::of_return
                                                 : dt::native::Arguments::of_call;
    if (firing.kind == DT_RT_STATIC) {
        arguments = dt::native::Arguments::of_static;
        operands =
            std::span(config_->operands)
                .subspan(static_cast<std::uint32_t>(firing.arg0), firing.arg0 >> 32);
    }
    auto plan = dt::native::plan_clause(session.memory(), ecbs[epid - 1].clause,
                                        arguments, place, operands);
    if (!plan)
        return plan.error().text;
    dt::native::Target target;
    target.image = reinterpret_cast<std::uint64_t>(base_);
    target.arena = config_->sessions[0].arena;
    target.has_rdfsbase = config_->fs_method == DT_RT_FS_RDFSBASE;
    target.has_rdpid = config_->cpu_method == DT_RT_CPU_RDPID;
    if (use_rseq && __rseq_size != 0)
        target.rseq = dt::native::RseqArea{__rseq_offset, RSEQ_SIG};
    auto code = dt::native::compile(*plan, target, native_used_);
    if (!code)
        return code.error().text;
    const auto& bytes = code->bytes;
    std::memcpy(base_ + native_used_, bytes.data(), bytes.size());
    for (const auto& fixup : code->fixups)
        fixups_.push_back({native_used_ + fixup.begin, native_used_ + fixup.end,
                           native_used_ + fixup.to});
    site.probe = reinterpret_cast<std::uint64_t>(&session.probes()[firing.probe - 1]);
    site.arg0 = firing.arg0;
    site.epid = epid;
    site.code = reinterpret_cast<std::uint64_t>(base_) + native_used_;
    native_used_ +=
        (bytes.size() + dt::native::code_align - 1) & ~(dt::native::code_align - 1);
    return "";
}

std::string InProcess::compile(Function trampoline)
{
    dt_rt_site* site = &site_of(trampoline);
    const auto* ecbs =
        static_cast<dt_ecb*>(dt_at(session.memory(), session.arena().ecbs.at));
    const dt_probe& probe =
        session.probes()[config_->firings[site->first_firing].probe - 1];
    const dt_rt_site before = *site;
    for (std::uint32_t epid = probe.first_ecb; epid != 0; epid = ecbs[epid - 1].next) {
        if (epid != probe.first_ecb) {
            site->next = n_sites_;
            site = &config_->sites[n_sites_++];
            *site = before;
            site->from = epid;
        }
        std::string why =
            compile(*site, epid,
                    {probe.flags >> DT_PROBE_ECBS_SHIFT, ecbs[epid - 1].next == 0});
        if (!why.empty())
            return epid == probe.first_ecb ? why : "";
    }
    return "";
}

void InProcess::set_inert(Function trampoline)
{
    dt_rt_site& site = site_of(trampoline);
    site.n_firings = 0;
    site.code = reinterpret_cast<std::uint64_t>(base_) + header().skip;
}

void InProcess::move_to_session(Function trampoline, unsigned session)
{
    config_->sessions[session] = config_->sessions[0];
    dt_rt_site& site = site_of(trampoline);
    site.session = static_cast<dt_u16>(session);
    site.code =
        reinterpret_cast<std::uint64_t>(base_) +
        (site.condition != 0 ? dt_rt_condition_at(&header(), session, site.condition)
                             : dt_rt_generic_at(&header(), session));
}

void InProcess::chain(Function first, Function second)
{
    const std::uint32_t to =
        static_cast<std::uint32_t>(&site_of(second) - config_->sites);
    const std::uint64_t offset = DT_RT_LINKS + to * DT_RT_LINK_BYTES;
    std::byte* at = base_ + offset;
    const auto distance = static_cast<std::uint32_t>(header().enter - (offset + 10));
    at[0] = std::byte{0xbb}; // mov $to,%ebx
    std::memcpy(at + 1, &to, sizeof to);
    at[5] = std::byte{0xe9}; // jmp dt_rt_enter
    std::memcpy(at + 6, &distance, sizeof distance);
    if (mprotect(base_ + DT_RT_LINKS, 4096, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        throw std::runtime_error("mprotect");
    site_of(second).back = site_of(first).back;
    site_of(first).back = reinterpret_cast<std::uint64_t>(at);
}

dt_rt_site& InProcess::site_of(Function trampoline)
{
    std::uint32_t index;
    std::memcpy(&index, reinterpret_cast<std::byte*>(trampoline) + 7, 4);
    return config_->sites[index];
}

void InProcess::add_thread()
{
    std::uint32_t slot = dt_rt_thread_slot(fs_base());
    while (config_->threads[slot].fs_base != 0)
        slot = (slot + 1) & (DT_RT_MAX_THREADS - 1);
    const auto tid = static_cast<dt_u32>(gettid());
    const std::uint64_t key =
        dt_slot_key_of(static_cast<std::uint64_t>(config_->pid) << 32 | tid);
    config_->threads[slot] = {fs_base(), tid, config_->pid, key, dt_slot_hash_of(key)};
}

std::uint64_t InProcess::add_operands(const std::vector<dt_operand>& operands)
{
    std::uint64_t list = n_operands_ | std::uint64_t{operands.size()} << 32;
    for (const dt_operand& operand : operands)
        config_->operands[n_operands_++] = operand;
    return list;
}

void InProcess::add_range(const void* start, std::uint64_t bytes)
{
    auto at = reinterpret_cast<std::uint64_t>(start);
    config_->ranges[config_->n_ranges++] = {at, at + bytes};
}

static std::uint64_t clock_now(clockid_t id)
{
    timespec t;
    clock_gettime(id, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1000000000 + t.tv_nsec;
}

struct Moment {
    std::uint64_t tsc, mono_ns, wall_ns;
};

// Reads the clocks many times, and returns the fastest reading, which was most likely
// not interrupted.
static Moment read_clocks()
{
    Moment best{};
    std::uint64_t least = ~std::uint64_t{0};
    for (int i = 0; i < 50; i++) {
        std::uint64_t before = __rdtsc();
        Moment now{0, clock_now(CLOCK_MONOTONIC), clock_now(CLOCK_REALTIME)};
        now.tsc = __rdtsc();
        if (now.tsc - before < least) {
            least = now.tsc - before;
            best = now;
        }
    }
    return best;
}

void InProcess::set_clock()
{
    dt_clock& clock = session.session().clock;
    Moment from = read_clocks();
    timespec rest{0, 50'000'000};
    nanosleep(&rest, nullptr);
    Moment now = read_clocks();
    clock.shift = 32;
    clock.mult = static_cast<std::uint64_t>(
        (static_cast<unsigned __int128>(now.mono_ns - from.mono_ns) << 32) /
        (now.tsc - from.tsc));
    clock.tsc = now.tsc;
    clock.mono_ns = now.mono_ns;
    clock.wall_ns = now.wall_ns;
    clock.seq = 2;
}

// Clears AC, because the kernel does not clear it for a signal handler. If AC is set,
// the unaligned accesses of the sanitizers cause SIGBUS.
__attribute__((no_sanitize("address", "undefined"))) void
InProcess::on_signal(int signal, siginfo_t* info, void* context)
{
    constexpr std::uint64_t alignment_check = 0x40000;
    __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~alignment_check);
    answer(signal, info, context);
}

void InProcess::answer(int, siginfo_t* info, void* context)
{
    auto& regs = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    InProcess& self = *current;
    auto base = reinterpret_cast<std::uint64_t>(self.base_);
    std::uint64_t at = static_cast<std::uint64_t>(regs[REG_RIP]) - base;
    const dt_rt_header& header = self.header();
    if (info->si_signo == SIGTRAP && at == header.upcall_trap + 1) {
        auto& call = *reinterpret_cast<dt_rt_upcall*>(regs[REG_RDI]);
        __atomic_fetch_add(&self.n_upcalls, 1, __ATOMIC_RELAXED);
        call.result = self.upcall ? self.upcall(call) : -1;
        call.answered = 1;
        return;
    }
    if (info->si_signo != SIGTRAP && at >= header.load_begin && at < header.load_end) {
        __atomic_fetch_add(&self.n_faults, 1, __ATOMIC_RELAXED);
        regs[REG_RDX] =
            static_cast<greg_t>(reinterpret_cast<std::uint64_t>(info->si_addr));
        regs[REG_RIP] = static_cast<greg_t>(base + header.load_fixup);
        return;
    }
    for (const auto& fixup : self.fixups_)
        if (info->si_signo != SIGTRAP && at >= fixup.begin && at < fixup.end) {
            __atomic_fetch_add(&self.n_faults, 1, __ATOMIC_RELAXED);
            regs[REG_RIP] = static_cast<greg_t>(base + fixup.to);
            return;
        }
    ::signal(info->si_signo, SIG_DFL);
}

} // namespace runtime_test
