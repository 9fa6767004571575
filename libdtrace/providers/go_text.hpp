// SPDX-License-Identifier: MIT
// Finds the Go code in a module. A goroutine's stack has no red zone, and rules of Go's
// linker determine how much space is left at the end of the stack.
//
// A goroutine's stack is a piece of the heap without a guard page. A function first
// checks whether there is enough space for its frame and 800 more bytes, and grows the
// stack if there is not. The 800 bytes are for callees that do not check (NOSPLIT:
// functions of the runtime, assembly, and small leaf functions). Such a function may
// use the last byte of the stack, so nothing may be stored below its stack pointer.
//
// The position of a site determines how it fires:
//
//   after the check        through a jump, which uses at most 216 of the 800 bytes
//   before the check, or   through a breakpoint, which uses no stack. If only a
//   without a check        wildcard matched the function, there is no probe, because
//                          the runtime's busiest functions are of this kind.
//
// Code that gcc compiled with -fsplit-stack needs no such rules. Each of its functions
// compares the stack pointer with a bound that is 3,584 bytes above the end of the
// stack (libgcc 12). If the stack is too small, the function grows it with a call that
// returns to code after the check.
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
    // Returns whether the stack may have no free bytes left when the instruction at the
    // given offset runs.
    bool may_lack_stack(std::uint64_t offset) const
    {
        return is_go && (n_bytes == 0 || offset < n_bytes);
    }
};
StackCheck stack_check_of(ElfImage& image, const AddressRange& go,
                          const Function& function);

} // namespace dt
