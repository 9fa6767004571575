// SPDX-License-Identifier: MIT
#include "libdtrace/session/on_cpu.hpp"

#include "dif/options.h"

namespace dt {

OnCpu::OnCpu(std::uint64_t cpu)
{
    if (cpu == DT_OPT_UNSET)
        return;
    cpu_set_t one;
    CPU_ZERO(&one);
    if (cpu < CPU_SETSIZE)
        CPU_SET(cpu, &one);
    moved_ = ::sched_getaffinity(0, sizeof before_, &before_) == 0 &&
             ::sched_setaffinity(0, sizeof one, &one) == 0;
    refused_ = !moved_;
}

OnCpu::~OnCpu()
{
    if (moved_)
        ::sched_setaffinity(0, sizeof before_, &before_);
}

} // namespace dt
