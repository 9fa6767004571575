// SPDX-License-Identifier: MIT
// Runs the fuzz target without libFuzzer on every seed and on mutations of the seeds.
// The environment variable DOF_FUZZ_RUNS sets the number of mutations (default:
// 100000). The random generator has a fixed seed, so each run has the same inputs.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <random>

#include "tests/fuzz/dof/seeds.hpp"
#include "tests/unit/n_cases.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes);

namespace {

void run(const std::vector<char>& image)
{
    // Allocate exactly the image's size, so that sanitizers detect a read past its end.
    std::vector<std::uint8_t> copy(image.begin(), image.end());
    LLVMFuzzerTestOneInput(copy.data(), copy.size());
}

// Changes a few bytes or words, so that most of the image stays valid.
void mutate(std::vector<char>& image, std::mt19937_64& random)
{
    static const std::uint64_t words[] = {
        0, 1, 7, 0xff, 0xffffffff, ~0ull, 1ull << 63, 0x4454000000000000, 0x500, 64};
    for (unsigned n = 1 + random() % 4; n-- > 0;) {
        std::size_t at = random() % image.size();
        std::size_t bytes = std::min<std::size_t>(1 << random() % 4, image.size() - at);
        switch (random() % 4) {
        case 0:
            image[at] = static_cast<char>(random());
            break;
        case 1:
            image[at] ^= 1 << random() % 8;
            break;
        case 2:
            std::memcpy(&image[at], &words[random() % std::size(words)], bytes);
            break;
        case 3: {
            std::size_t from = random() % (image.size() - bytes + 1);
            std::memmove(&image[at], &image[from], bytes);
            break;
        }
        }
    }
}

} // namespace

TEST(DofFuzz, SeedsAndTheirMutationsStayInTheArena)
{
    auto seeds = dif_test::dof_seeds();
    const char* wanted = std::getenv("DOF_FUZZ_RUNS");
    std::uint64_t runs =
        wanted ? std::strtoull(wanted, nullptr, 0) : dt::test::n_cases(100000);
    std::mt19937_64 random(1);
    ASSERT_GT(seeds.size(), 300u);

    for (const auto& seed : seeds)
        run(seed);
    for (std::uint64_t i = 0; i < runs; i++) {
        auto image = seeds[random() % seeds.size()];
        mutate(image, random);
        run(image);
    }
}
