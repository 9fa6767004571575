// SPDX-License-Identifier: MIT
// The x86-64 Arch.
#include "fasttrap/arch/arch.hpp"
#include "fasttrap/arch/x86_64/decode.hpp"
#include "fasttrap/arch/x86_64/displace.hpp"
#include "fasttrap/arch/x86_64/emulate.hpp"
#include "fasttrap/arch/x86_64/glance.hpp"
#include "fasttrap/arch/x86_64/jump_table.hpp"
#include "fasttrap/arch/x86_64/relocate.hpp"
#include "fasttrap/arch/x86_64/stack_check.hpp"
#include "fasttrap/arch/x86_64/trampoline.hpp"

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
    .stack_check_bytes = x86::stack_check_bytes,
    .jump_bytes = 5,
    // The addr32 prefix. In a pair or chain, it may become the most significant byte of
    // an earlier jump's displacement. The earlier jump then leads to an address 1.7 GB
    // above itself.
    .jump_prefix = std::byte{0x67},
    .head_bytes = x86::head_bytes,
    .tail_bytes = x86::tail_bytes,
    .traps = x86::traps,
    .moving = x86::moving,
    .is_padding = x86::is_padding,
    .relocate = x86::relocate,
    .put_head = x86::put_head,
    .put_tail = x86::put_tail,
    .put_jump = x86::put_jump,
    .leave_moved = x86::leave_moved,
    .leave_head = x86::leave_head,
    .leave_tail = x86::leave_tail,
};

} // namespace dt
