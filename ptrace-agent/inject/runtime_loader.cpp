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

bool syscalls_keep_rcx()
{
    static const bool keep = [] {
        std::uint64_t number = SYS_getpid, next = 0, rcx = 0;
        asm volatile("lea 1f(%%rip), %1\n\t"
                     "syscall\n"
                     "1:"
                     : "+a"(number), "=&r"(next), "+c"(rcx)
                     :
                     : "r11", "memory");
        return rcx != next;
    }();
    return keep;
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

Result<Ok> RuntimeLoader::ensure(StoppedWorld& world, SessionSet sessions)
{
    AddressSpace& space = world.space();
    for (unsigned number = 0; number < max_sessions; number++) {
        if (!sessions.test(number))
            continue;
        const AgentSession* session = tracees_.sessions().find(number);
        if (session == nullptr)
            return Error{Code::gone, "the session has ended"};
        if (space.runtime.has_session(number)) {
            // The session traces the target again.
            if (space.runtime.sessions().at(number).generation !=
                session->arena.generation())
                return Error{Code::busy,
                             "a thread still uses the memory of the session's previous "
                             "probes"};
            space.runtime.set_left(number, false);
            continue;
        }
        if (!space.runtime.refusal.empty())
            return Error{Code::unsupported, space.runtime.refusal};
        Thread* thread = world.any_thread();
        if (thread == nullptr)
            return Error{Code::busy,
                         "none of its threads can make a system call at the moment"};
        auto done = load(world, *thread, *session);
        if (!done && done.error().code != Code::gone &&
            space.runtime.sessions().empty())
            space.runtime.refusal = done.error().text;
        if (!done)
            return done;
    }
    return Ok{};
}

// The addresses in the target at which the session's memory is mapped:
//
//   | guard page | stacks | guard page | program part | data part |
struct RuntimeLoader::Layout {
    Layout(const ArenaMap& arena, RuntimeMap::Stacks of)
        : stacks(of), stack_bytes(std::uint64_t{of.n} * DT_RT_STACK_BYTES),
          bytes(page_bytes + stack_bytes + page_bytes + arena.shared_bytes())
    {
    }
    TargetAddr first_stack() const { return at + page_bytes; }
    TargetAddr arena() const { return at + (2 * page_bytes + stack_bytes); }

    RuntimeMap::Stacks stacks;
    std::uint64_t stack_bytes, bytes;
    TargetAddr at;
};

// Maps the image's region, without links. Returns its address.
Result<TargetAddr> RuntimeLoader::map_image(RemoteMappings& mappings, int config)
{
    const auto image =
        mappings.reserve(Ours::runtime, DT_RT_REGION_BYTES, DT_RT_REGION_BYTES,
                         "reserve address space for the runtime");
    if (!image)
        return image.error();
    constexpr int own = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    const Part parts[] = {
        {*image, runtime_header().image_bytes, PROT_READ | PROT_EXEC, own, no_fd,
         "map the runtime"},
        {*image + DT_RT_LIVE, page_bytes, PROT_READ, own, no_fd,
         "map the word that enables firing"},
        {*image + DT_RT_RAISED, sizeof(dt_rt_raised_list), PROT_READ,
         own | MAP_NORESERVE, no_fd, "map the list of semaphores"},
        {*image + DT_RT_CODE, DT_RT_CODE_BYTES, PROT_READ | PROT_EXEC,
         own | MAP_NORESERVE, no_fd, "map the area for compiled code"},
        {*image + DT_RT_CONFIG,
         (sizeof(dt_rt_config) + page_bytes - 1) & ~(page_bytes - 1), PROT_READ,
         MAP_SHARED | MAP_FIXED, config, "map the runtime's config"},
        {*image + DT_RT_BELLS, bells_bytes, PROT_READ | PROT_WRITE, own, no_fd,
         "map the runtime's doorbells"},
        {*image + DT_RT_CALLS, DT_RT_MAX_CALLS * sizeof(dt_rt_call),
         PROT_READ | PROT_WRITE, own | MAP_NORESERVE, no_fd,
         "map the list of system calls in progress"},
    };
    if (auto mapped = map_parts(mappings, parts); !mapped)
        return mapped.error();
    if (auto kept = mappings.call(
            SYS_madvise, {image->value + DT_RT_LIVE, page_bytes, MADV_WIPEONFORK},
            "exclude the runtime from forked children (madvise)");
        !kept)
        return kept.error();
    mappings.own(*image + DT_RT_CONFIG, DT_RT_REGION_BYTES - DT_RT_CONFIG);
    return *image;
}

Result<Ok> RuntimeLoader::map_parts(RemoteMappings& mappings,
                                    std::span<const Part> parts)
{
    for (const Part& part : parts) {
        if (auto mapped = mappings.map(part.at, part.bytes, part.protection, part.flags,
                                       part.fd, part.step);
            !mapped)
            return mapped.error();
    }
    return Ok{};
}

// Maps the memory of a session.
Result<Ok> RuntimeLoader::map_session(RemoteMappings& mappings, const ArenaMap& arena,
                                      int program, int data, Layout& layout)
{
    auto at = mappings.reserve(Ours::session, layout.bytes, 0,
                               "reserve address space for the arena");
    if (!at)
        return at.error();
    layout.at = *at;
    constexpr int own = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    constexpr int shared = MAP_SHARED | MAP_FIXED;
    const Part parts[] = {
        {layout.first_stack(), layout.stack_bytes, PROT_READ | PROT_WRITE,
         own | MAP_NORESERVE, no_fd, "map the session's stacks"},
        {layout.arena(), arena.program_bytes(), PROT_READ, shared, program,
         "map the arena's program part"},
        {layout.arena() + arena.program_bytes(),
         arena.shared_bytes() - arena.program_bytes(), PROT_READ | PROT_WRITE, shared,
         data, "map the arena's data part"},
    };
    if (auto mapped = map_parts(mappings, parts); !mapped)
        return mapped.error();
    if (auto kept =
            mappings.call(SYS_madvise, {layout.at.value, layout.bytes, MADV_DONTFORK},
                          "exclude the arena from forked children (madvise)");
        !kept)
        return kept.error();
    mappings.own(layout.at, layout.bytes);
    return Ok{};
}

Result<Ok> RuntimeLoader::load(StoppedWorld& world, Thread& thread,
                               const AgentSession& session)
{
    AddressSpace& space = world.space();
    RuntimeMap& runtime = space.runtime;
    const ArenaMap& arena = session.arena;
    const auto* base = static_cast<const dt_arena*>(arena.base());
    if (base == nullptr || base->magic != DT_ARENA_MAGIC ||
        arena.n_shared() > DT_RT_MAX_SHARDS)
        return Error{Code::unsupported, "the session's arena is missing or not valid"};
    const bool is_first = runtime.image.value == 0;
    if (is_first)
        if (auto made = runtime.make(space.owner()); !made)
            return made;
    Layout layout(arena, runtime.free_stacks(arena.n_shared()));
    if (layout.stacks.n == 0)
        return Error{Code::unsupported,
                     "too many sessions trace the process at the same time"};

    RemoteMappings mappings(tracees_, injector_, thread);
    auto fds =
        mappings.send({arena.program_fd(), arena.data_fd(), runtime.read_only_fd()});
    if (!fds)
        return fds.error();
    auto [program, data, config] = *fds;

    if (auto deferred = mappings.defer_locks(); !deferred)
        return deferred;
    if (std::string why = address_space_refusal(
            space.owner(), (is_first ? DT_RT_REGION_BYTES : 0) + layout.bytes);
        !why.empty())
        return Error{Code::unsupported, why};
    TargetAddr image = runtime.image;
    if (is_first) {
        auto mapped = map_image(mappings, config);
        if (!mapped)
            return mapped.error();
        image = *mapped;
    } else if (!runtime.has_links) {
        constexpr std::uint64_t bytes = DT_RT_MAX_SITES * DT_RT_LINK_BYTES;
        if (auto mapped = mappings.map(
                image + DT_RT_LINKS, bytes, PROT_READ | PROT_EXEC,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, no_fd,
                "map the links between the sites of several sessions");
            !mapped)
            return mapped.error();
        mappings.own(image + DT_RT_LINKS, bytes);
        runtime.has_links = true;
    }
    if (auto mapped = map_session(mappings, arena, program, data, layout); !mapped)
        return mapped.error();
    bool has_bells = false;
    if (is_first) {
        if (!space.write_text(image, runtime_image()))
            return Error{Code::unsupported,
                         "the runtime cannot be written to the target's memory"};
        has_bells = mappings.hang_bells(image + DT_RT_BELLS);
    }
    mappings.keep();

    dt_rt_session entry{};
    entry.arena = layout.arena().value;
    entry.arena_bytes = arena.shared_bytes();
    entry.shards = entry.arena + base->shards;
    entry.shard_bytes = base->shard_bytes;
    entry.stacks = layout.first_stack().value;
    entry.n_shards = layout.stacks.n;
    entry.first_stack = layout.stacks.first;
    runtime.add_session(session.number,
                        {layout.at, layout.bytes, layout.arena(), arena.generation()},
                        entry);
    if (is_first) {
        RuntimeConfig& writer = runtime.writer();
        const dt_rt_config& fields = writer.own();
        writer.set(fields.cpu_method, has_rdpid() ? DT_RT_CPU_RDPID : DT_RT_CPU_LSL);
        writer.set(fields.fs_method,
                   has_rdfsbase() ? DT_RT_FS_RDFSBASE : DT_RT_FS_CALL);
        writer.set(fields.has_bells, has_bells ? 1 : 0);
        writer.set(fields.keeps_rcx, syscalls_keep_rcx() ? 1 : 0);
        runtime.image = image;
        runtime.image_bytes = runtime_header().image_bytes;
        runtime.region_bytes = DT_RT_REGION_BYTES;
    }
    refresh_config(space);
    rseq_.learn(space);
    if (is_first && !runtime.let_fire(space, true))
        return Error{Code::gone, "it ended"};
    return Ok{};
}

} // namespace dt::agent
