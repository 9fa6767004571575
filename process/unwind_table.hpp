// SPDX-License-Identifier: MIT
// The call frame information of all text in a file, as a table. The table is for code
// that cannot read files, such as the kernel module.
#pragma once

#include "abi/frame_rule.h"
#include "base/fd.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace dt {

struct UnwindRow {
    // The offset in the file. The row is valid up to the offset of the next row.
    std::uint64_t offset = 0;
    enum Kind : std::uint8_t {
        none, // there is no rule, or a dt_rt_rule cannot express it
        rule,
        signal, // the caller was interrupted by a signal
    } kind = none;
    dt_rt_rule how{}; // valid if the kind is rule
};

// Returns the rows, sorted by offset. Returns none if the file has no call frame
// information.
std::vector<UnwindRow> unwind_rows(Fd file);
// Does the same in a process without rights, because the file is untrusted. Also returns
// no rows if the process ends, does not reply within ten seconds, or sends a malformed
// reply.
std::vector<UnwindRow> jailed_unwind_rows(Fd file);
// For tests: with another main function of the process, and another timeout.
std::vector<UnwindRow> jailed_unwind_rows(Fd file, const std::function<void(Fd)>& serve,
                                          std::uint64_t timeout_ns);

} // namespace dt
