// SPDX-License-Identifier: MIT
// The runtime into a target, by system calls that one of its stopped threads makes.
//
//   scratch page ─ socketpair ─ the agent takes one end (pidfd_getfd) and sends three
//   descriptors through it ─ recvmsg ─ a region is reserved, its parts are mapped ─
//   descriptors closed, scratch unmapped ─ the image is written through /proc/PID/mem
//
// No file name is involved, so that mount namespaces do not matter, and no page is ever
// writable and executable. What the target gets of the program part and the config is a
// descriptor opened for reading. Any step that fails undoes those before it and is
// named; the target then keeps what it has, which is nothing.
#include "ptrace-agent/injection.hpp"

#include "base/page_bytes.hpp"
#include "ptrace-agent/linker.hpp"
#include "ptrace-agent/proc_files.hpp"
#include "ptrace-agent/runtime/image.hpp"
#include "ptrace-agent/tracing.hpp"

#include <cpuid.h>
#include <cstring>
#include <sys/auxv.h>
#include <sys/mman.h>

namespace dt::agent {

static bool has_rdpid()
{
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (c & 1u << 22) != 0;
}

static bool has_rdfsbase()
{
    return (getauxval(AT_HWCAP2) & 2) != 0; // HWCAP2_FSGSBASE
}

void Agent::refresh_config(AddressSpace& space)
{
    dt_rt_config& config = space.runtime.config();
    std::string status = read_proc_file(space.speaker(), "status");
    config.uid = static_cast<dt_u32>(status_number(status, "Uid", 1));
    config.gid = static_cast<dt_u32>(status_number(status, "Gid", 1));
    config.ppid = static_cast<dt_u32>(status_number(status, "PPid"));
    std::string name = read_proc_file(space.speaker(), "comm", sizeof config.execname);
    while (!name.empty() && name.back() == '\n')
        name.pop_back();
    std::memset(config.execname, 0, sizeof config.execname);
    name.copy(config.execname, sizeof config.execname - 1);
    auto offset = errno_offset(space);
    config.errno_known = offset ? 1 : 0;
    config.errno_offset = offset.value_or(0);
    // A filter may come at any time: with bells nothing needs a system call.
    bool may_call = !space.runtime.bells.are_hung();
    for (Thread* thread : threads_in(space)) {
        std::string own = thread_status(thread->process->pid, thread->tid);
        may_call = may_call && status_number(own, "Seccomp") == 0;
        learn_thread(*thread);
    }
    config.may_call = may_call ? 1 : 0;
    space.runtime.set_ranges(mappings_of(space.speaker()));
}

void Agent::learn_thread(Thread& thread)
{
    AddressSpace& space = *thread.process->space;
    user_regs_struct user;
    if (space.runtime.image.value == 0 || !thread.stopped ||
        !get_regs(thread.tid, user))
        return;
    space.runtime.add_thread(user.fs_base, thread.tid, thread.process->pid);
}

Result<Ok> Agent::ensure_runtime(StoppedWorld& world)
{
    AddressSpace& space = world.space();
    if (space.runtime.image.value != 0)
        return Ok{};
    if (!space.no_runtime.empty())
        return Error{Code::unsupported, space.no_runtime};
    Thread* thread = world.any_thread();
    if (thread == nullptr)
        return Error{Code::busy, "no thread of it can make a system call now"};
    auto done = inject_runtime(world, *thread);
    if (!done && done.error().code != Code::gone)
        space.no_runtime = done.error().text;
    return done;
}

Result<Ok> Agent::inject_runtime(StoppedWorld& world, Thread& thread)
{
    AddressSpace& space = world.space();
    RuntimeMap& runtime = space.runtime;
    const auto* base = static_cast<const dt_arena*>(arena_.base());
    if (base == nullptr || base->magic != DT_ARENA_MAGIC ||
        arena_.n_shards() > DT_RT_MAX_SHARDS)
        return Error{Code::unsupported, "there is no arena that it could map"};
    if (auto made = runtime.make(space.owner()); !made)
        return made;
    auto config_fd = runtime.read_only_fd();
    if (!config_fd)
        return config_fd.error();

    Injection injection(*this, thread);
    auto fds =
        injection.send({arena_.program_fd(), arena_.data_fd(), config_fd->get()});
    if (!fds)
        return fds.error();
    auto [program, data, config] = *fds;

    if (auto deferred = injection.defer_locks(); !deferred)
        return deferred;

    const dt_rt_header& header = runtime_header();
    std::uint64_t stack_bytes = arena_.n_shards() * DT_RT_STACK_BYTES;
    std::uint64_t region = DT_RT_STACKS + stack_bytes + page_bytes;
    if (std::string why = address_space_refusal(space.owner(), region + arena_.bytes());
        !why.empty())
        return Error{Code::unsupported, why};
    auto image = injection.reserve(region, "reserve address space for the runtime");
    if (!image)
        return image.error();
    auto arena =
        injection.reserve(arena_.bytes(), "reserve address space for the arena");
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
        {*image + DT_RT_RAISED, sizeof(dt_rt_raised_list), PROT_READ,
         own | MAP_NORESERVE, no_fd, "map the list of semaphores"},
        {*image + DT_RT_CODE, DT_RT_CODE_BYTES, PROT_READ | PROT_EXEC,
         own | MAP_NORESERVE, no_fd, "map room for compiled code"},
        {*image + DT_RT_CONFIG,
         (sizeof(dt_rt_config) + page_bytes - 1) & ~(page_bytes - 1), PROT_READ, shared,
         config, "map the runtime's config"},
        {*image + DT_RT_BELLS, bells_bytes, PROT_READ | PROT_WRITE, own, no_fd,
         "map the runtime's bells"},
        {*image + DT_RT_STACKS, stack_bytes, PROT_READ | PROT_WRITE,
         own | MAP_NORESERVE, no_fd, "map the runtime's stacks"},
        {*arena, arena_.program_bytes(), PROT_READ, shared, program,
         "map the arena's program part"},
        {*arena + arena_.program_bytes(), arena_.bytes() - arena_.program_bytes(),
         PROT_READ | PROT_WRITE, shared, data, "map the arena's data part"},
    };
    for (const Part& part : parts) {
        if (auto mapped = injection.map(part.at, part.bytes, part.protection,
                                        part.flags, part.fd, part.step);
            !mapped)
            return mapped.error();
    }
    injection.own(*image + DT_RT_CONFIG, region - DT_RT_CONFIG);
    injection.own(*arena, arena_.bytes());
    if (!space.write_text(*image, runtime_image()))
        return Error{Code::unsupported, "write the runtime into it"};
    bool hung = injection.hang_bells(*image + DT_RT_BELLS);
    injection.keep();

    dt_rt_config& shared_config = runtime.config();
    shared_config.arena = arena->value;
    shared_config.shards = arena->value + base->shards;
    shared_config.shard_bytes = base->shard_bytes;
    shared_config.n_shards = arena_.n_shards();
    shared_config.stacks = image->value + DT_RT_STACKS;
    shared_config.cpu_method = has_rdpid() ? DT_RT_CPU_RDPID : DT_RT_CPU_LSL;
    shared_config.fs_method = has_rdfsbase() ? DT_RT_FS_RDFSBASE : DT_RT_FS_CALL;
    shared_config.has_bells = hung ? 1 : 0;
    shared_config.enabled = 1;
    runtime.image = *image;
    runtime.image_bytes = header.image_bytes;
    runtime.region_bytes = region;
    runtime.arena = *arena;
    runtime.arena_bytes = arena_.bytes();
    refresh_config(space);
    learn_rseq(space);
    return Ok{};
}

} // namespace dt::agent
