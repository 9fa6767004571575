// SPDX-License-Identifier: MIT
#include "ptrace-agent/inject/runtime_loader.hpp"

#include "base/page_bytes.hpp"
#include "process/maps.hpp"
#include "process/proc_files.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/inject/remote_mappings.hpp"
#include "ptrace-agent/plant/linker.hpp"
#include "ptrace-agent/runtime/image.hpp"

#include <cpuid.h>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <tuple>

namespace dt::agent {

static bool has_rdpid()
{
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (c & 1u << 22) != 0;
}

static sigjmp_buf no_rdfsbase;

// Returns whether this process can execute rdfsbase. Some kernels do not announce it
// (HWCAP2_FSGSBASE), but permit it, for example in some virtual machines. Reading the
// base is right in any case.
static bool try_rdfsbase()
{
    struct sigaction trial = {}, before = {};
    trial.sa_handler = [](int) { siglongjmp(no_rdfsbase, 1); };
    if (sigaction(SIGILL, &trial, &before) != 0)
        return false;
    bool works = false;
    if (sigsetjmp(no_rdfsbase, 1) == 0) {
        std::uint64_t base = 0;
        asm volatile("rdfsbase %0" : "=r"(base));
        works = true;
    }
    sigaction(SIGILL, &before, nullptr);
    return works;
}

static bool has_rdfsbase()
{
    static const bool has = (getauxval(AT_HWCAP2) & 2) != 0 || try_rdfsbase();
    return has;
}

void RuntimeLoader::refresh_config(AddressSpace& space)
{
    RuntimeConfig& writer = space.runtime.writer();
    const dt_rt_config& config = writer.own();
    std::string status = read_proc_file(space.proc_tid(), "status");
    writer.set(config.uid, static_cast<dt_u32>(status_number(status, "Uid", 1)));
    writer.set(config.gid, static_cast<dt_u32>(status_number(status, "Gid", 1)));
    writer.set(config.ppid, static_cast<dt_u32>(status_number(status, "PPid")));
    char name[sizeof config.execname]{};
    std::string comm = read_proc_file(space.proc_tid(), "comm", sizeof name);
    while (!comm.empty() && comm.back() == '\n')
        comm.pop_back();
    comm.copy(name, sizeof name - 1);
    writer.set_all(config.execname, std::span<const char>(name));
    if (auto offset = space.errno_place.offset(space))
        space.runtime.learn_errno(*offset);
    // With doorbells, the runtime must make no system calls. The program may install a
    // seccomp filter that kills the process for such a call.
    bool may_call = !space.runtime.doorbells.are_armed();
    for (Thread* thread : tracees_.threads_in(space)) {
        std::string own = thread_status(thread->process->pid, thread->tid);
        may_call = may_call && status_number(own, "Seccomp") == 0;
        bases_.learn(*thread);
    }
    writer.publish(config.may_call, may_call ? 1 : 0);
    space.runtime.set_ranges(mappings_of(space.proc_tid()));
}

Result<Ok> RuntimeLoader::ensure(StoppedWorld& world)
{
    AddressSpace& space = world.space();
    if (space.runtime.image.value != 0)
        return Ok{};
    if (!space.runtime.refusal.empty())
        return Error{Code::unsupported, space.runtime.refusal};
    Thread* thread = world.any_thread();
    if (thread == nullptr)
        return Error{Code::busy,
                     "none of its threads can make a system call at the moment"};
    auto done = load(world, *thread);
    if (!done && done.error().code != Code::gone)
        space.runtime.refusal = done.error().text;
    return done;
}

Result<Ok> RuntimeLoader::load(StoppedWorld& world, Thread& thread)
{
    AddressSpace& space = world.space();
    RuntimeMap& runtime = space.runtime;
    const auto* base = static_cast<const dt_arena*>(arena_.base());
    if (base == nullptr || base->magic != DT_ARENA_MAGIC ||
        arena_.n_shared() > DT_RT_MAX_SHARDS)
        return Error{Code::unsupported, "the session's arena is missing or not valid"};
    if (auto made = runtime.make(space.owner()); !made)
        return made;

    RemoteMappings mappings(tracees_, injector_, thread);
    auto fds =
        mappings.send({arena_.program_fd(), arena_.data_fd(), runtime.read_only_fd()});
    if (!fds)
        return fds.error();
    auto [program, data, config] = *fds;

    if (auto deferred = mappings.defer_locks(); !deferred)
        return deferred;

    const dt_rt_header& header = runtime_header();
    std::uint64_t stack_bytes = arena_.n_shared() * DT_RT_STACK_BYTES;
    std::uint64_t region = DT_RT_STACKS + stack_bytes + page_bytes;
    if (std::string why =
            address_space_refusal(space.owner(), region + arena_.shared_bytes());
        !why.empty())
        return Error{Code::unsupported, why};
    auto image = mappings.reserve(Ours::runtime, region, DT_RT_STACKS,
                                  "reserve address space for the runtime");
    if (!image)
        return image.error();
    auto arena = mappings.reserve(Ours::arena, arena_.shared_bytes(), 0,
                                  "reserve address space for the arena");
    if (!arena)
        return arena.error();
    constexpr int own = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    constexpr int shared = MAP_SHARED | MAP_FIXED;
    struct Part {
        TargetAddr at;
        std::uint64_t bytes;
        int protection, flags, fd;
        const char* step;
    };
    const Part parts[] = {
        {*image, header.image_bytes, PROT_READ | PROT_EXEC, own, no_fd,
         "map the runtime"},
        {*image + DT_RT_LIVE, page_bytes, PROT_READ, own, no_fd,
         "map the word that enables firing"},
        {*image + DT_RT_RAISED, sizeof(dt_rt_raised_list), PROT_READ,
         own | MAP_NORESERVE, no_fd, "map the list of semaphores"},
        {*image + DT_RT_CODE, DT_RT_CODE_BYTES, PROT_READ | PROT_EXEC,
         own | MAP_NORESERVE, no_fd, "map the area for compiled code"},
        {*image + DT_RT_CONFIG,
         (sizeof(dt_rt_config) + page_bytes - 1) & ~(page_bytes - 1), PROT_READ, shared,
         config, "map the runtime's config"},
        {*image + DT_RT_BELLS, bells_bytes, PROT_READ | PROT_WRITE, own, no_fd,
         "map the runtime's doorbells"},
        {*image + DT_RT_STACKS, stack_bytes, PROT_READ | PROT_WRITE,
         own | MAP_NORESERVE, no_fd, "map the runtime's stacks"},
        {*arena, arena_.program_bytes(), PROT_READ, shared, program,
         "map the arena's program part"},
        {*arena + arena_.program_bytes(),
         arena_.shared_bytes() - arena_.program_bytes(), PROT_READ | PROT_WRITE, shared,
         data, "map the arena's data part"},
    };
    for (const Part& part : parts) {
        if (auto mapped = mappings.map(part.at, part.bytes, part.protection, part.flags,
                                       part.fd, part.step);
            !mapped)
            return mapped.error();
    }
    const std::tuple<TargetAddr, std::uint64_t, int> kept_from_children[] = {
        {*image + DT_RT_LIVE, page_bytes, MADV_WIPEONFORK},
        {*image + DT_RT_STACKS, stack_bytes, MADV_DONTFORK},
        {*arena, arena_.shared_bytes(), MADV_DONTFORK},
    };
    for (auto [at, bytes, advice] : kept_from_children) {
        if (auto kept = mappings.call(
                SYS_madvise, {at.value, bytes, static_cast<std::uint64_t>(advice)},
                "exclude the arena from forked children (madvise)");
            !kept)
            return kept.error();
    }
    mappings.own(*image + DT_RT_CONFIG, region - DT_RT_CONFIG);
    mappings.own(*arena, arena_.shared_bytes());
    if (!space.write_text(*image, runtime_image()))
        return Error{Code::unsupported,
                     "the runtime cannot be written to the target's memory"};
    bool has_bells = mappings.hang_bells(*image + DT_RT_BELLS);
    mappings.keep();

    RuntimeConfig& writer = runtime.writer();
    const dt_rt_config& fields = writer.own();
    writer.set(fields.arena, arena->value);
    writer.set(fields.shards, arena->value + base->shards);
    writer.set(fields.shard_bytes, base->shard_bytes);
    writer.set(fields.n_shards, arena_.n_shared());
    writer.set(fields.stacks, image->value + DT_RT_STACKS);
    writer.set(fields.cpu_method, has_rdpid() ? DT_RT_CPU_RDPID : DT_RT_CPU_LSL);
    writer.set(fields.fs_method, has_rdfsbase() ? DT_RT_FS_RDFSBASE : DT_RT_FS_CALL);
    writer.set(fields.has_bells, has_bells ? 1 : 0);
    runtime.image = *image;
    runtime.image_bytes = header.image_bytes;
    runtime.region_bytes = region;
    runtime.arena = *arena;
    runtime.arena_bytes = arena_.shared_bytes();
    refresh_config(space);
    rseq_.learn(space);
    if (!runtime.let_fire(space, true))
        return Error{Code::gone, "it ended"};
    return Ok{};
}

} // namespace dt::agent
