// SPDX-License-Identifier: MIT
#include "ptrace-agent/inject/call_place.hpp"

#include "ptrace-agent/address_space.hpp"
#include "ptrace-agent/confine/relayed_calls.hpp"
#include "ptrace-agent/inject/call_stub.hpp"

#include <unistd.h>
#include <vector>

namespace dt::agent {

void CallPlace::clear_stub(int mem, TargetAddr at)
{
    std::vector<std::byte> zeros(call_stub().size());
    // Ignore a failure, because the process may have exited.
    (void)!write_memory(mem, zeros.data(), zeros.size(), at.value);
}

void CallPlace::remove_stub(AddressSpace& space)
{
    if (stub_.value != 0)
        clear_stub(space.mem(), stub_);
    if (insn_ == stub_)
        insn_ = {};
    stub_ = {};
}

void CallPlace::remove_stub_in(pid_t child) const
{
    Fd mem = open_mem(child);
    if (mem && stub_.value != 0)
        clear_stub(mem.get(), stub_);
}

} // namespace dt::agent
