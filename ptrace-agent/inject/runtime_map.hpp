// SPDX-License-Identifier: MIT
// The agent's side of a runtime in a target: its config, its site table, its threads.
//
// The config is written here and read there at any time (runtime_config.hpp), so the
// firings of a site are never changed in place: a changed list is a new one.
#pragma once

#include "base/result.hpp"
#include "base/target_addr.hpp"
#include "process/maps.hpp"
#include "ptrace-agent/inject/doorbells.hpp"
#include "ptrace-agent/inject/runtime_config.hpp"
#include "ptrace-agent/runtime/runtime.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace dt::agent {

class RuntimeMap {
public:
    RuntimeMap() = default;
    RuntimeMap(const RuntimeMap&) = delete;
    RuntimeMap& operator=(const RuntimeMap&) = delete;

    // Makes the config; nothing of the target is touched.
    Result<Ok> make(pid_t pid);
    void forget(); // nothing of it is in the target any more
    const dt_rt_config& config() const { return config_.own(); } // our own copy
    RuntimeConfig& writer() { return config_; }
    int read_only_fd() const { return config_.fd(); }
    // Makes threads that leave the runtime wait at its gate.
    void set_gather(bool on) { config_.announce(config().gather, on ? 1 : 0); }

    Doorbells doorbells; // may be none: then asking is a trap

    // Where the target has it, 0: not injected.
    TargetAddr image, arena;
    std::uint64_t image_bytes = 0, region_bytes = 0, arena_bytes = 0;
    bool in_image(TargetAddr at) const
    {
        return image.value != 0 && (at - image < image_bytes || in_code(at));
    }
    bool in_code(TargetAddr at) const
    {
        return image.value != 0 &&
               at - (image + DT_RT_CODE) < std::uint64_t{DT_RT_CODE_BYTES};
    }

    // Where the next so many will be.
    std::array<std::span<std::byte>, 4> room_for(std::size_t n_sites);
    // A site without firings: its number, none when the table is full.
    std::optional<std::uint32_t> add_site(TargetAddr at);
    void set_back(std::uint32_t site, TargetAddr tail);
    // Of a conditional jump, before its firings are set.
    void set_condition(std::uint32_t site, std::uint32_t condition);
    // False: no room. An empty list makes the site inert.
    bool set_firings(std::uint32_t site, std::span<const dt_rt_firing> firings);
    // After set_firings(): the site's one firing is done by compiled code, clause by
    // clause. What it needs to know of the probe is written once in a site's life.
    struct Compiled {
        TargetAddr code;  // 0: the engine's, with all that come after it
        TargetAddr probe; // its struct dt_probe
        std::uint64_t arg0 = 0;
        std::uint32_t epid = 0;
    };
    void set_compiled(std::uint32_t site, std::span<const Compiled> clauses);
    void free_site(std::uint32_t site);

    void add_thread(std::uint64_t fs_base, pid_t tid, pid_t pid);
    // Stops finding a thread by this fs_base until one is added again.
    void retire_thread(std::uint64_t fs_base);
    pid_t tid_of(std::uint64_t fs_base) const; // 0 if unknown

    // Of static probes; those that are there already stay as they are.
    void set_operands(std::span<const dt_operand> all);

    // The memory that can be read now.
    void set_ranges(const std::vector<Mapping>& mappings);
    bool in_ranges(TargetAddr at) const;

    // Rules of the stack; of a full table all others are forgotten first.
    void add_rule(const dt_rt_rule& rule);
    bool has_rule(TargetAddr at) const;
    void forget_rules();

private:
    void set_code(const dt_rt_site& site, std::uint64_t code);
    std::optional<std::uint32_t> list_for(std::uint32_t site,
                                          std::span<const dt_rt_firing> firings);
    bool tell(const dt_rt_site& site, const Compiled& compiled);
    std::optional<std::uint32_t>
    site_behind(std::uint32_t site, const Compiled& compiled, std::uint32_t next);
    std::uint64_t plain_code(const dt_rt_site& site) const;
    const dt_rt_thread* find_slot(std::uint64_t fs_base) const;
    const dt_rt_rule* find_rule(std::uint64_t at) const; // its entry or a free one

    RuntimeConfig config_;
    std::uint32_t n_sites_ = 0, n_firings_ = 0;
    std::size_t n_operands_ = 0;
    std::vector<std::uint32_t> free_sites_;
    std::vector<std::uint32_t> n_listed_; // by site: the length of its list
    std::map<std::uint32_t, std::vector<std::uint32_t>> free_lists_; // by length
    // Sites without a trampoline, by the one that leads to them: they live as long.
    std::map<std::uint32_t, std::vector<std::uint32_t>> behind_;
    std::uint32_t n_threads_ = 0;
    std::vector<const dt_rt_rule*> rules_; // entries in use
};

// While this exists, threads that leave the runtime wait at its gate, where it has one.
class ShutGate {
public:
    explicit ShutGate(RuntimeMap& runtime);
    ~ShutGate();
    ShutGate(const ShutGate&) = delete;
    ShutGate& operator=(const ShutGate&) = delete;

private:
    RuntimeMap& runtime_;
};

} // namespace dt::agent
