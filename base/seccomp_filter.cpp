// SPDX-License-Identifier: MIT
#include "base/seccomp_filter.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace dt {

SeccompFilter::SeccompFilter(std::uint32_t otherwise)
    : filter_(seccomp_init(otherwise)), failed_(filter_ ? 0 : -ENOMEM)
{
}

void SeccompFilter::add(std::uint32_t action, int call,
                        std::initializer_list<scmp_arg_cmp> conditions)
{
    if (failed_ == 0)
        failed_ = seccomp_rule_add_array(filter_.get(), action, call,
                                         static_cast<unsigned>(conditions.size()),
                                         conditions.begin());
}

void SeccompFilter::permit(int call, std::initializer_list<scmp_arg_cmp> conditions)
{
    add(SCMP_ACT_ALLOW, call, conditions);
}

void SeccompFilter::trap(int call, std::initializer_list<scmp_arg_cmp> conditions)
{
    add(SCMP_ACT_TRAP, call, conditions);
}

void SeccompFilter::fail(int call, std::uint16_t error)
{
    add(SCMP_ACT_ERRNO(error), call, {});
}

Result<Ok> SeccompFilter::load()
{
    if (failed_ == 0)
        failed_ = seccomp_load(filter_.get());
    if (failed_ != 0)
        return errno_error("load the seccomp filter", -failed_);
    return Ok{};
}

Result<Ok> keep_capabilities(std::uint64_t kept)
{
    constexpr unsigned word_bits = 32;
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
    if (::syscall(SYS_capget, &header, sets.data()) != 0)
        return errno_error("capget");
    for (std::size_t i = 0; i < sets.size(); i++) {
        sets[i].permitted &= static_cast<std::uint32_t>(kept >> (word_bits * i));
        sets[i].effective = sets[i].permitted;
        sets[i].inheritable = 0;
    }
    if (::syscall(SYS_capset, &header, sets.data()) != 0)
        return errno_error("capset");
    return Ok{};
}

void close_standard_descriptors()
{
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int standard : {0, 1, 2})
        ::dup2(null, standard);
    if (null > 2)
        ::close(null);
}

int own_descriptor(std::string_view path)
{
    constexpr std::string_view folder = "/proc/self/fd/";
    if (!path.starts_with(folder))
        return -1;
    path.remove_prefix(folder.size());
    int fd = -1;
    auto [end, failed] = std::from_chars(path.data(), path.data() + path.size(), fd);
    return failed == std::errc() && end == path.data() + path.size() ? fd : -1;
}

void close_between(unsigned first, unsigned last)
{
    if (first > last || ::close_range(first, last, 0) == 0)
        return;
    // Before Linux 5.9
    const long most = ::sysconf(_SC_OPEN_MAX);
    last = std::min(last, most > 0 ? static_cast<unsigned>(most) - 1 : 65535U);
    for (unsigned fd = first; fd <= last; fd++)
        ::close(static_cast<int>(fd));
}

} // namespace dt
