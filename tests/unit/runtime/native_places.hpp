// SPDX-License-Identifier: MIT
// Random numbers that resemble the values in programs, and operands of static probes.
#pragma once

#include "tests/unit/runtime/in_process.hpp"

#include <cstdint>
#include <random>

namespace runtime_test {

class Random {
public:
    explicit Random(std::uint64_t seed) : random_(seed) {}
    unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
    bool one_in(unsigned n) { return below(n) == 0; }
    // Returns a limit of an integer type, a random number, or a small negative number.
    std::uint64_t number()
    {
        static constexpr std::uint64_t ends[] = {
            0, 1, 1ull << 63, ~0ull, ~0ull >> 1, 0x7fffffff, 0x80000000, 0xffffffff};
        switch (below(4)) {
        case 0:
            return ends[below(std::size(ends))];
        case 1:
            return random_();
        case 2:
            return random_() >> below(64);
        default:
            return 0 - static_cast<std::uint64_t>(below(1000));
        }
    }

private:
    std::mt19937_64 random_;
};

// Three pages. The first is in the agent's table of ranges. The second is in the table,
// but cannot be read. The third is not in the table.
class Places {
public:
    Places();
    ~Places();
    Places(const Places&) = delete;

    void show(InProcess& runtime) const
    {
        runtime.add_range(reinterpret_cast<const void*>(at_), 2 * page);
    }
    std::uint64_t address(Random& random) const
    {
        return at_ + (random.one_in(4) ? random.below(3) : 0) * page +
               random.below(page - 300);
    }
    dt_operand operand(Random& random) const;
    // Sets the registers that operands use, mostly to addresses in this memory.
    // Sometimes rbp gets the address of `frame`, and rcx a small index.
    void point(Random& random, Registers& registers, const void* frame) const;

private:
    static constexpr unsigned page = 4096;
    std::uint64_t at_ = 0;
};

} // namespace runtime_test
