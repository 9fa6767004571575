// SPDX-License-Identifier: MIT
// Prepares the requests with which a session asks the kernel module for uprobes. Each
// site in a process becomes a uprobe, which fires in the kernel (kmod/uprobe.c).
//
//   site's address ── mapping ──▶ file and offset ──▶ DTK_UPROBE with the target's pid
//
// dtrace writes nothing into the target. The agent holds it and watches its libraries.
// A uprobe belongs to a file, and exists until the process exits or executes another
// program. So it is requested only once. If a library is unloaded and loaded again,
// even at another address, its uprobes fire again without a new request.
//
// The kernel calls the handlers at one address in the reverse order of the requests, so
// the last site is requested first.
#pragma once

#include "abi/ioctl.h"
#include "libdtrace/session/processes.hpp"
#include "libdtrace/symbols/mapped_files.hpp"
#include "ptrace-agent/wire/client.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace dt {

// The requests for the uprobes of one process.
class Uprobes {
public:
    // If `children` is true, the uprobes also fire in children of the process.
    Uprobes(const ps_prochandle& process, const StaticTable& statics, bool children);

    // Adds the request for a site. Returns "", or the reason why the site cannot have a
    // uprobe.
    std::string add(const Site& site);
    // The requests contain file descriptors, which this object owns, and pointers to
    // operands in the StaticTable.
    const std::vector<dtk_uprobe>& requests() const { return requests_; }

private:
    std::string fill(const Site& site, dtk_uprobe& request) const;
    // Adds the operands of an indirect jump to the request: the jump's destination, and
    // the address ranges of the function's parts.
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
// Returns why the module refused a uprobe. error is a positive errno.
std::string uprobe_error_text(int error);

} // namespace dt
