// SPDX-License-Identifier: MIT
// Prints one value for which the program gives no format, for example the argument of
// trace() or a part of a key.
//
// The widths are those of classic DTrace. An integer fills 4, 6, 9 or 17 columns,
// depending on its size. Quiet mode omits the padding of trace().
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

// Each enumerator is the width of a text field in that part of the output.
enum class Column { Trace = 33, Key = 50, Packed = 16 };

enum class Padding { None, Column };
void put_float(std::string& out, double value, Padding padding);

// Names are always escaped. Strings from a target are escaped only on a terminal.
Escaping escaping_of(TextOrigin origin, const Display& display);
Escaping escaping_of(const RecordDesc& desc, const Display& display);

// Prints any recorded value.
void put_value(std::string& out, const PrintContext& context, const RecordDesc& desc,
               std::span<const std::byte> bytes, Column column);

// Prints bytes as text if possible, otherwise as a hex dump. With rawbytes, always
// prints a hex dump.
void put_bytes(std::string& out, std::span<const std::byte> bytes, Column column,
               const Display& display, Escaping escaping);
void put_hex_dump(std::string& out, std::span<const std::byte> bytes);

// Prints a newline, then a line for each frame, indented by `indent` columns. `arg` is
// a DTRACE_USTACK_ARG; `bytes` contains the pid and then the frames.
void put_ustack(std::string& out, Symbolizer& symbols, std::span<const std::byte> bytes,
                std::uint64_t arg, std::uint64_t indent);
void put_kstack(std::string& out, Symbolizer& symbols, std::span<const std::byte> bytes,
                std::uint64_t indent);
bool is_stack(std::uint32_t action);

// Replaces the address in the value of a sym(), mod(), usym() or umod() with the first
// address of its symbol or module.
void begin_symbol(Symbolizer& symbols, std::uint32_t action,
                  std::span<std::byte> bytes);
// Returns whether begin_symbol() may change the value of this action.
bool is_symbol(std::uint32_t action);
// Returns the name for the value of a sym(), mod(), usym(), umod() or uaddr(). Returns
// an empty string for other actions.
std::string symbol_text(Symbolizer& symbols, std::uint32_t action,
                        std::span<const std::byte> bytes);

bool looks_like_text(std::span<const std::byte> bytes);

} // namespace dt
