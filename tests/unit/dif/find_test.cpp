// SPDX-License-Identifier: MIT
// Tests dif/find.c, which finds one string in another.
#include "dif/find.h"
#include "tests/unit/n_cases.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>

namespace {

dt_slice as_slice(const std::string& text)
{
    return {reinterpret_cast<const dt_u8*>(text.data()), text.size()};
}

std::uint64_t place_of(const std::string& a, const std::string& b, std::uint64_t from)
{
    dt_slice in = as_slice(a), of = as_slice(b);
    return dt_find(&in, &of, from);
}

std::uint64_t last_place_of(const std::string& a, const std::string& b,
                            std::uint64_t from)
{
    dt_slice in = as_slice(a), of = as_slice(b);
    return dt_find_last(&in, &of, from);
}

// Returns a string that contains only a few different letters. Repeated letters make
// searches slow.
std::string letters(std::mt19937& random, std::size_t length, int n_letters)
{
    std::string text(length, 'a');
    for (char& c : text)
        c = static_cast<char>('a' + random() % n_letters);
    return text;
}

std::string repeated(const std::string& part, std::size_t length)
{
    std::string text;
    while (text.size() < length)
        text += part;
    return text.substr(0, length);
}

} // namespace

TEST(Find, FindsWhatAComparisonAtEachPlaceFinds)
{
    std::mt19937 random(1);
    for (int i = 0; i < 20000; i++) {
        std::string a = letters(random, random() % 200, 2), b;
        switch (random() % 3) {
        case 0:
            b = letters(random, random() % 10, 2);
            break;
        case 1:
            b = a.substr(random() % (a.size() + 1), random() % 120);
            break;
        default:
            a = repeated(letters(random, 1 + random() % 9, 2), a.size());
            b = repeated(letters(random, 1 + random() % 9, 2), random() % 120);
            if (random() % 2)
                b = a.substr(random() % (a.size() + 1), random() % 120);
        }
        if (!b.empty() && random() % 4 == 0)
            b[random() % b.size()] ^= 1;
        std::uint64_t from = random() % (a.size() + 1);
        EXPECT_EQ(place_of(a, b, from), std::uint64_t{a.find(b, from)})
            << a << " " << b;
        EXPECT_EQ(last_place_of(a, b, from), std::uint64_t{a.rfind(b, from)})
            << a << " " << b;
    }
}

// A search that starts a comparison at each position would take a minute.
TEST(Find, TakesATimeThatIsLinearInBothLengths)
{
    const std::string many(64 << 10, 'a'), half(32 << 10, 'a');
    const auto begun = std::chrono::steady_clock::now();
    for (std::uint64_t i = dt::test::n_cases(1000); i > 0; i--) {
        EXPECT_EQ(place_of(many, half + "b", 0), DT_NOT_FOUND);
        EXPECT_EQ(place_of(many, "b" + half, 0), DT_NOT_FOUND);
        EXPECT_EQ(last_place_of(many, "b" + half, many.size()), DT_NOT_FOUND);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(30));
}
