// SPDX-License-Identifier: MIT
// Builds a seccomp filter for the calling process, and takes other rights from the
// process. Code that handles hostile input runs in such a process.
//
// A filter has three actions. Permitted calls are executed. Trapped calls raise SIGSYS,
// and a handler of the process may emulate them. All other calls have the default
// action.
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <seccomp.h>
#include <string_view>

namespace dt {

// Whether the program is built with AddressSanitizer, which makes system calls that a
// filter would refuse.
#ifdef __SANITIZE_ADDRESS__
constexpr bool has_sanitizer = true;
#else
constexpr bool has_sanitizer = false;
#endif

class SeccompFilter {
public:
    // `otherwise` is the default action, for example SCMP_ACT_KILL_PROCESS.
    explicit SeccompFilter(std::uint32_t otherwise);
    // Permits a call. If there are conditions, all of them must be true.
    void permit(int call, std::initializer_list<scmp_arg_cmp> conditions = {});
    void trap(int call, std::initializer_list<scmp_arg_cmp> conditions = {});
    // Lets a call fail with an errno.
    void fail(int call, std::uint16_t error);
    // Sets no_new_privs, and activates the filter for the calling thread and for the
    // threads and processes that it creates later. Returns the first error of any call.
    Result<Ok> load();

private:
    void add(std::uint32_t action, int call,
             std::initializer_list<scmp_arg_cmp> conditions);
    struct End {
        void operator()(void* filter) const { seccomp_release(filter); }
    };
    std::unique_ptr<void, End> filter_;
    int failed_ = 0; // a negated errno
};

// Gives up all capabilities except those in the set. Bit n is capability n.
Result<Ok> keep_capabilities(std::uint64_t kept);
// Replaces the standard descriptors with /dev/null.
void close_standard_descriptors();
// Returns the number N of "/proc/self/fd/N". Returns -1 for other paths.
int own_descriptor(std::string_view path);
// Closes the descriptors from `first` to `last`.
void close_between(unsigned first, unsigned last);

} // namespace dt
