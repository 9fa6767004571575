// SPDX-License-Identifier: MIT
// The kernel's description of a tracepoint in tracefs, and the values in a record.
#include "libdtrace/providers/trace_event.hpp"

#include <array>
#include <gtest/gtest.h>

namespace dt {

constexpr std::string_view format = R"(name: sched_switch
ID: 372
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:char prev_comm[16];	offset:8;	size:16;	signed:0;
	field:pid_t prev_pid;	offset:24;	size:4;	signed:1;
	field:__data_loc char[] filename;	offset:28;	size:4;	signed:0;
	field:unsigned long args[6];	offset:32;	size:48;	signed:0;

print fmt: "prev_comm=%s field:x", REC->prev_comm
)";

TEST(TraceEvent, FieldsAreThoseOfTheFormat)
{
    const TraceEvent event{372, trace_fields_in(format)};
    EXPECT_EQ(event.fields.size(), 6u);
    const TraceField* pid = event.field("prev_pid");
    ASSERT_NE(pid, nullptr);
    EXPECT_EQ(pid->offset, 24u);
    EXPECT_EQ(pid->bytes, 4u);
    EXPECT_TRUE(pid->is_signed);
    ASSERT_NE(event.field("filename"), nullptr);
    EXPECT_EQ(event.field("filename")->offset, 28u);
    ASSERT_NE(event.field("args"), nullptr);
    EXPECT_EQ(event.field("args")->bytes, 48u);
    EXPECT_EQ(event.field("prev"), nullptr);
}

TEST(TraceEvent, MalformedFormatsHaveNoFields)
{
    EXPECT_TRUE(trace_fields_in("").empty());
    EXPECT_TRUE(trace_fields_in("\tfield:").empty());
    EXPECT_TRUE(trace_fields_in("field:int x; offset:1;").empty());
    const auto fields = trace_fields_in("\tfield:int x;\toffset:y;\tsize:");
    ASSERT_EQ(fields.size(), 1u);
    EXPECT_EQ(fields[0].offset, 0u);
    EXPECT_EQ(fields[0].bytes, 0u);
}

TEST(TraceEvent, NumbersAreInTheRecord)
{
    const std::array<std::uint8_t, 8> bytes{0xfe, 0xff, 0xff, 0xff, 1, 2, 3, 4};
    const auto record = std::as_bytes(std::span(bytes));
    const TraceField negative{"", 0, 4, true}, positive{"", 0, 4, false},
        small{"", 4, 2, false}, all{"", 0, 8, false}, outside{"", 5, 4, false},
        far{"", ~std::size_t{0}, 4, false}, large{"", 0, 16, false},
        empty{"", 0, 0, true};
    EXPECT_EQ(number_in(record, &negative), ~std::uint64_t{1});
    EXPECT_EQ(number_in(record, &positive), 0xffff'fffeu);
    EXPECT_EQ(number_in(record, &small), 0x201u);
    EXPECT_EQ(number_in(record, &all), 0x0403'0201'ffff'fffeu);
    for (const TraceField* field : {&outside, &far, &large, &empty})
        EXPECT_EQ(number_in(record, field), 0u);
    EXPECT_EQ(number_in(record, nullptr), 0u);
}

} // namespace dt
