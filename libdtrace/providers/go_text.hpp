// SPDX-License-Identifier: MIT
// Finds the Go code in a module.
//
// A goroutine's stack is a piece of the heap. It has no red zone and no guard page. A
// function first checks for 800 free bytes in addition to its frame, and grows the
// stack if necessary. A callee that does not check (NOSPLIT) may use all of the 800
// bytes, so nothing may be stored below its stack pointer.
//
// A site after the check fires through a jump, which uses at most 216 of the 800 bytes.
// A site before the check, or in a function without a check, fires through a
// breakpoint, which uses no stack. Such a site gets no probe if only a wildcard matched
// the function, because the runtime's busiest functions are of this kind.
//
// Code of gcc -fsplit-stack needs no such rules, because its functions keep 3,584 bytes
// free (libgcc 12).
#pragma once

#include "libdtrace/symbols/process_symbols.hpp"
#include "ptrace-agent/wire/client.hpp"

namespace dt {

// Returns the text that Go's own compiler and assembler generated, at link-time
// addresses. If the symbols do not show where the C code begins, returns all text of
// the program. Returns an empty range if there is no Go code.
AddressRange go_text(ElfImage& image);

struct StackCheck {
    bool is_go = false;
    std::size_t n_bytes = 0; // from the function's start to the end of its check; 0: no
                             // check
    // Returns whether the stack may be full when the instruction at that offset runs.
    bool may_lack_stack(std::uint64_t offset) const
    {
        return is_go && (n_bytes == 0 || offset < n_bytes);
    }
};
StackCheck stack_check_of(ElfImage& image, const AddressRange& go,
                          const Function& function);

} // namespace dt
