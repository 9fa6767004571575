// SPDX-License-Identifier: MIT
// The agent's data about the runtime in a target: addresses, config, site table,
// threads.
//
// The agent writes the config while threads read it (runtime_config.hpp). So a site's
// list of probes is never changed in place. A new list replaces it.
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
#include <string>
#include <unordered_map>
#include <vector>

namespace dt::agent {

class AddressSpace;

class RuntimeMap {
public:
    RuntimeMap() = default;
    RuntimeMap(const RuntimeMap&) = delete;
    RuntimeMap& operator=(const RuntimeMap&) = delete;

    // Creates the config. Does not change the target.
    Result<Ok> make(pid_t pid);
    void forget(); // called when the runtime is no longer in the target
    // Why the runtime cannot be loaded, or empty. forget() does not clear the reason.
    std::string refusal;
    const dt_rt_config& config() const { return config_.own(); }
    RuntimeConfig& writer() { return config_; }
    int read_only_fd() const { return config_.fd(); }
    // If `on` is true, threads that leave the runtime wait at the gate (doorbells.hpp).
    // Otherwise they pass the gate.
    void set_gather(bool on) { config_.announce(config().gather, on ? 1 : 0); }

    Doorbells doorbells; // if they are not armed, the runtime makes upcalls with a trap

    // Enables or disables the runtime's probes in this process, but not in its forked
    // children. Returns false if the process has exited.
    bool let_fire(AddressSpace& space, bool on) const;
    // Gives the runtime the offset of errno, relative to a thread's fs_base. Before
    // this call, the runtime makes upcalls for errno. Does nothing if the runtime is
    // not loaded.
    void learn_errno(std::int64_t offset);
    // The threads that may share one fs_base.
    struct SharedBase {
        std::vector<pid_t> tids;
        std::uint32_t n_asked = 0; // upcalls that requested a thread's identity
    };
    std::unordered_map<std::uint64_t, SharedBase> shared_bases; // key: fs_base

    // Addresses in the target; 0 if the runtime is not loaded.
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

    // Returns the memory for the next n_sites sites and their lists of probes, so that
    // the caller can prefault it. The memory is in both copies of the config.
    std::array<std::span<std::byte>, 4> room_for(std::size_t n_sites);
    // Adds an inert site. Returns its number, or nothing if the table is full.
    std::optional<std::uint32_t> add_site(TargetAddr at);
    // Sets the address of the trampoline's tail, to which the runtime returns.
    void set_back(std::uint32_t site, TargetAddr tail);
    // Sets the condition of a site's conditional jump (dt_rt_site::taken). Return
    // probes fire only if the condition is true. Must be called before set_firings().
    void set_condition(std::uint32_t site, std::uint32_t condition);
    // Sets the list of probes that fire at a site (struct dt_rt_firing). An empty list
    // makes the site inert. Returns false if the table of these lists is full.
    bool set_firings(std::uint32_t site, std::span<const dt_rt_firing> firings);
    // Makes compiled code, instead of the engine, fire the only probe of a site.
    // `clauses` has one element for each clause. Must be called after set_firings().
    // Does nothing if the site has had compiled code for another probe since
    // add_site().
    struct Compiled {
        TargetAddr code;  // if 0, the engine executes this clause and all later ones
        TargetAddr probe; // the struct dt_probe of the clause's probe
        std::uint64_t arg0 = 0;
        std::uint32_t epid = 0;
    };
    void set_compiled(std::uint32_t site, std::span<const Compiled> clauses);
    // Makes a site inert, and allows its number to be used again.
    void free_site(std::uint32_t site);

    // Lets the runtime find this thread by its fs_base.
    void add_thread(std::uint64_t fs_base, pid_t tid, pid_t pid);
    // Removes the thread with this fs_base from the runtime's table. add_thread() can
    // add the fs_base again.
    void retire_thread(std::uint64_t fs_base);
    pid_t tid_of(std::uint64_t fs_base) const; // 0 if unknown

    // Adds operands of static probes to the table. Existing entries do not change.
    void set_operands(std::span<const dt_operand> all);

    // Sets the ranges of memory that the runtime regards as readable.
    void set_ranges(const std::vector<Mapping>& mappings);
    bool in_ranges(TargetAddr at) const;

    // Adds a rule for walking the stack. Removes all older rules first if the table is
    // full.
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
    // Returns the rule for this address, or else a free entry for it. Returns null if
    // no entry is free.
    const dt_rt_rule* find_rule(std::uint64_t at) const;

    RuntimeConfig config_;
    std::uint32_t n_sites_ = 0, n_firings_ = 0;
    std::size_t n_operands_ = 0;
    std::vector<std::uint32_t> free_sites_;
    std::vector<std::uint32_t> n_listed_; // the length of each site's firing list
    std::map<std::uint32_t, std::vector<std::uint32_t>>
        free_lists_; // unused firing lists; key: length
    // The additional sites for the second and later clauses of a probe. The key is the
    // site that has the trampoline. free_site() frees all of them together.
    std::map<std::uint32_t, std::vector<std::uint32_t>> behind_;
    std::uint32_t n_threads_ = 0;
    std::vector<const dt_rt_rule*> rules_; // entries of the rule table that are in use
};

// Threads that leave the runtime wait at its gate while this object exists. Has no
// effect without doorbells.
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
