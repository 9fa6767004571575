// SPDX-License-Identifier: MIT
// How one value is printed when the program did not say how: trace(), key columns,
// stacks, symbols, hex dumps.
//
// One value's bytes and its RecordDesc are enough. All append to a string. Widths are
// those of classic DTrace: integers in 4, 6, 9, 17 columns by size, text after two
// blanks in a column of 33 (trace) or 50 (keys). Quiet drops the padding of trace().
#pragma once

#include "base/printable.hpp"
#include "libdtrace/consume/display.hpp"
#include "libdtrace/consume/record.hpp"
#include "libdtrace/consume/symbolizer.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace dt {

struct PrintContext {
    Symbolizer& symbols;
    const Display& display;
};

// Text is left-justified, in a packed table right-justified.
enum class Column { Trace = 33, Key = 50, Packed = 16 };

enum class Padding { None, Column };
void put_float(std::string& out, double value, Padding padding);

// Returns how text of this value is printed: names are always escaped, a target's
// strings only on a terminal.
Escaping escaping_of(TextOrigin origin, const Display& display);
Escaping escaping_of(const RecordDesc& desc, const Display& display);

// Any recorded value: number, text, bytes, stack, symbol.
void put_value(std::string& out, const PrintContext& context, const RecordDesc& desc,
               std::span<const std::byte> bytes, Column column);

// Prints bytes that look like text as text, others (and all with rawbytes) as a hex
// dump.
void put_bytes(std::string& out, std::span<const std::byte> bytes, Column column,
               const Display& display, Escaping escaping);
void put_hex_dump(std::string& out, std::span<const std::byte> bytes);

// A newline and a line per frame. arg: DTRACE_USTACK_ARG; bytes: pid, then frames.
void put_ustack(std::string& out, Symbolizer& symbols, std::span<const std::byte> bytes,
                std::uint64_t arg, std::uint64_t indent);
void put_kstack(std::string& out, Symbolizer& symbols, std::span<const std::byte> bytes,
                std::uint64_t indent);
bool is_stack(std::uint32_t action);

// The name that a sym(), mod(), usym(), umod() or uaddr() value stands for; empty for
// other actions.
std::string symbol_text(Symbolizer& symbols, std::uint32_t action,
                        std::span<const std::byte> bytes);

// Text of a D string or char array; whole bytes when it has no NUL.
bool looks_like_text(std::span<const std::byte> bytes);

} // namespace dt
