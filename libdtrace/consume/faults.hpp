// SPDX-License-Identifier: MIT
// Turns fault records into events.
#pragma once

#include "libdtrace/consume/record.hpp"

namespace dt {

bool shows_address(std::uint32_t fault); // whether its value is an address

FaultEvent fault_event(const EcbInfo& ecb, std::uint32_t cpu,
                       const dt_rec_error& error);

} // namespace dt
