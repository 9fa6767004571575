// SPDX-License-Identifier: MIT
// Opens files for a confined agent. The agent's own ids give it no right to open them.
//
// The agent may open the files in /proc that the table in proc_access.cpp lists. Most of
// them may be opened only if the agent's domain covers their process
// (process/trust_domain.hpp). Only /proc/PID/mem is opened for writing.
//
// A process may execute another program, or exit, at any time. So each file is opened
// first and checked afterwards. The kernel binds an open file to the process, and an
// open mem, maps, auxv or pagemap to the program. If the process executes a program that
// gains rights before the file is opened, the check finds the gained rights. If it does
// so later, the file still belongs to the earlier program.
#pragma once

#include "base/fd.hpp"
#include "process/trust_domain.hpp"

#include <string>
#include <string_view>
#include <sys/types.h>

namespace dt::agent {

// A file, or the errno of the call that failed.
struct OpenedFile {
    Fd file;
    int error = 0;
};

class ProcAccess {
public:
    ProcAccess(TrustDomain domain, pid_t agent)
        : domain_(std::move(domain)), agent_(agent)
    {
    }

    bool permits(pid_t pid) const { return covers(domain_, pid); }
    bool is_domain_of(pid_t pid) const { return trust_domain_of(pid) == domain_; }
    OpenedFile open(std::string_view path, int flags) const;
    // Returns the destination of a link. Returns "" and sets `error` to an errno if it is
    // not available.
    std::string read_link(std::string_view path, int& error) const;
    // Returns a read-only descriptor of a file in memory (memfd_create(2)) that the agent
    // can already read. The caller passes a descriptor that it received from the agent.
    static OpenedFile reopen(Fd readable);

private:
    TrustDomain domain_;
    pid_t agent_;
};

} // namespace dt::agent
