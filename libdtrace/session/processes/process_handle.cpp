// SPDX-License-Identifier: MIT
#include "libdtrace/session/processes/process_handle.hpp"

#include <cassert>

bool ps_prochandle::leave(dt::HoldState to, int wait_status)
{
    assert(to != dt::HoldState::held);
    if (!is_held())
        return false;
    state_ = to;
    status_ = to == dt::HoldState::exited ? wait_status
              : to == dt::HoldState::lost ? -1
                                          : 0;
    return true;
}
