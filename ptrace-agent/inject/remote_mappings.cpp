// SPDX-License-Identifier: MIT
// Makes system calls in a target and sends it descriptors, through a socket pair that
// the target creates. The agent copies both ends of the pair (pidfd_getfd).
//
// socketpair(2) and recvmsg(2) write descriptor numbers into the target's memory, where
// another process may change them. So the agent does not read these numbers. The kernel
// allocates the lowest free numbers, so the agent can predict them. It then copies each
// descriptor and checks that the descriptor refers to the expected file.
#include "ptrace-agent/inject/remote_mappings.hpp"

#include "base/fd_message.hpp"
#include "base/page_bytes.hpp"
#include "base/pidfd.hpp"
#include "process/maps.hpp"
#include "process/proc_files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace dt::agent {

constexpr std::uint64_t scratch_bytes = 4096;

// The contents of the target's scratch page: the arguments of recvmsg(2).
struct Scratch {
    int pair[2]; // written by socketpair(2), never read
    std::uint64_t number;
    iovec data;
    msghdr message;
    alignas(8) char control[CMSG_SPACE(3 * sizeof(int))];
};
static_assert(sizeof(Scratch) <= scratch_bytes);

RemoteMappings::~RemoteMappings()
{
    close_descriptors();
    for (auto [at, bytes] : undone_)
        if (Thread* thread = tracees_.find_thread(tid_))
            injector_.unmap_ours(*thread, at, bytes);
    if (locks_ == FutureLocks::at_once)
        (void)call(SYS_mlockall, {MCL_FUTURE});
}

// Turns a negative errno value into an Error.
static Result<std::uint64_t> checked(Result<std::uint64_t> value, const char* step)
{
    if (!value || *value <= ~4095ull)
        return value;
    return Error{Code::unsupported,
                 std::string(step) + ": " + std::strerror(-static_cast<int>(*value)),
                 -static_cast<int>(*value)};
}

Result<std::uint64_t>
RemoteMappings::call(long number, std::array<std::uint64_t, 6> args, const char* step)
{
    Thread* thread = tracees_.find_thread(tid_);
    if (thread == nullptr)
        return Error{Code::gone, "it ended"};
    return checked(injector_.call(*thread, number, args), step);
}

Result<TargetAddr> RemoteMappings::map(TargetAddr at, std::uint64_t bytes,
                                       int protection, int flags, int fd,
                                       const char* step)
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

// Returns an address for a region. The region is at least 16 GiB below the highest text
// of a file, or below the previous region. Returns 0 if there is not enough space.
// Addresses near the text are left free for trampolines.
TargetAddr RemoteMappings::far_from_text(std::uint64_t bytes)
{
    constexpr std::uint64_t distance = 16ull << 30;
    const std::vector<Mapping> mappings = mappings_of(space_->proc_tid());
    if (far_.value == 0) {
        for (const Mapping& m : mappings)
            if (m.executable && !m.path.empty() && m.path[0] == '/')
                far_ = m.begin; // the last mapping in the loop is the highest
    }
    if (far_.value <= distance + bytes)
        return {};
    far_ = TargetAddr{(far_.value - distance - bytes) & ~(page_bytes - 1)};
    // A region of a killed agent may be here. The kernel merges adjacent mappings, so
    // pages between the regions stay free.
    for (auto m = mappings.rbegin(); m != mappings.rend(); ++m) {
        if (m->end.value + page_bytes <= far_.value)
            break;
        if (m->begin.value >= far_.value + bytes + page_bytes)
            continue;
        if (m->begin.value <= bytes + 2 * page_bytes)
            return {};
        far_ =
            TargetAddr{(m->begin.value - bytes - 2 * page_bytes) & ~(page_bytes - 1)};
    }
    return far_;
}

Result<TargetAddr> RemoteMappings::map_ours(const OurMapping& wanted, const char* step)
{
    Thread* thread = tracees_.find_thread(tid_);
    if (thread == nullptr)
        return Error{Code::gone, "it ended"};
    auto at = checked(injector_.map_ours(*thread, wanted), step);
    if (!at)
        return at.error();
    return TargetAddr{*at};
}

Result<TargetAddr> RemoteMappings::reserve(Ours kind, std::uint64_t bytes,
                                           std::uint64_t n_inherited, const char* step)
{
    auto at = map_ours({kind, far_from_text(bytes), bytes, PROT_NONE, MAP_NORESERVE,
                        false, n_inherited},
                       step);
    if (at)
        undone_.emplace_back(*at, bytes);
    return at;
}

Result<Ok> RemoteMappings::defer_locks()
{
    if (locks_ != FutureLocks::at_once)
        return Ok{};
    auto deferred = call(SYS_mlockall, {MCL_FUTURE | MCL_ONFAULT},
                         "defer the locking of new mappings (mlockall)");
    if (!deferred)
        return deferred.error();
    return Ok{};
}

void RemoteMappings::own(TargetAddr at, std::uint64_t bytes)
{
    if (locks_ != FutureLocks::none)
        (void)call(SYS_munlock, {at.value, bytes});
    (void)call(SYS_madvise, {at.value, bytes, MADV_DONTDUMP});
}

static Error tampering_error()
{
    return Error{Code::unsupported,
                 "a new descriptor in the target is not the expected file: another "
                 "process changed the target's memory or descriptors"};
}

static bool same_file(int a, int b)
{
    struct stat here {
    }, there{};
    return fstat(a, &here) == 0 && fstat(b, &there) == 0 &&
           here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

static bool is_socket(const Fd& fd)
{
    struct stat info {};
    return fd && fstat(fd.get(), &info) == 0 && S_ISSOCK(info.st_mode);
}

// Returns whether the next message at this end of the socket pair is this random
// number. If so, both ends belong to the same pair.
static bool arrives(int socket, std::uint64_t number)
{
    std::uint64_t received = 0;
    return recv(socket, &received, sizeof received, MSG_PEEK | MSG_DONTWAIT) ==
               static_cast<ssize_t>(sizeof received) &&
           received == number;
}

// Sends the descriptors in a message that consists of the number.
static Result<Ok> send_fds(int socket, const std::array<int, 3>& fds,
                           std::uint64_t number)
{
    if (send_with_fds(socket, std::as_bytes(std::span(&number, 1)), fds,
                      MSG_DONTWAIT) != static_cast<ssize_t>(sizeof number))
        return errno_error("send the arena's descriptors");
    return Ok{};
}

Result<std::array<int, 3>> RemoteMappings::send(std::array<int, 3> agent_fds)
{
    std::uint64_t locked = locked_kib(space_->owner());
    auto page = map_ours({Ours::page, {}, scratch_bytes, PROT_READ | PROT_WRITE},
                         "map a scratch page");
    if (!page)
        return page.error();
    locks_ = future_locks(space_->owner(), locked, *page);
    undone_.insert(undone_.begin(), {*page, scratch_bytes});
    TargetAddr at = *page;
    auto numbers = free_numbers<2>();
    if (!numbers)
        return numbers.error();
    auto made = call(SYS_socketpair, {AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, at.value},
                     "create a socket");
    if (!made)
        return made.error();
    const auto [far_number, near_number] = *numbers;
    Fd far_end = take(far_number), near_end = take(near_number);
    if (!near_end)
        return errno_error("copy a descriptor from the target (pidfd_getfd)");
    if (!is_socket(far_end) || !is_socket(near_end))
        return tampering_error();
    std::uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number))
        return errno_error("generate a random number");
    if (auto sent = send_fds(near_end.get(), agent_fds, number); !sent)
        return sent.error();
    if (!arrives(far_end.get(), number))
        return tampering_error();
    fds_ = {far_number, near_number};
    auto target_fds = free_numbers<3>();
    if (!target_fds)
        return target_fds.error();
    Scratch scratch{};
    auto inside = [at](const void* member, const Scratch& base) {
        return reinterpret_cast<void*>(
            at.value +
            (static_cast<const char*>(member) - reinterpret_cast<const char*>(&base)));
    };
    scratch.data = {inside(&scratch.number, scratch), sizeof scratch.number};
    scratch.message.msg_iov = static_cast<iovec*>(inside(&scratch.data, scratch));
    scratch.message.msg_iovlen = 1;
    scratch.message.msg_control = inside(scratch.control, scratch);
    scratch.message.msg_controllen = sizeof scratch.control;
    if (!space_->write(at, std::as_bytes(std::span(&scratch, 1))))
        return Error{Code::gone, "it ended"};
    auto message = reinterpret_cast<std::uint64_t>(inside(&scratch.message, scratch));
    auto received = call(SYS_recvmsg,
                         {static_cast<std::uint64_t>(far_number), message,
                          MSG_CMSG_CLOEXEC | MSG_DONTWAIT},
                         "receive the arena's descriptors");
    if (!received)
        return received.error();
    for (std::size_t i = 0; i < agent_fds.size(); ++i) {
        Fd taken = take((*target_fds)[i]);
        if (!taken || !same_file(taken.get(), agent_fds[i]))
            return tampering_error();
        fds_.push_back((*target_fds)[i]);
    }
    return target_fds;
}

// Closes the descriptors of fds_ in the target, with one call for consecutive numbers.
void RemoteMappings::close_descriptors()
{
    std::sort(fds_.begin(), fds_.end());
    for (auto first = fds_.begin(), end = first; first != fds_.end(); first = end) {
        for (end = first + 1; end != fds_.end() && *end == *(end - 1) + 1;)
            ++end;
        const auto lowest = static_cast<std::uint64_t>(*first),
                   highest = static_cast<std::uint64_t>(*(end - 1));
        if (lowest != highest && call(SYS_close_range, {lowest, highest, 0}))
            continue;
        // There is one descriptor, or the kernel is older than Linux 5.9.
        for (std::uint64_t fd = lowest; fd <= highest; fd++)
            (void)call(SYS_close, {fd});
    }
    fds_.clear();
}

// Returns the lowest n numbers that are not descriptors of the process. Returns nullopt
// if the list of descriptors cannot be read, or is so long that system calls in the
// target find the numbers faster.
template <std::size_t n>
static std::optional<std::array<int, n>> unused_numbers(pid_t pid)
{
    constexpr int longest = 256;
    const std::unique_ptr<DIR, int (*)(DIR*)> list(
        ::opendir(proc_path(pid, "fd").c_str()), ::closedir);
    if (!list)
        return std::nullopt;
    std::array<int, n> numbers{};
    std::size_t n_found = 0;
    int next = 0; // no smaller number is unknown
    // The kernel lists the descriptors in ascending order.
    while (const dirent* entry = n_found < n ? ::readdir(list.get()) : nullptr) {
        if (entry->d_name[0] == '.')
            continue;
        const int used = std::atoi(entry->d_name);
        for (; next < used && n_found < n; next++)
            numbers[n_found++] = next;
        next = used + 1;
        if (next > longest)
            return std::nullopt;
    }
    for (; n_found < n; next++)
        numbers[n_found++] = next;
    return numbers;
}

static Error too_many_files()
{
    return Error{Code::unsupported,
                 "receive the arena's descriptors: the target cannot open more files "
                 "(RLIMIT_NOFILE)"};
}

// Returns the numbers that the target's next n descriptors will have, provided that no
// other thread creates or closes descriptors.
template <std::size_t n> Result<std::array<int, n>> RemoteMappings::free_numbers()
{
    rlimit limit{};
    if (::prlimit(pid_, RLIMIT_NOFILE, nullptr, &limit) == 0)
        if (const auto unused = unused_numbers<n>(pid_)) {
            if (static_cast<rlim_t>(unused->back()) >= limit.rlim_cur)
                return too_many_files();
            return *unused;
        }
    std::array<int, n> numbers{};
    Result<std::uint64_t> made = std::uint64_t{0};
    std::size_t n_made = 0;
    for (; n_made < n; ++n_made) {
        made = n_made == 0
                   ? call(SYS_socket, {AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC},
                          "create a socket")
                   : call(SYS_fcntl,
                          {static_cast<std::uint64_t>(numbers[0]), F_DUPFD_CLOEXEC},
                          "create a descriptor");
        if (!made)
            break;
        numbers[n_made] = static_cast<int>(*made);
    }
    for (std::size_t i = 0; i < n_made; ++i)
        (void)call(SYS_close, {static_cast<std::uint64_t>(numbers[i])});
    if (made)
        return numbers;
    return made.error().sys == EMFILE ? too_many_files() : made.error();
}

Fd RemoteMappings::take(int fd)
{
    if (!process_)
        process_ = open_pidfd(pid_);
    return Fd(static_cast<int>(syscall(SYS_pidfd_getfd, process_.get(), fd, 0)));
}

// Returns whether the descriptor is a userfaultfd. On another file, ioctl(2) could
// block forever or have an arbitrary effect.
static bool is_userfaultfd(const Fd& fd)
{
    return fd && read_proc_link(getpid(), "fd/" + std::to_string(fd.get())) ==
                     "anon_inode:[userfaultfd]";
}

bool RemoteMappings::hang_bells(TargetAddr at)
{
    // Writing these zeros makes the pages present, as Doorbells::arm() requires.
    static constexpr std::byte zeros[bells_bytes]{};
    auto made = call(SYS_userfaultfd, {userfault_flags()}, "create a userfaultfd");
    if (!made)
        return false;
    fds_.push_back(static_cast<int>(*made));
    Fd taken = take(static_cast<int>(*made));
    return is_userfaultfd(taken) && space_->write(at, zeros) &&
           space_->runtime.doorbells.arm(std::move(taken), at);
}

} // namespace dt::agent
