// SPDX-License-Identifier: MIT
// Fault records to events.
#pragma once

#include "libdtrace/consume/record.hpp"

namespace dt {

bool shows_address(std::uint32_t fault); // its value is one

FaultEvent fault_event(const EcbInfo& ecb, std::uint32_t cpu,
                       const dt_rec_error& error);

} // namespace dt
