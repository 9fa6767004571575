// SPDX-License-Identifier: MIT
// The differential test. It runs an instruction natively, and again from the same state
// by emulation or as a copy. Then it compares the results.
//
//   sandbox   Contains the text and the data. The slot for copies is so far away that
//             32-bit displacements cannot reach the data from there.
//   arrange   Fills the registers with random values. Memory operands point into the
//             data. Jumps lead to a pad, which is a jump back to the test (native.hpp).
//   compare   Compares registers, defined flags, data, vector state and signals.
#pragma once

#include "fasttrap/arch/arch.hpp"
#include "native.hpp"

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace dt::test {

inline std::uint64_t from_environment(const char* name, std::uint64_t otherwise)
{
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}

class Sandbox : public TargetMemory {
public:
    static constexpr std::size_t data_bytes = 16384;
    static constexpr std::size_t code_bytes = 4096;

    Sandbox();
    ~Sandbox() override;
    Sandbox(const Sandbox&) = delete;
    Sandbox& operator=(const Sandbox&) = delete;

    std::span<std::byte> data() const { return {data_, data_bytes}; }
    std::byte* code() const { return code_; }
    std::byte* slot() const { return slot_; }
    static std::uint64_t address(const std::byte* at)
    {
        return reinterpret_cast<std::uint64_t>(at);
    }

    // Both functions accept addresses in the data. read() also accepts addresses in the
    // thread's control block, at fs. All other addresses count as unmapped.
    bool read(TargetAddr from, std::span<std::byte> into) override;
    bool write(TargetAddr to, std::span<const std::byte> bytes) override;

private:
    std::byte* data_ = nullptr;
    std::byte* code_ = nullptr;
    std::byte* slot_ = nullptr;
    std::uint64_t fs_base_ = own_fs_base();
};

struct Case {
    Instruction insn;
    NativeState start;
    std::vector<std::byte> data; // before the run
    std::array<std::uint64_t, 2> pads{};
};

struct Outcome {
    NativeState state;
    std::vector<std::byte> data;
};

enum class Verdict : std::uint8_t {
    skipped,
    refused,
    emulated,
    faulted,
    copied,
    differs
};

class Differential {
public:
    explicit Differential(std::uint64_t seed) : random_(seed) {}

    // Runs one instruction natively, and again by emulation or as a copy. report()
    // explains a verdict of `differs`.
    Verdict check(std::span<const std::byte> bytes);

    // Runs the same test for a sequence of instructions without branches.
    Verdict check_sequence(const std::vector<std::vector<std::byte>>& sequence);

    std::uint64_t n_emulated(unsigned operation) const
    {
        return n_emulated_[operation];
    }
    const std::string& report() const { return report_; }
    std::mt19937_64& random() { return random_; }
    Sandbox& sandbox() { return sandbox_; }

    // Chooses an address in the sandbox and an initial state for the instruction.
    // Returns nullopt if the instruction cannot be tested.
    std::optional<Case> arrange(std::span<const std::byte> bytes);
    Outcome run_native(const Case& c);
    void restore_data(const Case& c);
    bool same_memory(const Case& c, const Outcome& native);
    bool same(const Case& c, const Outcome& native, const NativeState& ours,
              std::uint64_t ignored_flags, bool with_vectors);
    bool pick(unsigned percent) { return random_() % 100 < percent; }
    std::uint64_t interesting();

private:
    Verdict check_emulated(const Case& c, const Outcome& native);
    Verdict check_copied(const Case& c, const Outcome& native, const Displaced& plan);
    bool aim_memory(Case& c);
    bool aim_branch(Case& c);
    void differs(const Case& c, const Outcome& native, const NativeState& ours,
                 const std::string& what);

    std::mt19937_64 random_;
    Sandbox sandbox_;
    std::string report_;
    std::array<std::uint64_t, 128> n_emulated_{};
};

// Returns false if this process must not execute insn, or if the result depends on more
// than the initial state, for example on a clock.
bool may_run(const Instruction& insn);
// Returns whether the memory operand of insn is not accessed (lea, nop).
bool forms_no_access(const Instruction& insn);
bool is_popf(const Instruction& insn);
bool is_string(const Instruction& insn);
std::string disassemble(std::span<const std::byte> bytes);

} // namespace dt::test
