// SPDX-License-Identifier: MIT
// printa(): rows of keys and values, in the default form and under a format.
//
// A row's columns are the statement's aggregations; its key is that of any of them. A
// column without that key prints as zero, or as an empty distribution.
#pragma once

#include "libdtrace/consume/agg_packed.hpp"
#include "libdtrace/consume/format_plan.hpp"

#include <span>
#include <vector>

namespace dt {

// The value of a column under a conversion (%@d): number or distribution.
void put_agg_conversion(FormatItem& item, const AggColumn& column);

// Keys, values, newline; commits pieces when the output wants them. tables: of the rows
// that are printed, where some may be drawn as one.
Result<Ok> print_agg_row(Output& out, const PrintContext& context,
                         std::span<const AggColumn> columns, Piece piece,
                         PackedTables* tables = nullptr);

// All rows of these aggregations, each by plan or (null) in the default form.
Result<Ok> print_joined(Output& out, const PrintContext& context,
                        Aggregates& aggregates, std::span<const std::uint32_t> ids,
                        const Format* format, Piece piece);

} // namespace dt
