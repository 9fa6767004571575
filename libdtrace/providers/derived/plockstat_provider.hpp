// SPDX-License-Identifier: MIT
// The plockstat provider: mutexes and reader-writer locks of POSIX threads in a process.
//
//   plockstatN:module:pthread_mutex_lock:mutex-acquire
//
// Its probes are derived (compile/check/derive_probes.cpp). derived/plockstat.d says when
// they fire and computes their arguments. This class finds the sites:
//
//   entries   the first instruction of a function
//   returns   every instruction that leaves a function. If a function ends with a jump
//             to another function, the returns of the other function are included. For
//             example, pthread_mutex_timedlock() of glibc jumps to code that it shares
//             with pthread_mutex_clocklock(). Only one of the two has probes there.
//   waits     the futex(2) calls of the module
//
// A sanitizer has functions of the same names, which call those of libc. So the probes
// are in libc and libpthread, or in a program without a dynamic linker.
#pragma once

#include "fasttrap/function.hpp"
#include "libdtrace/providers/process_probes.hpp"
#include "libdtrace/providers/provider.hpp"
#include "libdtrace/providers/syscall_sites.hpp"
#include "libdtrace/symbols/process_symbols.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

class PlockstatProvider : public Provider {
public:
    // Returns the symbols of a process. Grabs the process if necessary.
    using FindProcess = std::function<Result<ProcessSymbols*>(pid_t)>;

    PlockstatProvider(Registry& registry, ProcessProbes& probes,
                      FindProcess find_process)
        : registry_(registry), probes_(probes), find_process_(std::move(find_process))
    {
    }
    std::string name() const override { return "plockstat"; }
    ProviderAttributes attributes() const override;
    bool is_derived() const override { return true; }
    Outcome provide(const ProbeSpec& spec) override;
    // Matches only the modules that were loaded since the last match.
    Outcome provide_new(const ProbeSpec& spec);
    // Called when a process has a new image or has exited.
    void forget(pid_t pid) { searched_.erase(pid); }

    bool zdefs = false;

    // Returns whether a description names this provider: with a process id, with a
    // pattern, or without both.
    static bool may_mean(std::string_view provider);
    // Returns the D text that defines the probes.
    static std::string_view definition();
    // Returns the names of the types of a probe's args[].
    static std::vector<std::string> argument_types(const ProbeInfo& probe);

private:
    struct Row;
    static const std::vector<Row>& rows();
    // The modules and sites that were found in a process.
    struct Searched {
        const ProcessSymbols* symbols = nullptr;
        // For each row and function, the modules in which its probe exists.
        std::map<std::pair<const Row*, std::string>, std::set<const Module*>> modules;
        // The sites of each row. Functions that share a site do not both fire there.
        std::map<const Row*, std::set<TargetAddr>> sites;
    };
    enum class Over { all, not_searched };
    Outcome provide_over(const ProbeSpec& spec, Over over);
    Searched& searched_of(const ProcessSymbols& symbols);
    void add(const ProbeSpec& spec, const Row& row, const Module& module,
             ProcessSymbols& symbols, Over over, std::vector<std::uint32_t>& ids);
    void add_probe(const ProbeSpec& spec, const Row& row, const Module& module,
                   const ProcessSymbols& symbols, const std::string& function,
                   std::vector<ProbeSite> sites, std::vector<std::uint32_t>& ids);
    std::map<std::string, std::vector<ProbeSite>> wait_sites(const Module& module);

    Registry& registry_;
    ProcessProbes& probes_;
    FindProcess find_process_;
    std::map<pid_t, Searched> searched_;
    std::map<std::shared_ptr<ElfImage>, std::vector<CallPlace>> places_;
};

} // namespace dt
