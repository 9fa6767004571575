// SPDX-License-Identifier: MIT
// Walks the user stacks in samples. The walk uses the call frame information of the
// mapped files, and frame pointers where there is none.
//
//   process ── mappings, by address ── rules of the file, by offset
//
// A file is read once, in a process without rights (jailed_unwind_rows()). The mappings
// of a process are read when its first sample arrives, after it has executed another
// program, if a walk leads to unknown text, and every ten seconds.
#pragma once

#include "abi/ioctl.h"
#include "libdtrace/session/sampling/perf_sample.hpp"
#include "libdtrace/symbols/mapped_files.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace dt {

// The copied part of the user stack of a sample.
class StackCopy {
public:
    explicit StackCopy(const PerfSample& sample)
        : begin_(sample.user ? (*sample.user)[Reg::rsp] : 0), bytes_(sample.user_stack)
    {
    }
    // Returns at most n bytes at an address. Returns fewer if the copy ends before.
    std::span<const std::byte> bytes(std::uint64_t at, std::uint64_t n) const;
    // Returns false if the word is not in the copy.
    bool word(std::uint64_t at, std::uint64_t& value) const;

private:
    std::uint64_t begin_;
    std::span<const std::byte> bytes_;
};

class SampledStacks {
public:
    // Stores at most `max` program counters, innermost frame first. Returns their number.
    std::uint32_t walk(const PerfSample& sample, std::uint64_t* pcs, std::uint32_t max);
    // Discards the mappings of a process.
    void forget(pid_t pid) { processes_.erase(pid); }
    void forget_all() { processes_.clear(); }

private:
    using Rules = std::vector<dtk_unwind_rule>; // sorted by offset
    struct Text {
        std::uint64_t begin, end, offset;
        const Rules* rules; // null: there are none
    };
    struct Process {
        std::vector<Text> texts; // sorted by address
        std::uint64_t read_at_ns = 0;
    };
    void read(pid_t pid, Process& process);
    const Rules* rules_of(const MappedFiles& files, const Mapping& text);
    const Rules* vdso_rules();
    static const Text* find_text(const Process& process, std::uint64_t at);
    // Returns the text at an address, or null. Reads the mappings if necessary.
    const Text* text_at(pid_t pid, std::uint64_t at);

    std::map<FileVersion, std::unique_ptr<Rules>> files_;
    std::unique_ptr<Rules> vdso_;
    std::map<pid_t, Process> processes_;
};

} // namespace dt
