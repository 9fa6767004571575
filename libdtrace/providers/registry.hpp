// SPDX-License-Identifier: MIT
// All probes that a session knows, numbered from 1 in the order in which they were made.
//
//   Provider --makes--> ProbeInfo (Registry) --dtrace_go--> probe table of the arena
//
// Ids are the same here and in the arena, because both only append. BEGIN, END and ERROR
// are 1, 2 and 3.
#pragma once

#include "base/target_addr.hpp"
#include "libdtrace/compile/attributes.hpp"

#include <cstdint>
#include <functional>
#include <memory_resource>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace dt {

class Provider;

enum class ProbeFlow { None, Entry, Return };

struct ProbeInfo {
    std::uint32_t id = 0;
    std::string_view provider, module, function, name; // a NUL follows; the registry's
    Provider* owner = nullptr;
    bool enabled = false; // an ECB uses it
};

constexpr std::uint32_t probe_begin = 1, probe_end = 2, probe_error = 3;

// Ascending, each once.
void sort_ids(std::vector<std::uint32_t>& ids);

class Registry {
public:
    // The existing id when all four names are known already.
    std::uint32_t add(Provider* owner, std::string_view provider,
                      std::string_view module, std::string_view function,
                      std::string_view name);
    // So many more are coming: adding them is faster then.
    void expect(std::size_t n_more);
    std::uint32_t find(std::string_view provider, std::string_view module,
                       std::string_view function, std::string_view name) const;
    std::size_t size() const { return probes_.size(); }
    ProbeInfo& at(std::uint32_t id) { return probes_[id - 1]; }
    const ProbeInfo& at(std::uint32_t id) const { return probes_[id - 1]; }
    bool has(std::uint32_t id) const { return id != 0 && id <= probes_.size(); }

    // Probes whose four parts match as globs (an empty part matches anything; if all
    // are empty, only probes with a function do).
    std::vector<std::uint32_t> match(const std::string& provider,
                                     const std::string& module,
                                     const std::string& function,
                                     const std::string& name) const;

private:
    using Hash = std::uint32_t;
    static Hash hash(std::string_view provider, std::string_view module,
                     std::string_view function, std::string_view name);
    // The place of the names, or the free one where they would be.
    std::size_t slot_of(Hash hash, std::string_view provider, std::string_view module,
                        std::string_view function, std::string_view name) const;
    void index(std::size_t n_probes);
    std::string_view keep(std::string_view text, std::string_view before);

    std::pmr::monotonic_buffer_resource names_;
    std::vector<ProbeInfo> probes_;
    // By the hash of their names; open addressing, at most half full. A process has a hundred
    // thousand functions: nodes of a map are a miss of the cache each, and so are the names
    // of others, which are looked at only where the whole hash is the same.
    struct Slot {
        std::uint32_t id = 0; // 0: free
        Hash hash = 0;
    };
    std::vector<Slot> slots_;
};

} // namespace dt
