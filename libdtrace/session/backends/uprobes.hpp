// SPDX-License-Identifier: MIT
// Prepares requests for uprobes. Each site in a process becomes a uprobe, which fires
// in the kernel (kmod/uprobe.c).
//
//   site's address ── mapping ──▶ file and offset ──▶ DTK_UPROBE with the target's pid
//
// A uprobe belongs to a file, so each uprobe is requested only once for a process. The
// uprobe exists until the process exits or executes another program. If a library is
// unloaded and loaded again, its uprobes fire again.
//
// The kernel calls the handlers at one address in the reverse order of the requests. So
// the last site is requested first.
#pragma once

#include "abi/ioctl.h"
#include "libdtrace/session/processes/processes.hpp"
#include "libdtrace/symbols/mapped_files.hpp"
#include "ptrace-agent/wire/client.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace dt {

class Uprobes {
public:
    // If `children` is true, the uprobes also fire in children of the process.
    Uprobes(const ps_prochandle& process, const StaticTable& statics, bool children);

    // Adds the request for a site. Returns "", or why that is not possible.
    std::string add(const Site& site);
    // Returns the requests. They contain file descriptors that this object owns, and
    // pointers into the StaticTable.
    const std::vector<dtk_uprobe>& requests() const { return requests_; }

private:
    std::string fill(const Site& site, dtk_uprobe& request) const;
    // Adds the operands of an indirect jump: the destination, and the ranges of the
    // function's parts.
    std::string fill_jump(const Site& site, dtk_uprobe& request) const;
    std::string fill_static(const Site& site, const Mapping& text,
                            dtk_uprobe& request) const;
    bool is_entry(TargetAddr at) const;
    std::span<const std::byte> text_at(TargetAddr at) const;

    const ps_prochandle& process_;
    const StaticTable& statics_;
    bool children_;
    MappedFiles files_;
    std::vector<dtk_uprobe> requests_;
};

// Returns the value of enum dtk_kind for the kind of a site.
dt_u32 uprobe_kind(SiteKind kind);
// Returns the reason why a request failed. `error` is a positive errno.
std::string uprobe_error_text(int error);

} // namespace dt
