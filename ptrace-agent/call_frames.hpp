// SPDX-License-Identifier: MIT
// The call frame information of a file, and what it says at one place of its text, as a
// struct dt_rt_rule where that is one.
#pragma once

#include "base/fd.hpp"
#include "base/target_addr.hpp"
#include "ptrace-agent/runtime/runtime.h"

#include <cstdlib>
#include <elfutils/libdw.h>
#include <memory>
#include <optional>
#include <vector>

namespace dt::agent {

struct FreeFrame {
    void operator()(Dwarf_Frame* frame) const { std::free(frame); }
};
using FrameHandle = std::unique_ptr<Dwarf_Frame, FreeFrame>;

class CallFrames {
public:
    // A larger file counts as one without call frame information. If a file has no
    // section headers, libdw reads everything after its beginning.
    static constexpr std::uint64_t max_file_bytes = std::uint64_t{1} << 30;

    explicit CallFrames(Fd file); // a regular one
    ~CallFrames();
    CallFrames(const CallFrames&) = delete;
    CallFrames& operator=(const CallFrames&) = delete;

    bool are_there() const { return cfi_ != nullptr; }
    // Of what is at this offset of the file: its address in the file's own terms.
    std::optional<std::uint64_t> address_of(std::uint64_t offset) const;
    FrameHandle frame_at(std::uint64_t address) const; // null: it says nothing there

    // A range of text that is in the file: its addresses, and the file offset of the
    // first one. No two parts share bytes of the file.
    struct Part {
        std::uint64_t begin = 0, end = 0, offset = 0;
    };
    const std::vector<Part>& text() const { return text_; }

private:
    void find_text();

    Fd fd_;
    std::uint64_t file_bytes_ = 0;
    std::vector<Part> text_;
    Elf* elf_ = nullptr;
    Dwarf_CFI* cfi_ = nullptr;
};

// at: the address that the rule is to have. Nothing: no rule says it.
std::optional<dt_rt_rule> rule_of(Dwarf_Frame* frame, TargetAddr at);
bool is_of_signal(Dwarf_Frame* frame);
// Does it say something else at each address, though it is one frame?
bool is_computed(Dwarf_Frame* frame);

} // namespace dt::agent
