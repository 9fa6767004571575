// SPDX-License-Identifier: MIT
// The connection to the kernel module: one open file of /dev/dtrace (abi/ioctl.h).
//
// The module owns the arena and changes it on request. The consumer maps the arena and
// drains it. Tracing ends when the file is closed. The kernel closes the file if this
// process dies.
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
    // Opens the device. Errors: Code::not_found if the module is not loaded,
    // Code::permission if the device may not be opened, Code::unsupported if the module
    // has a different version.
    static Result<KernelDevice> open();

    const dtk_info& info() const { return info_; }
    // Creates and maps the module's arena. Returns Code::limit if there is not enough
    // memory.
    Result<ArenaMemory> make_arena(const dt_arena_config& config);
    // Loads DOF like dt_load(). Returns 0, or -1 with the reason in *error.
    int load(std::span<const std::byte> dof, dt_u32* first_clause, dt_u32* n_clauses,
             dt_load_error* error);
    // Adds n probes, each with four NUL-terminated strings in `names`. Returns how many
    // were added.
    Result<std::uint32_t> add_probes(std::string_view names, std::uint32_t n);
    Result<Ok> add_ecbs(std::span<const dtk_ecb> ecbs);
    // Sets the member `error` of each site to 0 or a negative errno.
    Result<Ok> attach(std::span<dtk_site> sites);
    // Adds a table of unwind rules and returns its number. Returns Code::limit if there
    // is no space.
    Result<std::uint32_t> add_table(std::span<const dtk_unwind_rule> rules);
    // Replaces a process's list of mappings. Returns Code::gone if the process does not
    // exist.
    Result<Ok> set_maps(pid_t pid, std::span<const dtk_unwind_map> maps);
    // Stores the pids of processes whose mappings the module requests
    // (kernel_unwind.hpp). Returns their number.
    Result<std::uint32_t> take_unknown(std::span<std::uint32_t> pids);
    Result<Ok> fire(std::uint32_t probe);
    Result<Ok> detach();
    struct Claimed {
        ArenaMemory arena;
        std::vector<std::byte> file; // struct dtk_anonymous
    };
    // Makes this device the consumer of the anonymous enabling. Returns Code::not_found
    // if there is no anonymous enabling.
    Result<Claimed> claim();

private:
    explicit KernelDevice(Fd fd) : fd_(std::move(fd)) {}
    Result<std::uint32_t> give(unsigned long request, const char* doing, const void* at,
                               std::uint64_t bytes, std::uint32_t n);

    Fd fd_;
    dtk_info info_{};
};

} // namespace dt
