// SPDX-License-Identifier: MIT
// Runs more than 100,000 sequences of instructions in trampolines and at their original
// addresses.
//
// FASTTRAP_SEED and FASTTRAP_CASES set the seed and the number of cases. The seed is
// printed.
#include "corpus.hpp"
#include "own_functions.hpp"
#include "window_runs.hpp"

#include "fasttrap/arch/x86_64/opcodes.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

using namespace dt;
using namespace dt::test;

namespace {

class WindowTest : public testing::Test {
protected:
    void SetUp() override
    {
        if (!native_supported())
            GTEST_SKIP() << "the processor lacks XSAVE";
#ifdef __SANITIZE_ADDRESS__
        GTEST_SKIP() << "random addresses may lie in AddressSanitizer's shadow memory";
#endif
        std::printf("FASTTRAP_SEED=%llu\n", static_cast<unsigned long long>(seed_));
    }
    void TearDown() override
    {
        std::printf("%llu same, %llu faulted alike, %llu refused, %llu skipped\n",
                    n(WindowRuns::same), n(WindowRuns::faulted), n(WindowRuns::refused),
                    n(WindowRuns::skipped));
    }
    unsigned long long n(WindowRuns::Ended ended)
    {
        return counts_[ended];
    }
    unsigned long long n(PatchForm form)
    {
        return runs_.n_forms[form];
    }
    // Counts the result of a run. Returns false after five failures.
    bool add(WindowRuns::Ended ended)
    {
        ++counts_[ended];
        if (ended == WindowRuns::differs)
            ADD_FAILURE() << runs_.report();
        return counts_[WindowRuns::differs] < 5;
    }

    static bool is_push_or_pop(const Instruction& insn)
    {
        auto op = static_cast<x86::Op>(insn.operation);
        return op == x86::Op::push || op == x86::Op::pushf ||
               (op == x86::Op::pop && insn.operands[0].number != Reg::rsp);
    }

    // Returns an instruction that does not depend on the code around it, and does not
    // write the registers in must_not_write. Only a push or a pop may change rsp.
    Bytes simple(std::uint16_t must_not_write)
    {
        for (;;) {
            Bytes bytes = random_instruction(differential_.random());
            auto insn = x86_64.decode(bytes, TargetAddr{0x1000});
            if (!insn || insn->flow != ControlFlow::next || is_string(*insn) ||
                (insn->has_memory && !forms_no_access(*insn)) || is_popf(*insn) ||
                (insn->writes & must_not_write) != 0 ||
                ((insn->writes & rsp_bit) != 0 && !is_push_or_pop(*insn)) ||
                x86_64.moving(*insn).how != Moving::anywhere || !may_run(*insn))
                continue;
            bytes.resize(insn->length);
            return bytes;
        }
    }
    // Returns a random instruction, the key, with a few simple instructions around it.
    // Stores the index of the key in `key`.
    std::vector<Bytes> random_sequence(std::size_t& key)
    {
        std::uint16_t kept = 0;
        Bytes at_key;
        for (;;) {
            at_key = random_instruction(differential_.random());
            auto insn = x86_64.decode(at_key, TargetAddr{0x1000});
            if (!insn || !may_run(*insn))
                continue;
            if (insn->flow == ControlFlow::next && differential_.pick(60))
                continue; // about half of the instructions must be branches and calls
            kept = insn->reads;
            break;
        }
        std::vector<Bytes> out;
        key = differential_.random()() % 4;
        for (std::size_t i = 0; i < key; ++i)
            out.push_back(simple(kept));
        out.push_back(at_key);
        for (std::size_t i = differential_.random()() % 3; i > 0; --i)
            out.push_back(simple(0));
        return out;
    }

    // Returns a random_sequence() after up to four instructions of one to three bytes.
    std::vector<Bytes> short_sequence(std::size_t& key)
    {
        std::vector<Bytes> out;
        for (std::size_t i = differential_.random()() % 5; i > 0;) {
            Bytes bytes = simple(0);
            if (bytes.size() > 3)
                continue;
            out.push_back(bytes);
            --i;
        }
        std::size_t at = 0;
        std::vector<Bytes> tail = random_sequence(at);
        key = out.size() + at;
        out.insert(out.end(), tail.begin(), tail.end());
        return out;
    }

    static constexpr std::uint16_t rsp_bit = 1U << static_cast<unsigned>(Reg::rsp);
    std::uint64_t seed_ = from_environment("FASTTRAP_SEED", 20240917);
    std::uint64_t n_cases_ = from_environment("FASTTRAP_CASES", 30000);
    Differential differential_{seed_};
    WindowRuns runs_{differential_};
    std::map<WindowRuns::Ended, unsigned long long> counts_;
};

TEST_F(WindowTest, RandomSequencesDoTheSameInTrampolines)
{
    while (n(WindowRuns::same) < n_cases_) {
        std::size_t key = 0;
        std::vector<Bytes> sequence = random_sequence(key);
        if (!add(runs_.run(sequence, key)))
            break;
    }
    for (auto flow :
         {ControlFlow::next, ControlFlow::jump, ControlFlow::branch, ControlFlow::call,
          ControlFlow::jump_indirect, ControlFlow::call_indirect, ControlFlow::ret})
        EXPECT_GT(runs_.n_moved[flow], n_cases_ / 400) << static_cast<int>(flow);
    std::printf(
        "%llu plain, %llu pairs, %llu punned; %llu prefixed; %llu from behind a jump\n",
        n(PatchForm::plain), n(PatchForm::pair), n(PatchForm::punned),
        static_cast<unsigned long long>(runs_.n_prefixed),
        static_cast<unsigned long long>(runs_.n_from_behind));
    EXPECT_GT(n(PatchForm::pair), n_cases_ / 50);
    EXPECT_GT(n(PatchForm::punned), n_cases_ / 500);
    EXPECT_GT(runs_.n_prefixed, n_cases_ / 1000);
    EXPECT_GT(runs_.n_from_behind, n_cases_ / 100);
}

TEST_F(WindowTest, ShortBlocksDoTheSameInChains)
{
    runs_.dense_targets = true;
    while (n(WindowRuns::same) < n_cases_ / 3) {
        std::size_t key = 0;
        std::vector<Bytes> sequence = short_sequence(key);
        if (!add(differential_.pick(30) ? runs_.run_and_leave(sequence, key)
                                        : runs_.run(sequence, key)))
            break;
    }
    std::printf("%llu chains; %llu from behind a jump\n", n(PatchForm::chain),
                static_cast<unsigned long long>(runs_.n_from_behind));
    EXPECT_GT(n(PatchForm::chain), n_cases_ / 200);
    EXPECT_GT(runs_.n_from_behind, n_cases_ / 200);
}

TEST_F(WindowTest, AThreadCanLeaveATrampolineAnywhere)
{
    while (n(WindowRuns::same) < n_cases_ / 3) {
        std::size_t key = 0;
        std::vector<Bytes> sequence = random_sequence(key);
        if (!add(runs_.run_and_leave(sequence, key)))
            break;
    }
    for (auto kind : {PatchPlace::head, PatchPlace::tail, PatchPlace::moved,
                      PatchPlace::inside, PatchPlace::leaving})
        EXPECT_GT(runs_.n_left[kind], n_cases_ / 3000) << static_cast<int>(kind);
}

TEST_F(WindowTest, TextOfRealFunctionsDoesTheSameInTrampolines)
{
    for (const char* path :
         {"/usr/lib/x86_64-linux-gnu/libc.so.6",
          "/usr/lib/x86_64-linux-gnu/libcrypto.so.3", "/usr/bin/python3"}) {
        Image image(path);
        std::vector<Image::Function> functions;
        for (const auto& [name, function] : image.functions)
            functions.push_back(function);
        for (std::size_t i = 0; i < n_cases_ / 2 && !functions.empty(); ++i) {
            const auto& function =
                functions[differential_.random()() % functions.size()];
            std::vector<std::byte> text = image.text(function);
            std::vector<Bytes> all;
            for (std::size_t at = 0; at < text.size() && all.size() < 40;) {
                auto insn = x86_64.decode(std::span(text).subspan(at), TargetAddr{at});
                if (!insn)
                    break;
                all.emplace_back(insn->bytes.begin(),
                                 insn->bytes.begin() + insn->length);
                at += insn->length;
            }
            std::size_t first = all.empty() || differential_.pick(30)
                                    ? 0
                                    : differential_.random()() % all.size();
            std::size_t n = std::min<std::size_t>(all.size() - first,
                                                  1 + differential_.random()() % 6);
            std::vector<Bytes> sequence(
                all.begin() + static_cast<std::ptrdiff_t>(first),
                all.begin() + static_cast<std::ptrdiff_t>(first + n));
            if (sequence.empty())
                continue;
            if (!add(runs_.run(sequence, differential_.random()() % sequence.size())))
                break;
        }
    }
    EXPECT_GT(n(WindowRuns::same) + n(WindowRuns::faulted), n_cases_ / 2);
}

TEST_F(WindowTest, EveryByteThatIsSaidToTrapTrapsWhateverFollowsIt)
{
    Sandbox& sandbox = differential_.sandbox();
    unsigned n_traps = 0;
    for (unsigned byte = 0; byte < 256; ++byte) {
        if (!x86_64.traps(static_cast<std::byte>(byte)))
            continue;
        ++n_traps;
        for (int round = 0; round < 200; ++round) {
            std::byte* at = sandbox.code() + 512;
            for (int i = 0; i < 16; ++i)
                at[i] = static_cast<std::byte>(differential_.random()());
            at[0] = static_cast<std::byte>(byte);
            NativeState state;
            for (std::uint64_t& reg : state.regs.general)
                reg = differential_.interesting();
            state.regs[Reg::rsp] = Sandbox::address(sandbox.data().data()) + 8192;
            state.regs.rflags = 0x202;
            state.regs.rip = Sandbox::address(at);
            native_run(state, {});
            EXPECT_TRUE(state.signal == SIGILL || state.signal == SIGSEGV ||
                        state.signal == SIGTRAP)
                << byte;
            EXPECT_EQ(state.regs.rip, Sandbox::address(at) + (byte == 0xcc ? 1 : 0))
                << byte;
        }
    }
    EXPECT_GE(n_traps, 20U);
}

} // namespace
