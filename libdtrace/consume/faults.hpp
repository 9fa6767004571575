// SPDX-License-Identifier: MIT
// Converts fault records to events for the ERROR report.
#pragma once

#include "libdtrace/consume/record.hpp"

namespace dt {

// Returns whether the value of this fault is an address.
bool shows_address(std::uint32_t fault);

FaultEvent fault_event(const EcbInfo& ecb, std::uint32_t cpu,
                       const dt_rec_error& error);

} // namespace dt
