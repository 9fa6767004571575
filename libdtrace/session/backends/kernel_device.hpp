// SPDX-License-Identifier: MIT
// The connection to the kernel module: one open file of /dev/dtrace (abi/ioctl.h).
//
// A session in user space changes its own arena with dt_load(), dt_probe_add() and
// dt_ecb_add(). With this device, the module changes the arena, and the session sends
// requests. The consumer drains the mapped arena in both cases. A list, for example of
// sites, is passed in one ioctl(2). Only a very long list of ECBs or sites is split
// into several calls. Closing the file ends the tracing, even if the kernel closes it
// because this process has died.
#pragma once

#include "abi/ioctl.h"
#include "base/fd.hpp"
#include "base/result.hpp"
#include "libdtrace/session/backends/arena_memory.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

class KernelDevice {
public:
    // Opens the device. Errors: not_found if the module is not loaded, permission if
    // the device may not be opened, unsupported if the module has a different version.
    static Result<KernelDevice> open();

    const dtk_info& info() const { return info_; }
    // Creates the module's arena, and maps it. The error is Code::limit if there is not
    // enough memory.
    Result<ArenaMemory> make_arena(const dt_arena_config& config);
    // Loads DOF like dt_load(). Returns 0, or -1 after storing the reason in *error.
    int load(std::span<const std::byte> dof, dt_u32* first_clause, dt_u32* n_clauses,
             dt_load_error* error);
    // Adds n probes. `names` contains four NUL-terminated strings for each probe.
    // Returns how many probes were added.
    Result<std::uint32_t> add_probes(std::string_view names, std::uint32_t n);
    Result<Ok> add_ecbs(std::span<const dtk_ecb> ecbs);
    // Attaches sites. Sets the member `error` of each site to 0 or a negative errno.
    Result<Ok> attach(std::span<dtk_site> sites);
    // Adds a table of unwind rules and returns its number. The error is Code::limit if
    // there is no space for the table.
    Result<std::uint32_t> add_table(std::span<const dtk_unwind_rule> rules);
    // Replaces the list of mappings of a process. The error is Code::gone if there is
    // no such process.
    Result<Ok> set_maps(pid_t pid, std::span<const dtk_unwind_map> maps);
    // Stores the pids of the processes whose mappings the module requests for ustack()
    // (kernel_unwind.hpp). Returns the number of pids stored.
    Result<std::uint32_t> take_unknown(std::span<std::uint32_t> pids);
    Result<Ok> fire(std::uint32_t probe);
    Result<Ok> detach();
    struct Claimed {
        ArenaMemory arena;
        std::vector<std::byte> file; // struct dtk_anonymous
    };
    // Makes this device the consumer of the anonymous enabling. The error is
    // Code::not_found if there is no anonymous enabling.
    Result<Claimed> claim();

private:
    explicit KernelDevice(Fd fd) : fd_(std::move(fd)) {}
    Result<std::uint32_t> give(unsigned long request, const char* doing, const void* at,
                               std::uint64_t bytes, std::uint32_t n);

    Fd fd_;
    dtk_info info_{};
};

} // namespace dt
