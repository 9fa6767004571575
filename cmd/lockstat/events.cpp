// SPDX-License-Identifier: MIT
#include "events.hpp"

// Events that also exist on other systems have the same ids there, so that scripts can
// use -e with ids.
static constexpr Event events[] = {
    {0, 'C', "Adaptive mutex spin", "Lock", "lockstat:::adaptive-spin", nullptr,
     nullptr},
    {1, 'C', "Adaptive mutex block", "Lock", "lockstat:::adaptive-block", nullptr,
     nullptr},
    {2, 'C', "Spin lock spin", "Lock", "lockstat:::spin-spin", nullptr, nullptr},
    {4, 'C', "R/W writer blocked by writer", "Lock", "lockstat:::rw-block",
     "arg2 == 0 && arg3 != 0", nullptr},
    {5, 'C', "R/W writer blocked by readers", "Lock", "lockstat:::rw-block",
     "arg2 == 0 && arg3 == 0", nullptr},
    {6, 'C', "R/W reader blocked by writer", "Lock", "lockstat:::rw-block",
     "arg2 == 1 && arg3 != 0", nullptr},
    {7, 'C', "R/W reader blocked by write wanted", "Lock", "lockstat:::rw-block",
     "arg2 == 1 && arg3 == 0", nullptr},
    {8, 'C', "R/W writer spin", "Lock", "lockstat:::rw-spin", "arg2 == 0", nullptr},
    {9, 'C', "R/W reader spin", "Lock", "lockstat:::rw-spin", "arg2 == 1", nullptr},
    {32, 'H', "Adaptive mutex hold", "Lock", "lockstat:::adaptive-release", nullptr,
     "lockstat:::adaptive-acquire"},
    {33, 'H', "Spin lock hold", "Lock", "lockstat:::spin-release", nullptr,
     "lockstat:::spin-acquire"},
    {34, 'H', "R/W writer hold", "Lock", "lockstat:::rw-release", "arg1 == 0",
     "lockstat:::rw-acquire"},
    {35, 'H', "R/W reader hold", "Lock", "lockstat:::rw-release", "arg1 == 1",
     "lockstat:::rw-acquire", true},
    {56, 'I', "Profiling interrupt", "CPU+PIL", "profile:::profile-", nullptr, nullptr},
};

std::span<const Event> all_events()
{
    return events;
}
