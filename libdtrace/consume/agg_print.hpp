// SPDX-License-Identifier: MIT
// Implements printa(). Prints rows of keys and values, in the default form or with a
// format.
//
// The columns of a row are the aggregations of the statement. The key is taken from the
// first column that contains it. A column without this key prints as zero or as an
// empty distribution.
#pragma once

#include "libdtrace/consume/agg_packed.hpp"
#include "libdtrace/consume/format_plan.hpp"

#include <span>
#include <vector>

namespace dt {

// Prints a column's value (a number or a distribution) with a conversion such as %@d.
void put_agg_conversion(FormatItem& item, const AggColumn& column);

// Prints keys, values and a newline. Commits the row as one piece, or each key and
// value as a piece of its own if the output requires that (output.hpp). `tables`
// describes all rows that are printed, because some of them may form one table.
Result<Ok> print_agg_row(Output& out, const PrintContext& context,
                         std::span<const AggColumn> columns, Piece piece,
                         PackedTables* tables = nullptr);

// Prints all rows of these aggregations, each with `format`, or in the default form if
// `format` is null.
Result<Ok> print_joined(Output& out, const PrintContext& context,
                        Aggregates& aggregates, std::span<const std::uint32_t> ids,
                        const Format* format, Piece piece);

} // namespace dt
