// SPDX-License-Identifier: MIT
#include "libdtrace/providers/kernel_libraries.hpp"

#include "abi/packet.h"
#include "libdtrace/compile/compiler.hpp"

#include <cstddef>
#include <gtest/gtest.h>

namespace {

using dt::kernel_libraries;

std::vector<std::string> names(const std::vector<dt::KernelLibrary>& libraries)
{
    std::vector<std::string> all;
    for (const dt::KernelLibrary& one : libraries)
        all.emplace_back(one.name);
    return all;
}

TEST(KernelLibraries, OfAProviderFollowThoseTheyDependOn)
{
    EXPECT_EQ(names(kernel_libraries({"udp"}, "")),
              (std::vector<std::string>{"net", "udp"}));
    EXPECT_EQ(names(kernel_libraries({"proc"}, "")),
              (std::vector<std::string>{"procfs"}));
    EXPECT_TRUE(kernel_libraries({"nobodys"}, "").empty());
}

TEST(KernelLibraries, AreSelectedByTheWordsThatTheyDeclare)
{
    EXPECT_EQ(names(kernel_libraries({}, "trace(curpsinfo->pr_addr)")),
              (std::vector<std::string>{"procfs"}));
    EXPECT_EQ(names(kernel_libraries({}, "arg0 & B_WRITE")),
              (std::vector<std::string>{"io"}));
    EXPECT_TRUE(kernel_libraries({}, "trace(x)").empty());
}

// The kernel module fills in this struct, so its layout must be the same in D and C.
TEST(KernelLibraries, APacketIsTheModules)
{
    const dt::KernelLibrary net = kernel_libraries({"ip"}, "").front();
    constexpr std::string_view begin = "struct dtk_packet {", end = "};";
    const std::size_t at = net.text.find(begin);
    ASSERT_NE(at, std::string_view::npos);
    const std::size_t behind = net.text.find(end, at) + end.size();

    dt::Compiler compiler;
    dt::CompileOptions options;
    options.empty = true;
    auto compiled = compiler.compile(net.text.substr(at, behind - at), options);
    ASSERT_TRUE(std::holds_alternative<dt::Program>(compiled));
    auto named = compiler.type_named("struct dtk_packet", options);
    ASSERT_TRUE(std::holds_alternative<const dt::Type*>(named));
    const dt::Type* type = std::get<const dt::Type*>(named);
    EXPECT_EQ(type->size, sizeof(dtk_packet));
    const std::pair<const char*, std::size_t> members[] = {
#define MEMBER(name) {#name, offsetof(dtk_packet, name)}
        MEMBER(skb),
        MEMBER(sk),
        MEMBER(ip),
        MEMBER(transport),
        MEMBER(device),
        MEMBER(from),
        MEMBER(to),
        MEMBER(from_port),
        MEMBER(to_port),
        MEMBER(version),
        MEMBER(payload_bytes),
        MEMBER(state),
        MEMBER(old_state),
        MEMBER(flags),
        MEMBER(received),
        MEMBER(hz),
#undef MEMBER
    };
    for (auto [name, offset] : members) {
        dt::Member found;
        ASSERT_TRUE(type->find_member(name, found)) << name;
        EXPECT_EQ(found.offset_bits, 8 * offset) << name;
    }
}

} // namespace
