// SPDX-License-Identifier: MIT
// The instructions with which the modules of a process make system calls. The probes of
// the syscall provider fire before and after them, if the process is a target.
//
//   text of a module ──search──▶ CallPlace (in the file) ──▶ SyscallSite (in a process)
//
// A place has a known number if the instructions before it set %eax to a constant.
// Otherwise it can make any system call, as in syscall(2) or in Go programs.
#pragma once

#include "libdtrace/providers/extent_maps.hpp"
#include "libdtrace/providers/process_probes.hpp"
#include "libdtrace/symbols/process_symbols.hpp"
#include "ptrace-agent/wire/client.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace dt {

// A place in a file that makes a system call. The address is a link-time address.
struct CallPlace {
    TargetAddr at; // the syscall instruction
    std::optional<std::uint32_t> number;
    // The number comes from another register or from memory. False if the instruction
    // that sets the number was not found.
    bool makes_any = false;
};

// Returns the places in the text of an image that are known to be code.
std::vector<CallPlace> call_places(ElfImage& image, const ExtentMap& extents);

// A probe that fires at system calls.
struct CallProbe {
    std::uint32_t probe = 0;
    bool returns = false;               // fires after the call
    std::vector<std::uint32_t> numbers; // of the system calls
    // 0 for a probe of the syscall provider, which has one number.
    std::uint64_t task_call = 0;
};

// A place in a process.
struct SyscallSite {
    ProbeSite call;  // the syscall instruction
    ProbeSite after; // the next instruction
    std::optional<std::uint32_t> number;
};

class SyscallSites {
public:
    explicit SyscallSites(ProcessProbes& probes) : probes_(probes) {}

    // Returns the sites in the modules of a process. The references are valid until the
    // next call for the process.
    const std::vector<SyscallSite>& of_process(ProcessSymbols& symbols);

    bool is_planted(pid_t pid, TargetAddr at, std::uint32_t probe) const;
    void set_planted(pid_t pid, TargetAddr at, std::uint32_t probe, bool planted);
    // Returns the planted sites of a process: address and probe.
    std::vector<std::pair<TargetAddr, std::uint32_t>> planted(pid_t pid) const;
    // Removes the sites in unloaded modules. `symbols` must be up to date.
    void drop_gone(const ProcessSymbols& symbols);
    // Called when a process has a new image or has exited.
    void forget(pid_t pid) { processes_.erase(pid); }

private:
    struct OfProcess {
        std::set<const Module*> searched;
        std::vector<SyscallSite> sites;
        std::set<std::pair<TargetAddr, std::uint32_t>> planted;
    };
    const std::vector<CallPlace>& places_of(const std::shared_ptr<ElfImage>& image,
                                            const ExtentMap& extents);

    ProcessProbes& probes_;
    std::map<std::shared_ptr<ElfImage>, std::vector<CallPlace>> places_;
    std::map<pid_t, OfProcess> processes_;
};

} // namespace dt
