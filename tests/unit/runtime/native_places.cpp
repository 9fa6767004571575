// SPDX-License-Identifier: MIT
#include "tests/unit/runtime/native_places.hpp"

#include <gtest/gtest.h>
#include <iterator>
#include <sys/mman.h>

namespace runtime_test {

Places::Places()
{
    void* area = mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(area, MAP_FAILED);
    at_ = reinterpret_cast<std::uint64_t>(area);
    std::mt19937 random(1);
    for (std::uint64_t i = 0; i < 3 * page; i++)
        static_cast<unsigned char*>(area)[i] = static_cast<unsigned char>(random());
    mprotect(static_cast<char*>(area) + page, page, PROT_NONE);
}

Places::~Places()
{
    munmap(reinterpret_cast<void*>(at_), 3 * page);
}

dt_operand Places::operand(Random& random) const
{
    static constexpr dt_u8 bases[] = {3, 2, 5, 6, 10, 12, 4, DT_OPERAND_NO_REG};
    dt_operand out{};
    out.bytes = static_cast<dt_u8>(1u << random.below(4));
    out.flags = random.one_in(2) ? DT_OPERAND_SIGNED : 0;
    if (out.bytes >= 4 && random.one_in(4))
        out.flags |= DT_OPERAND_FLOAT;
    out.reg = static_cast<dt_u8>(random.below(16));
    out.index = DT_OPERAND_NO_REG;
    switch (random.below(8)) {
    case 0:
        out.form = DT_OPERAND_CONST;
        out.value = static_cast<dt_s64>(random.number());
        return out;
    case 1:
    case 2:
        out.form = DT_OPERAND_GENERAL;
        if (out.reg < 4 && out.bytes == 1 && random.one_in(2))
            out.flags |= DT_OPERAND_HIGH_BYTE;
        return out;
    case 3:
        out.form = DT_OPERAND_VECTOR;
        return out;
    default:
        break;
    }
    out.form = DT_OPERAND_MEMORY;
    out.reg = bases[random.below(std::size(bases))];
    if (out.reg == DT_OPERAND_NO_REG) {
        out.value = static_cast<dt_s64>(address(random));
        // The base of gs is 0. The base of fs is this thread's control block.
        if (random.one_in(3))
            out.segment = 'g';
        else if (random.one_in(3)) {
            out.segment = 'f';
            out.value = 8 * static_cast<dt_s64>(random.below(6));
        }
        // With rsp (4) as the base, the displacement stays 0, so the operand is the
        // return address. The rest of the stack differs between the runs.
    } else if (out.reg != 4) {
        out.value = random.below(64);
        if (out.reg != 5 && random.one_in(4))
            out.value = static_cast<dt_s64>(random.number());
        if (random.one_in(3)) {
            out.index = 1;
            out.shift = static_cast<dt_u8>(random.below(4));
        }
    }
    return out;
}

void Places::point(Random& random, Registers& registers, const void* frame) const
{
    for (std::uint64_t* each : {&registers.rbx, &registers.rdx, &registers.rbp,
                                &registers.rsi, &registers.r10, &registers.r12})
        if (!random.one_in(5))
            *each = address(random);
    // A small index keeps the operand inside `frame`. The rest of the stack differs
    // between the runs.
    bool on_stack = random.one_in(4);
    if (on_stack)
        registers.rbp = reinterpret_cast<std::uint64_t>(frame);
    if (on_stack || !random.one_in(5))
        registers.rcx = random.below(32);
}

} // namespace runtime_test
