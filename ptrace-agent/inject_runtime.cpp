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
#include "ptrace-agent/agent.hpp"

#include "ptrace-agent/linker.hpp"
#include "ptrace-agent/memory_limits.hpp"
#include "ptrace-agent/proc_files.hpp"
#include "ptrace-agent/runtime/image.hpp"
#include "ptrace-agent/tracing.hpp"

#include <algorithm>
#include <cpuid.h>
#include <cstring>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace dt::agent {

constexpr std::uint64_t scratch_bytes = 4096;
constexpr std::uint64_t page_bytes = 4096;
constexpr int no_fd = -1;
constexpr std::uint64_t bells_bytes = DT_RT_GATE + DT_RT_BELL_BYTES - DT_RT_BELLS;
static_assert(DT_RT_CONFIG + sizeof(dt_rt_config) <= DT_RT_BELLS &&
              DT_RT_BELLS + bells_bytes <= DT_RT_STACKS);

// What recvmsg(2) needs, in the target's scratch page.
struct Scratch {
    int pair[2];
    char byte;
    iovec data;
    msghdr message;
    alignas(8) char control[CMSG_SPACE(3 * sizeof(int))];
};
static_assert(sizeof(Scratch) <= scratch_bytes);

// A target's mappings and descriptors that are undone when injection fails.
class Agent::Injection {
public:
    Injection(Agent& agent, Thread& thread)
        : agent_(agent), tid_(thread.tid), space_(thread.process->space)
    {
    }
    ~Injection()
    {
        for (int fd : fds_)
            (void)call(SYS_close, {static_cast<std::uint64_t>(fd)});
        for (auto [at, bytes] : undone_)
            (void)call(SYS_munmap, {at.value, bytes});
        if (locks_ == FutureLocks::at_once)
            (void)call(SYS_mlockall, {MCL_FUTURE});
    }
    Injection(const Injection&) = delete;
    Injection& operator=(const Injection&) = delete;

    // A call's result; an errno is an Error that names the step.
    Result<std::uint64_t> call(long number, std::array<std::uint64_t, 6> args,
                               const char* step = "")
    {
        Thread* thread = agent_.find_thread(tid_);
        if (thread == nullptr)
            return Error{Code::gone, "it ended"};
        auto value = agent_.inject(*thread, number, args);
        if (!value)
            return value;
        if (*value > ~4095ull)
            return Error{Code::unsupported,
                         std::string(step) + ": " +
                             std::strerror(-static_cast<int>(*value)),
                         -static_cast<int>(*value)};
        return value;
    }

    Result<TargetAddr> map(TargetAddr at, std::uint64_t bytes, int protection,
                           int flags, int fd, const char* step)
    {
        auto mapped = call(SYS_mmap,
                           {at.value, bytes, static_cast<std::uint64_t>(protection),
                            static_cast<std::uint64_t>(flags),
                            static_cast<std::uint64_t>(static_cast<long>(fd)), 0},
                           step);
        if (!mapped)
            return mapped.error();
        return TargetAddr{*mapped};
    }

    // Reserved address space, unmapped again unless keep() is called. Not where
    // trampolines may have to be, if the kernel agrees.
    Result<TargetAddr> reserve(std::uint64_t bytes, const char* step)
    {
        TargetAddr wanted = far_from_text(bytes);
        auto at = map(wanted, bytes, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, no_fd, step);
        if (at)
            undone_.emplace_back(*at, bytes);
        return at;
    }
    void keep() { undone_.erase(undone_.begin() + 1, undone_.end()); }

    // A jump reaches 2 GiB, and a punned one leads to one place.
    TargetAddr far_from_text(std::uint64_t bytes)
    {
        constexpr std::uint64_t distance = 16ull << 30;
        if (far_.value == 0) {
            for (const Mapping& m : mappings_of(space_->speaker()))
                if (m.execute && !m.path.empty() && m.path[0] == '/')
                    far_ = m.start; // the last one's: the libraries'
        }
        if (far_.value <= distance + bytes)
            return {};
        far_ = TargetAddr{(far_.value - distance - bytes) & ~(page_bytes - 1)};
        return far_;
    }

    // A program that locks all that it maps (mlockall) is not to have all of the arena in
    // memory at once, and none of it locked. Now only what is touched, until the end.
    Result<Ok> defer_locks()
    {
        if (locks_ != FutureLocks::at_once)
            return Ok{};
        auto deferred = call(SYS_mlockall, {MCL_FUTURE | MCL_ONFAULT},
                             "map without locking (mlockall)");
        if (!deferred)
            return deferred.error();
        return Ok{};
    }
    // Ours is not locked, and no part of the program's core.
    void own(TargetAddr at, std::uint64_t bytes)
    {
        if (locks_ != FutureLocks::none)
            (void)call(SYS_munlock, {at.value, bytes});
        (void)call(SYS_madvise, {at.value, bytes, MADV_DONTDUMP});
    }

    // Three of ours as descriptors of the target.
    Result<std::array<int, 3>> send(std::array<int, 3> ours);
    bool hang_bells(TargetAddr at); // false: this kernel has none, or none for it

private:
    Agent& agent_;
    pid_t tid_;
    std::shared_ptr<AddressSpace> space_;
    std::vector<std::pair<TargetAddr, std::uint64_t>> undone_; // scratch is the first
    std::vector<int> fds_;
    FutureLocks locks_ = FutureLocks::none;
    TargetAddr far_; // of what was reserved last
};

static Result<Ok> send_fds(int socket, const std::array<int, 3>& fds)
{
    char byte = 0;
    iovec data{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof fds)]{};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fds);
    std::memcpy(CMSG_DATA(header), fds.data(), sizeof fds);
    if (sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) != 1)
        return errno_error("send the arena's descriptors");
    return Ok{};
}

Result<std::array<int, 3>> Agent::Injection::send(std::array<int, 3> ours)
{
    std::uint64_t locked = locked_kib(space_->owner());
    auto page = map({}, scratch_bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, no_fd, "map a scratch page");
    if (!page)
        return page.error();
    locks_ = future_locks(space_->owner(), locked, *page);
    undone_.insert(undone_.begin(), {*page, scratch_bytes});
    TargetAddr at = *page;
    auto made = call(SYS_socketpair, {AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, at.value},
                     "make a socket");
    if (!made)
        return made.error();
    Scratch scratch{};
    if (!space_->read_value(at, scratch))
        return Error{Code::gone, "it ended"};
    fds_ = {scratch.pair[0], scratch.pair[1]};
    Fd process(static_cast<int>(syscall(SYS_pidfd_open, space_->owner(), 0)));
    Fd end(
        static_cast<int>(syscall(SYS_pidfd_getfd, process.get(), scratch.pair[1], 0)));
    if (!end)
        return errno_error("take a descriptor of it (pidfd_getfd)");
    if (auto sent = send_fds(end.get(), ours); !sent)
        return sent.error();
    auto inside = [at](const void* member, const Scratch& base) {
        return reinterpret_cast<void*>(
            at.value +
            (static_cast<const char*>(member) - reinterpret_cast<const char*>(&base)));
    };
    scratch.data = {inside(&scratch.byte, scratch), 1};
    scratch.message.msg_iov = static_cast<iovec*>(inside(&scratch.data, scratch));
    scratch.message.msg_iovlen = 1;
    scratch.message.msg_control = inside(scratch.control, scratch);
    scratch.message.msg_controllen = sizeof scratch.control;
    if (!space_->write(at, std::as_bytes(std::span(&scratch, 1))))
        return Error{Code::gone, "it ended"};
    auto message = reinterpret_cast<std::uint64_t>(inside(&scratch.message, scratch));
    auto received = call(SYS_recvmsg,
                         {static_cast<std::uint64_t>(scratch.pair[0]), message,
                          MSG_CMSG_CLOEXEC | MSG_DONTWAIT},
                         "receive the arena's descriptors");
    if (!received)
        return received.error();
    std::array<int, 3> theirs{};
    Scratch after{};
    if (!space_->read_value(at, after) || (after.message.msg_flags & MSG_CTRUNC) != 0)
        return Error{Code::unsupported,
                     "receive the arena's descriptors: it may open no "
                     "more files (RLIMIT_NOFILE)"};
    std::memcpy(theirs.data(), after.control + CMSG_LEN(0), sizeof theirs);
    fds_.insert(fds_.end(), theirs.begin(), theirs.end());
    return theirs;
}

bool Agent::Injection::hang_bells(TargetAddr at)
{
    static constexpr std::byte there[bells_bytes]{};
    auto made = call(SYS_userfaultfd, {bells_flags()}, "make a userfaultfd");
    if (!made)
        return false;
    fds_.push_back(static_cast<int>(*made));
    Fd process(static_cast<int>(syscall(SYS_pidfd_open, space_->owner(), 0)));
    Fd own(static_cast<int>(syscall(SYS_pidfd_getfd, process.get(), *made, 0)));
    return own && space_->write(at, there) &&
           space_->runtime.bells.hang(std::move(own), at);
}

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
