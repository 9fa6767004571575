// SPDX-License-Identifier: MIT
#include "dif/float.h"

#include "dif/ops.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <fenv.h>
#include <gtest/gtest.h>
#include <random>

namespace {

std::uint64_t bits(double value)
{
    return std::bit_cast<std::uint64_t>(value);
}

double as_double(std::uint64_t value)
{
    return std::bit_cast<double>(value);
}

double interesting(std::mt19937_64& random)
{
    static const double edges[] = {
        0.0,    -0.0,   1.0,      -1.0,       0x1p63,  -0x1p63,
        0x1p64, 0x1p62, INFINITY, -INFINITY,  NAN,     5e-324,
        0.5,    -0.5,   1e308,    0x1p53 + 2, -0x1p53, 0x1.fffffffffffffp62};
    switch (random() % 4) {
    case 0:
        return edges[random() % std::size(edges)];
    case 1:
        return as_double(random());
    default:
        return static_cast<double>(static_cast<std::int64_t>(random())) /
               static_cast<double>(1 + random() % 1000000);
    }
}

void expect_same(std::uint64_t got, double wanted)
{
    if (std::isnan(wanted))
        EXPECT_TRUE(std::isnan(as_double(got)));
    else
        EXPECT_EQ(got, bits(wanted));
}

TEST(Float, ComputesAsTheProcessorDoes)
{
    std::mt19937_64 random(1);
    for (int i = 0; i < 100000; i++) {
        double a = interesting(random), b = interesting(random);
        SCOPED_TRACE(testing::Message() << a << " and " << b);
        auto flop = [&](std::uint32_t op) { return dt_flop(op, bits(a), bits(b)); };
        expect_same(flop(DIF_OP_FADD), a + b);
        expect_same(flop(DIF_OP_FSUB), a - b);
        expect_same(flop(DIF_OP_FMUL), a * b);
        expect_same(flop(DIF_OP_FDIV), a / b);
        EXPECT_EQ(flop(DIF_OP_FEQ), a == b);
        EXPECT_EQ(flop(DIF_OP_FLT), a < b);
        EXPECT_EQ(flop(DIF_OP_FLE), a <= b);
        if (testing::Test::HasFailure())
            break;
    }
}

TEST(Float, ConvertsAsTheProcessorDoesWhereItFitsAndToTheNearestElsewhere)
{
    std::mt19937_64 random(2);
    for (int i = 0; i < 100000; i++) {
        double a = interesting(random);
        std::uint64_t n = random() >> random() % 64;
        SCOPED_TRACE(testing::Message() << a << " and " << n);
        expect_same(dt_flop(DIF_OP_FITOD, n, 0),
                    static_cast<double>(static_cast<std::int64_t>(n)));
        expect_same(dt_flop(DIF_OP_FUTOD, n, 0), static_cast<double>(n));
        auto to_signed = static_cast<std::int64_t>(dt_flop(DIF_OP_FDTOI, bits(a), 0));
        std::uint64_t to_unsigned = dt_flop(DIF_OP_FDTOU, bits(a), 0);
        if (std::isnan(a)) {
            EXPECT_EQ(to_signed, 0);
            EXPECT_EQ(to_unsigned, 0u);
        } else if (a >= -0x1p63 && a < 0x1p63) {
            EXPECT_EQ(to_signed, static_cast<std::int64_t>(a));
            EXPECT_EQ(to_unsigned, static_cast<std::uint64_t>(to_signed));
        } else {
            EXPECT_EQ(to_signed, a < 0 ? INT64_MIN : INT64_MAX);
            if (a >= 0x1p64) {
                EXPECT_EQ(to_unsigned, UINT64_MAX);
            } else if (a >= 0) {
                EXPECT_EQ(to_unsigned, static_cast<std::uint64_t>(a));
            }
        }
        auto single = static_cast<float>(a);
        auto low = static_cast<std::uint32_t>(dt_flop(DIF_OP_FDTOS, bits(a), 0));
        if (!std::isnan(a)) {
            EXPECT_EQ(low, std::bit_cast<std::uint32_t>(single));
            expect_same(dt_flop(DIF_OP_FSTOD, low | random() << 32, 0), single);
        }
        if (testing::Test::HasFailure())
            break;
    }
}

TEST(Float, LeavesTheEnvironmentOfItsCallerAlone)
{
    fesetround(FE_UPWARD);
    feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(FE_INVALID | FE_DIVBYZERO); // these exceptions now raise SIGFPE
    std::uint64_t third = dt_flop(DIF_OP_FDIV, bits(1), bits(3));
    std::uint64_t nan = dt_flop(DIF_OP_FDIV, bits(0), bits(0));
    std::uint64_t infinite = dt_flop(DIF_OP_FDIV, bits(1), bits(0));
    int round = fegetround(), raised = fetestexcept(FE_ALL_EXCEPT),
        traps = fegetexcept();
    fedisableexcept(FE_ALL_EXCEPT);
    fesetround(FE_TONEAREST);
    EXPECT_EQ(third, bits(1.0 / 3)); // rounded to nearest
    EXPECT_TRUE(std::isnan(as_double(nan)));
    EXPECT_EQ(infinite, bits(INFINITY));
    EXPECT_EQ(round, FE_UPWARD);
    EXPECT_EQ(raised, 0);
    EXPECT_EQ(traps, FE_INVALID | FE_DIVBYZERO);
}

} // namespace
