// SPDX-License-Identifier: MIT
#include "ptrace-agent/inject/doorbells.hpp"

#include "base/clock_ns.hpp"
#include "ptrace-agent/wire/mailbox.hpp"

#include <cerrno>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

// Older kernel headers lack these constants.
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef UFFD_FEATURE_EXACT_ADDRESS
#define UFFD_FEATURE_EXACT_ADDRESS (1 << 11)
#endif

namespace dt::agent {

constexpr std::uint32_t n_pages = DT_RT_N_BELLS + 1;

std::uint64_t userfault_flags()
{
    return O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY;
}

Result<Ok> Doorbells::arm(Fd userfault, TargetAddr at)
{
    fd_ = std::move(userfault);
    at_ = at;
    tampered_ = false;
    uffdio_api api{};
    api.api = UFFD_API;
    api.features = UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_THREAD_ID |
                   UFFD_FEATURE_EXACT_ADDRESS;
    uffdio_register pages{};
    pages.range = {at.value, n_pages * DT_RT_BELL_BYTES};
    pages.mode = UFFDIO_REGISTER_MODE_WP;
    if (ioctl(fd_.get(), UFFDIO_API, &api) != 0 ||
        ioctl(fd_.get(), UFFDIO_REGISTER, &pages) != 0 || !protect(0, true) ||
        !protect(1, true)) {
        auto error = errno_error("protect the runtime's doorbells (userfaultfd)");
        fd_.reset();
        return error;
    }
    Mailbox::ring_for(fd_.get());
    return Ok{};
}

bool Doorbells::protect(std::uint32_t bell, bool on)
{
    uffdio_writeprotect page{};
    page.range = {at_.value + bell * DT_RT_BELL_BYTES, DT_RT_BELL_BYTES};
    page.mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0;
    return ioctl(fd_.get(), UFFDIO_WRITEPROTECT, &page) == 0;
}

void Doorbells::give_up()
{
    tampered_ = true;
    protect(0, false);
    protect(1, false);
}

// Reads one message without waiting. Returns false if no message has arrived.
//
// Another process may have made the descriptor blocking. poll(2) usually detects this.
// If it does not, the read may block until a timer interrupts it. In both cases the
// agent stops using the doorbells.
bool Doorbells::read_message(uffd_msg& message)
{
    constexpr int longest_read_ms = 50;
    bool was_interrupted = false;
    pollfd ready{fd_.get(), POLLIN, 0};
    if (!fd_ || tampered_ || poll(&ready, 1, 0) <= 0)
        return false;
    ssize_t n = -1;
    const bool blocks = (ready.revents & POLLIN) == 0;
    if (!blocks) {
        const std::uint64_t end_ns = monotonic_ns() + longest_read_ms * 1'000'000;
        Mailbox::interrupt_every_ms(longest_read_ms);
        // Another signal may interrupt the read before the timer does, so the read is
        // repeated.
        do
            n = read(fd_.get(), &message, sizeof message);
        while (n < 0 && errno == EINTR && monotonic_ns() < end_ns);
        was_interrupted = n < 0 && errno == EINTR;
        Mailbox::interrupt_every_ms(0);
    }
    if (blocks || was_interrupted)
        give_up();
    return n == static_cast<ssize_t>(sizeof message);
}

std::optional<Ring> Doorbells::next()
{
    uffd_msg message{};
    while (read_message(message)) {
        std::uint64_t offset = message.arg.pagefault.address - at_.value;
        if (message.event != UFFD_EVENT_PAGEFAULT ||
            offset >= n_pages * DT_RT_BELL_BYTES)
            continue;
        Ring ring{};
        ring.bell = static_cast<std::uint32_t>(offset / DT_RT_BELL_BYTES);
        ring.stack =
            static_cast<std::uint32_t>(offset % DT_RT_BELL_BYTES / DT_RT_BELL_WORD(1));
        ring.tid = static_cast<pid_t>(message.arg.pagefault.feat.ptid);
        return ring;
    }
    return std::nullopt;
}

void Doorbells::release(std::uint32_t bell)
{
    if (!fd_)
        return;
    protect(bell ^ 1, true);
    protect(bell, false);
}

} // namespace dt::agent
