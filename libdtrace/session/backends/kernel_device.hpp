// SPDX-License-Identifier: MIT
// The kernel module's side of a session: one open file of /dev/dtrace (abi/ioctl.h).
//
// What a session in user space does in its own arena by dt_load(), dt_probe_add() and
// dt_ecb_add(), the module does here; draining is the same, in the mapped arena. Lists go
// over in one call each. Closing the file ends everything, whoever dies.
#pragma once

#include "base/fd.hpp"
#include "base/result.hpp"
#include "abi/ioctl.h"
#include "libdtrace/session/backends/arena_memory.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

class KernelDevice {
public:
    // not_found: the module is not loaded; permission; unsupported: it is of another version.
    static Result<KernelDevice> open();

    const dtk_info& info() const { return info_; }
    // limit: there is no memory for it.
    Result<ArenaMemory> make_arena(const dt_arena_config& config);
    // As dt_load(): 0, or -1 and the error.
    int load(std::span<const std::byte> dof, dt_u32* first_clause, dt_u32* n_clauses,
             dt_load_error* error);
    // names: four texts for each probe, each with its NUL. How many were added.
    Result<std::uint32_t> add_probes(std::string_view names, std::uint32_t n);
    Result<Ok> add_ecbs(std::span<const dtk_ecb> ecbs);
    // Sets each one's error.
    Result<Ok> attach(std::span<dtk_site> sites);
    // Its number. limit: there is no room for it.
    Result<std::uint32_t> add_table(std::span<const dtk_unwind_rule> rules);
    // Instead of those that it had. gone: there is no such process.
    Result<Ok> set_maps(pid_t pid, std::span<const dtk_unwind_map> maps);
    // How many were stored.
    Result<std::uint32_t> strangers(std::span<std::uint32_t> pids);
    Result<Ok> fire(std::uint32_t probe);
    Result<Ok> detach();
    // From here on this device is the anonymous consumer. not_found: there is none.
    struct Claimed {
        ArenaMemory arena;
        std::vector<std::byte> file; // struct dtk_anonymous
    };
    Result<Claimed> claim();

private:
    explicit KernelDevice(Fd fd) : fd_(std::move(fd)) {}
    Result<std::uint32_t> give(unsigned long request, const char* doing, const void* at,
                               std::uint64_t bytes, std::uint32_t n);

    Fd fd_;
    dtk_info info_{};
};

} // namespace dt
