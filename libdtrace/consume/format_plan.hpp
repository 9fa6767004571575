// SPDX-License-Identifier: MIT
// Implements printf. A FormatPlan is a parsed Format that is bound to the parts of a
// record.
//
//   Format + RecordDesc[] ──once──> FormatPlan ──per record──> text
//
// Integers and strings without flags have a fast path. A width or precision for `*`
// comes from a record, which a target can forge. Both are limited to max_width.
#pragma once

#include "libdtrace/compile/format.hpp"
#include "libdtrace/consume/aggregates.hpp"
#include "libdtrace/consume/output.hpp"
#include "libdtrace/consume/values.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dt {

constexpr int max_width = 1 << 24;

struct FormatStep;
struct FormatItem {
    std::string& out;
    const PrintContext& context;
    const FormatStep& step;
    std::span<const std::byte> bytes;
    int width, precision; // precision -1: not given
    bool left;
    Escaping escaping() const;
};
using FormatPrinter = void (*)(FormatItem& item);

struct FormatStep {
    enum class Path : std::uint8_t {
        Literal,
        Signed,
        Unsigned,
        Hex,
        Text,
        General,
        Agg
    };
    std::string literal;
    Path path = Path::Literal;
    FormatPrinter print = nullptr;
    Conversion conversion;
    char letter = 0;        // the conversion letter: the d of %lld
    bool is_signed = false; // the value's type is signed
    std::uint32_t action = 0;
    TextOrigin origin = TextOrigin::Program;
    std::uint64_t arg = 0;
    std::uint32_t offset = 0, size = 0;
    // The positions of the values for `*` in the record. The size is 0 if there is no
    // `*`.
    std::uint32_t width_offset = 0, width_size = 0;
    std::uint32_t precision_offset = 0, precision_size = 0;
};

inline Escaping FormatItem::escaping() const
{
    return escaping_of(step.origin, context.display);
}

// One column of a printa() row. A column without an entry prints as zero.
struct AggColumn {
    const AggDesc* agg = nullptr;
    const AggEntry* entry = nullptr;
};

class FormatPlan {
public:
    // `values` contains the values of the statement in order, including those for `*`.
    FormatPlan(const Format& format, std::span<const RecordDesc> values);

    // Offsets in the record descriptions are relative to `base`.
    void print(std::string& out, const PrintContext& context,
               std::span<const std::byte> base) const;
    // Prints a record or a row of printa(). If out.wants_pieces() returns true, commits
    // each conversion as its own piece. Otherwise commits nothing.
    Result<Ok> print_pieces(Output& out, const PrintContext& context,
                            std::span<const std::byte> base, Piece piece,
                            std::span<const AggColumn> columns) const;

private:
    void print_step(std::string& out, const PrintContext& context,
                    const FormatStep& step, std::span<const std::byte> base) const;

    std::vector<FormatStep> steps_;
    std::size_t min_bytes_ = 0; // minimum size of the data that the steps read
};

// Returns the printer for a conversion such as "d" or "lld", or null if unknown.
FormatPrinter find_printer(std::string_view name);
void put_number(std::string& out, const FormatStep& step, std::int64_t value,
                bool is_signed, int width, int precision, bool left);
void put_double(FormatItem& item, long double value);

} // namespace dt
