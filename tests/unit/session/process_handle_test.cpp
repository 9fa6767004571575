// SPDX-License-Identifier: MIT
#include "libdtrace/session/processes/process_handle.hpp"

#include <gtest/gtest.h>

using namespace dt;

TEST(ProcessHandle, ExitsWithItsWaitStatus)
{
    ps_prochandle process(100, TargetKind::named);
    EXPECT_TRUE(process.is_held());
    EXPECT_TRUE(process.leave(HoldState::exited, 0x300));
    EXPECT_FALSE(process.is_held());
    EXPECT_EQ(process.status(), 0x300);
}

TEST(ProcessHandle, HasTheStatusMinusOneIfItWasLost)
{
    ps_prochandle process(100, TargetKind::named);
    EXPECT_TRUE(process.leave(HoldState::lost));
    EXPECT_EQ(process.status(), -1);
}

TEST(ProcessHandle, HasNoStatusIfItWasReleased)
{
    ps_prochandle process(100, TargetKind::named);
    EXPECT_TRUE(process.leave(HoldState::released, 0x300));
    EXPECT_EQ(process.status(), 0);
}

TEST(ProcessHandle, LeavesOnce)
{
    for (HoldState first : {HoldState::exited, HoldState::lost, HoldState::released})
        for (HoldState second :
             {HoldState::exited, HoldState::lost, HoldState::released}) {
            ps_prochandle process(100, TargetKind::named);
            EXPECT_TRUE(process.leave(first, 1));
            const int status = process.status();
            EXPECT_FALSE(process.leave(second, 2));
            EXPECT_EQ(process.status(), status);
            EXPECT_FALSE(process.is_held());
        }
}

TEST(ProcessHandle, IsByTheUserIfItWasCreatedOrNamed)
{
    for (TargetKind kind : {TargetKind::created, TargetKind::named})
        EXPECT_TRUE(ps_prochandle(100, kind).by_user());
    for (TargetKind kind :
         {TargetKind::matched, TargetKind::started_later, TargetKind::followed})
        EXPECT_FALSE(ps_prochandle(100, kind).by_user());
}
