// SPDX-License-Identifier: MIT
// Implements printa(). A row consists of a key and one column for each aggregation. If
// an aggregation lacks the key, its column prints as zero or as an empty distribution.
#pragma once

#include "libdtrace/consume/agg_packed.hpp"
#include "libdtrace/consume/format_plan.hpp"

#include <span>
#include <vector>

namespace dt {

// Prints a column's value with a conversion such as %@d.
void put_agg_conversion(FormatItem& item, const AggColumn& column);

// Prints keys, values and a newline, and commits them. If out.wants_pieces() returns
// true, commits each key and each value separately. `tables` describes all rows that
// are printed.
Result<Ok> print_agg_row(Output& out, const PrintContext& context,
                         std::span<const AggColumn> columns, Piece piece,
                         PackedTables* tables = nullptr);

// Uses the default form if `format` is null.
Result<Ok> print_joined(Output& out, const PrintContext& context,
                        Aggregates& aggregates, std::span<const std::uint32_t> ids,
                        const Format* format, Piece piece);

} // namespace dt
