// SPDX-License-Identifier: MIT
// x86-64 as a value.
#include "fasttrap/arch/arch.hpp"
#include "fasttrap/arch/x86_64/decode.hpp"
#include "fasttrap/arch/x86_64/displace.hpp"
#include "fasttrap/arch/x86_64/emulate.hpp"
#include "fasttrap/arch/x86_64/glance.hpp"
#include "fasttrap/arch/x86_64/jump_table.hpp"

namespace dt {

static constexpr std::uint8_t int3[] = {0xcc};

const Arch x86_64 = {
    .name = "x86_64",
    .trap = int3,
    .decode = x86::decode,
    .glance = x86::glance,
    .plan_displaced = x86::plan_displaced,
    .plan_after_fault = x86::plan_after_fault,
    .emulate = x86::emulate,
    .classify_jump = x86::classify_jump,
};

} // namespace dt
