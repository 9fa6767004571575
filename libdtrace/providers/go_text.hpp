// SPDX-License-Identifier: MIT
// The Go code in a module, whose stacks have no red zone and end where Go's linker
// says.
//
// A goroutine's stack is a piece of the heap without a guard page. A function first
// checks whether there is enough space for its frame and 800 more bytes, and grows the
// stack if there is not. The 800 bytes are for callees that do not check (NOSPLIT:
// functions of the runtime, assembly, and small leaf functions). Such a function may
// use the last byte of the stack, so nothing may be stored below its stack pointer.
//
//   after the check            800 bytes are left: jumps, which use 216 at most
//   before it, or without one  breakpoints, which use none; no probe if only a wildcard
//                              matched the function, because the runtime's busiest
//                              functions are of this kind
//
// Code that gcc compiled with -fsplit-stack needs none of this. Each of its functions
// checks, and the bound that it compares with is 3,584 bytes above the end of the piece
// (libgcc 12). A stack that was too small is grown by a call that returns to code after
// the check.
#pragma once

#include "libdtrace/symbols/process_symbols.hpp"
#include "ptrace-agent/wire/client.hpp"

namespace dt {

// Returns the text that Go's own compiler and assembler made, at link-time addresses.
// Returns all text of a Go program if its symbols do not say where its C code begins.
// Returns an empty range if there is no Go code.
AddressRange go_text(ElfImage& image);

struct StackCheck {
    bool is_go = false;
    std::size_t n_bytes = 0; // up to the end of the function's check; 0: no check
    // Returns whether the stack may have no free byte when the instruction at that
    // offset runs.
    bool may_lack_stack(std::uint64_t offset) const
    {
        return is_go && (n_bytes == 0 || offset < n_bytes);
    }
};
StackCheck stack_check_of(ElfImage& image, const AddressRange& go,
                          const Function& function);

} // namespace dt
