// SPDX-License-Identifier: MIT
// Compares emulated and moved instructions with the originals. FASTTRAP_SEED and
// FASTTRAP_CASES set the seed and the number of cases.
#include "corpus.hpp"
#include "differential.hpp"

#include "fasttrap/arch/x86_64/opcodes.hpp"
#include "tests/unit/n_cases.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

using namespace dt;
using namespace dt::test;

namespace {

class Tally {
public:
    // Returns false after ten failures.
    bool add(Verdict verdict, Differential& differential)
    {
        ++counts_[verdict];
        if (verdict == Verdict::differs)
            ADD_FAILURE() << differential.report();
        return counts_[Verdict::differs] < 10;
    }
    std::uint64_t compared()
    {
        return counts_[Verdict::emulated] + counts_[Verdict::copied];
    }
    void print(const char* what)
    {
        std::printf(
            "%s: %llu emulated, %llu copied, %llu faulted alike, %llu refused, %llu "
            "skipped\n",
            what, n(Verdict::emulated), n(Verdict::copied), n(Verdict::faulted),
            n(Verdict::refused), n(Verdict::skipped));
    }
    unsigned long long n(Verdict verdict) { return counts_[verdict]; }

private:
    std::map<Verdict, std::uint64_t> counts_;
};

class DifferentialTest : public testing::Test {
protected:
    void SetUp() override
    {
        if (!native_supported())
            GTEST_SKIP() << "the processor lacks XSAVE";
        std::printf("FASTTRAP_SEED=%llu\n", static_cast<unsigned long long>(seed_));
    }
    std::uint64_t seed_ = from_environment("FASTTRAP_SEED", 20240917);
    std::uint64_t n_cases_ = from_environment("FASTTRAP_CASES", 30000);
    Differential differential_{seed_};
};

TEST_F(DifferentialTest, InstructionsFromTheTablesDoWhatTheProcessorDoes)
{
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP()
        << "random addresses may lie in AddressSanitizer's shadow memory, which "
           "its own checks change between two runs";
#endif
    Tally tally;
    while (tally.compared() < n_cases_) {
        if (!tally.add(differential_.check(random_instruction(differential_.random())),
                       differential_))
            break;
    }
    tally.print("tables");
    EXPECT_GT(tally.n(Verdict::copied), n_cases_ / 10);
#define X(name)                                                                        \
    EXPECT_GT(differential_.n_emulated(static_cast<unsigned>(x86::Op::name)),          \
              n_cases_ / 2000)                                                         \
        << #name;
    X86_OPERATIONS(X)
#undef X
}

TEST_F(DifferentialTest, InstructionsOfRealBinariesDoWhatTheProcessorDoes)
{
    for (const char* path :
         {"/usr/lib/x86_64-linux-gnu/libc.so.6",
          "/usr/lib/x86_64-linux-gnu/libcrypto.so.3", "/usr/bin/python3"}) {
        std::vector<Bytes> found = harvest(path, test::n_cases(200000));
        Tally tally;
        for (std::size_t i = 0; i < n_cases_ / 3 && !found.empty(); ++i) {
            const Bytes& bytes = found[differential_.random()() % found.size()];
            if (!tally.add(differential_.check(bytes), differential_))
                break;
        }
        tally.print(path);
        if (!found.empty()) {
            EXPECT_GT(tally.compared(), n_cases_ / 6) << path;
        }
    }
}

TEST_F(DifferentialTest, SequencesDoWhatTheProcessorDoes)
{
    Tally tally;
    while (tally.compared() < n_cases_ / 8) {
        std::vector<Bytes> sequence;
        for (int i = 0; i < 8; ++i)
            sequence.push_back(random_instruction(differential_.random()));
        if (!tally.add(differential_.check_sequence(sequence), differential_))
            break;
    }
    tally.print("sequences");
}

} // namespace
