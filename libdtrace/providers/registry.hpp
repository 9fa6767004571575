// SPDX-License-Identifier: MIT
// All probes of a session, numbered from 1 in the order of their creation. BEGIN, END
// and ERROR are 1, 2 and 3.
//
//   Provider --creates--> ProbeInfo (Registry) --dtrace_go--> probe table of the arena
//
// Probes are never removed, so ids are the same here and in the arena. When a process
// exits, its probes are recycled: a later process with the same functions reuses them.
// A recycled probe keeps its id and its ECBs. Only its provider is renamed. Recycling
// is limited to kin, that is, processes that the same descriptions match.
#pragma once

#include "base/target_addr.hpp"
#include "libdtrace/compile/attributes.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory_resource>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <unordered_map>
#include <utility>
#include <vector>

namespace dt {

class Provider;

enum class ProbeFlow { None, Entry, Return };

struct ProbeInfo {
    std::uint32_t id = 0;
    // The registry owns these strings. They are NUL-terminated.
    std::string_view provider, module, function, name;
    Provider* owner = nullptr;
    bool enabled = false; // an ECB uses the probe
    bool waiting = false; // recycled, and not yet used by another process
};

// Returns "provider:module:function:name".
std::string full_name(const ProbeInfo& probe);

constexpr std::uint32_t probe_begin = 1, probe_end = 2, probe_error = 3;

// Sorts the ids and removes duplicates.
void sort_ids(std::vector<std::uint32_t>& ids);

class Registry {
public:
    // Returns the id of the existing probe if there is one with these four names.
    std::uint32_t add(Provider* owner, std::string_view provider,
                      std::string_view module, std::string_view function,
                      std::string_view name);
    // Lets add() reuse the recycled probes of this kin. If `kin` is empty, add() reuses
    // no probes.
    void begin_kin(std::string kin) { kin_ = std::move(kin); }
    // Makes probes available for reuse. No process may still fire them, and their
    // records must have been consumed. add() reuses a probe for the same kin, module,
    // function and name.
    void recycle(const std::string& kin, std::span<const std::uint32_t> ids);
    // Returns the probes that were renamed since the last call. The caller must set the
    // new names in the arena and in the consumer.
    std::vector<std::uint32_t> take_renamed();
    // Reserves memory for this many more probes.
    void expect(std::size_t n_more);
    std::uint32_t find(std::string_view provider, std::string_view module,
                       std::string_view function, std::string_view name) const;
    std::size_t size() const { return probes_.size(); }
    ProbeInfo& at(std::uint32_t id) { return probes_[id - 1]; }
    const ProbeInfo& at(std::uint32_t id) const { return probes_[id - 1]; }
    bool has(std::uint32_t id) const { return id != 0 && id <= probes_.size(); }

    // Returns the probes whose four names match the globs. An empty glob matches every
    // name. If all four are empty, only probes with a function match.
    std::vector<std::uint32_t> match(const std::string& provider,
                                     const std::string& module,
                                     const std::string& function,
                                     const std::string& name) const;

private:
    using Hash = std::uint32_t;
    static Hash hash(std::string_view provider, std::string_view module,
                     std::string_view function, std::string_view name);
    // Returns the slot with these names, or the free slot for them.
    std::size_t slot_of(Hash hash, std::string_view provider, std::string_view module,
                        std::string_view function, std::string_view name) const;
    void index(std::size_t n_probes);
    void remove_slot(std::size_t slot);
    std::uint32_t recycled(Provider* owner, std::string_view module,
                           std::string_view function, std::string_view name);
    std::string_view keep(std::string_view text, std::string_view before);

    std::pmr::monotonic_buffer_resource names_;
    std::vector<ProbeInfo> probes_;
    // A hash table of the names, with open addressing, at most half full. The hash is
    // compared first, because comparing names costs a cache miss.
    struct Slot {
        std::uint32_t id = 0; // 0 if the slot is free
        Hash hash = 0;
    };
    std::vector<Slot> slots_;

    std::string kin_; // set by begin_kin()
    // Recycled probes that wait for a process, by kin and by a hash of their names
    // without the provider.
    std::map<std::string, std::unordered_multimap<Hash, std::uint32_t>> waiting_;
    std::vector<std::uint32_t> renamed_;
    std::string_view last_provider_;
};

} // namespace dt
