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
#include <set>
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
    TargetAddr image;
    std::uint64_t image_bytes = 0, region_bytes = 0;
    // Returns whether the address is in the runtime's code, in compiled code, or in a
    // link.
    bool in_image(TargetAddr at) const
    {
        return image.value != 0 &&
               (at - image < image_bytes || in_code(at) || in_links(at));
    }
    bool in_code(TargetAddr at) const
    {
        return image.value != 0 &&
               at - (image + DT_RT_CODE) < std::uint64_t{DT_RT_CODE_BYTES};
    }

    // The memory of one session in the target: its stacks and its arena.
    struct SessionMemory {
        TargetAddr at;
        std::uint64_t bytes = 0;
        TargetAddr arena;
        unsigned generation = 0; // ArenaMap::generation()
        // The session has ended, but a thread may still be in its memory.
        bool left = false;
    };
    const std::map<unsigned, SessionMemory>& sessions() const { return sessions_; }
    bool has_session(unsigned session) const { return sessions_.count(session) != 0; }
    // Returns the numbers of the stacks for a session that wants n_shards stacks. There
    // may be fewer than n_shards, or none if all stacks are in use.
    struct Stacks {
        std::uint32_t first = 0, n = 0;
    };
    Stacks free_stacks(std::uint32_t n_shards) const;
    // Lets sites of the session fire. The target must have mapped its memory.
    void add_session(unsigned session, const SessionMemory& memory,
                     const dt_rt_session& entry);
    // Called when no thread can be in the session's memory any more.
    void remove_session(unsigned session);
    void set_left(unsigned session, bool left) { sessions_[session].left = left; }
    // Returns the session that the stack at this address belongs to, or null.
    const dt_rt_session* session_at(TargetAddr stack) const;
    // Returns the address of the lowest byte of a stack, or nothing if no session uses
    // the stack. `stack` is a number in the bells.
    std::optional<TargetAddr> stack(std::uint32_t stack) const;
    unsigned session_of(std::uint32_t site) const
    {
        return config().sites[site].session;
    }

    // Links lead from one site to the next (DT_RT_LINKS).
    bool has_links = false; // the target has mapped the memory for links
    bool in_links(TargetAddr at) const
    {
        return has_links && at - (image + DT_RT_LINKS) < links_bytes;
    }
    // Returns the site to which a link leads.
    std::uint32_t linked_site(TargetAddr at) const
    {
        return static_cast<std::uint32_t>((at - (image + DT_RT_LINKS)) /
                                          DT_RT_LINK_BYTES);
    }
    // Returns the address of the link to a site. Writes the link if necessary. Returns
    // nothing if it cannot be written.
    std::optional<TargetAddr> link_to(AddressSpace& space, std::uint32_t site);
    // Makes a site inert. free_retired() allows its number to be used again.
    void retire_site(std::uint32_t site);
    // Called when no thread is in our code.
    void free_retired();

    // Returns the memory for the next n_sites sites and their lists of probes, so that
    // the caller can prefault it. The memory is in both copies of the config.
    std::array<std::span<std::byte>, 4> room_for(std::size_t n_sites);
    // Adds an inert site of a session. Returns its number, or nothing if the table is
    // full.
    std::optional<std::uint32_t> add_site(TargetAddr at, unsigned session);
    // Moves an inert site to another session. No thread may be in our code.
    void move_site(std::uint32_t site, unsigned session);
    // Sets the address to which the runtime returns: the trampoline's tail, or a link.
    void set_back(std::uint32_t site, TargetAddr back);
    // Sets the condition of a site's conditional jump (dt_rt_site::taken). Return
    // probes fire only if the condition is true. Must be called before set_firings().
    void set_condition(std::uint32_t site, std::uint32_t condition);
    // Sets the list of probes that fire at a site (struct dt_rt_firing). An empty list
    // makes the site inert. Returns false if the table of these lists is full.
    bool set_firings(std::uint32_t site, std::span<const dt_rt_firing> firings);
    // Returns the index of the table of a session's probes at instructions that can make
    // any system call (DT_RT_ANY_SYSCALL). `kind` is that of the sites, and `firings`
    // are the probes; their arg0 is the number of the call. Returns nothing if the table
    // of firings is full.
    std::optional<std::uint32_t> call_table(unsigned session, dt_rt_kind kind,
                                            std::span<const dt_rt_firing> firings);
    // Allows the tables of a session to be used again. No site may use them.
    void free_call_tables(unsigned session);
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
    void free_lists_of(std::uint32_t site);
    std::optional<std::uint32_t> take_firings(std::uint32_t n);
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

    static constexpr std::uint64_t links_bytes = DT_RT_MAX_SITES * DT_RT_LINK_BYTES;

    RuntimeConfig config_;
    std::map<unsigned, SessionMemory> sessions_;
    std::set<std::uint32_t> written_links_; // numbers of pages of links
    std::vector<std::uint32_t> retired_;
    std::uint32_t n_sites_ = 0, n_firings_ = 0;
    std::size_t n_operands_ = 0;
    std::vector<std::uint32_t> free_sites_;
    std::vector<std::uint32_t> n_listed_; // the length of each site's firing list
    std::map<std::uint32_t, std::vector<std::uint32_t>>
        free_lists_; // unused firing lists; key: length
    std::map<std::pair<unsigned, dt_rt_kind>, std::uint32_t> call_tables_;
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
