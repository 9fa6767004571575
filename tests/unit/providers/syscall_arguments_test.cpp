// SPDX-License-Identifier: MIT
#include "libdtrace/providers/syscall_arguments.hpp"

#include <gtest/gtest.h>

using Written = dt::ArgumentTypes::Written;

static const std::string of_all =
    "name: sys_enter_x\nID: 716\nformat:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
    "\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n";

TEST(SyscallArguments, AreTheFieldsAfterTheNumberOfTheCall)
{
    EXPECT_EQ(dt::arguments_in_format(
                  of_all +
                  "\tfield:unsigned int fd;\toffset:16;\tsize:8;\tsigned:0;\n"
                  "\tfield:const char *const * argv;\toffset:24;\tsize:8;\tsigned:0;\n"
                  "\nprint fmt: \"fd: 0x%08lx\", ((unsigned long)(REC->fd))\n"),
              (std::vector<Written>{{"fd", "unsigned int"},
                                    {"argv", "const char *const *"}}));
}

TEST(SyscallArguments, AreEmptyForACallWithoutParameters)
{
    EXPECT_TRUE(dt::arguments_in_format(of_all + "\nprint fmt: \"\"\n").empty());
    EXPECT_TRUE(dt::arguments_in_format("").empty());
    EXPECT_TRUE(dt::arguments_in_format("field:\nfield:;\nfield:int").empty());
}

TEST(SyscallArguments, AreNotTheStringsThatNewerKernelsAddToTheEvent)
{
    EXPECT_EQ(dt::arguments_in_format(
                  of_all +
                  "\tfield:const char * path;\toffset:16;\tsize:8;\tsigned:0;\n"
                  "\tfield:__data_loc char[] __path_val;\toffset:24;\tsize:4;"
                  "\tsigned:0;\n"),
              (std::vector<Written>{{"path", "const char *"}}));
}
