// SPDX-License-Identifier: MIT
// agghist and aggpack print an aggregation as one table with a row for each key.
//
//              key  ------------- Distribution ------------- count      agghist: count(),
//             bash |@@@@@@@@@@@@@@@@                         12         sum()
//
//              key min .------. max | count                             aggpack: quantize(),
//             bash   1 :  xX_ : 64  | 12                                lquantize()
//
// The rows of agghist share a scale. Each row of aggpack has its own scale. All rows of
// quantize() show the same buckets.
#pragma once

#include "libdtrace/consume/distribution.hpp"
#include "libdtrace/consume/values.hpp"

#include <map>
#include <span>

namespace dt {

class PackedTables {
public:
    // `rows` contains all rows that will be printed.
    PackedTables(std::span<AggEntry* const> rows, const Display& display);
    // Prints the row, and before the first row also the table's header. Returns false
    // if the row is not part of a table.
    bool put_row(std::string& out, const PrintContext& context, const AggEntry& row);

private:
    enum class Kind { Histogram, Packed };
    struct Table {
        Kind kind = Kind::Histogram;
        BarScale scale;                 // for Histogram
        std::size_t first = 0, end = 0; // for Packed: the range of buckets shown
        bool begun = false;             // the header has been printed
    };
    void put_header(std::string& out, const Table& table, const AggEntry& row) const;
    void put_packed(std::string& out, const Table& table, const AggEntry& row) const;

    const Display& display_;
    std::map<const AggDesc*, Table> tables_;
};

} // namespace dt
