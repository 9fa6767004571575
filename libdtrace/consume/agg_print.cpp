// SPDX-License-Identifier: MIT
#include "libdtrace/consume/agg_print.hpp"

#include "libdtrace/consume/agg_value.hpp"
#include "libdtrace/consume/distribution.hpp"
#include "libdtrace/consume/numbers.hpp"

#include <algorithm>

#include <cstring>

namespace dt {

namespace {

struct ColumnValue {
    std::vector<std::byte> zeros; // used if the column has no entry
    std::span<const std::byte> words;
    std::uint64_t normal = 1;
};

ColumnValue value_of(const AggColumn& column)
{
    ColumnValue value;
    if (column.entry) {
        value.words = column.entry->value();
        value.normal = column.entry->normal;
    } else {
        value.zeros =
            zero_value(column.agg->function, column.agg->arg, column.agg->value_bytes);
        value.words = value.zeros;
    }
    return value;
}

const AggEntry* key_of(std::span<const AggColumn> columns)
{
    for (const AggColumn& column : columns)
        if (column.entry)
            return column.entry;
    return nullptr;
}

void put_agg_value(std::string& out, const PrintContext& context,
                   const AggColumn& column)
{
    ColumnValue value = value_of(column);
    if (is_distribution(column.agg->function)) {
        put_distribution(out, column.agg->function, column.agg->arg, value.words,
                         value.normal, context.display);
        return;
    }
    const AggDesc& agg = *column.agg;
    if (holds_doubles(agg.function, agg.arg)) {
        put_float(out, shown_double(agg.function, value.words, value.normal),
                  Padding::Column);
        return;
    }
    out.push_back(' ');
    put_signed(out, shown_number(agg.function, agg.arg, value.words, value.normal), 16);
}

} // namespace

void put_agg_conversion(FormatItem& item, const AggColumn& column)
{
    ColumnValue value = value_of(column);
    if (is_distribution(column.agg->function)) {
        put_distribution(item.out, column.agg->function, column.agg->arg, value.words,
                         value.normal, item.context.display);
        return;
    }
    const AggDesc& agg = *column.agg;
    char letter = item.step.letter;
    if (std::strchr("eEfFgG", letter) != nullptr) {
        put_double(item, holds_doubles(agg.function, agg.arg)
                             ? shown_double(agg.function, value.words, value.normal)
                             : static_cast<long double>(shown_number(
                                   agg.function, agg.arg, value.words, value.normal)));
        return;
    }
    const std::int64_t number =
        shown_number(agg.function, agg.arg, value.words, value.normal);
    if (letter == 'Y' || letter == 'T') {
        item.bytes = std::as_bytes(std::span(&number, 1));
        item.step.print(item);
        return;
    }
    put_number(item.out, item.step, number, letter == 'd' || letter == 'i', item.width,
               item.precision, item.left);
}

Result<Ok> print_agg_row(Output& out, const PrintContext& context,
                         std::span<const AggColumn> columns, Piece piece,
                         PackedTables* tables)
{
    const AggEntry* key = key_of(columns);
    if (!key)
        return Ok{};
    const std::uint32_t flags = piece.flags;
    piece.entry = key;
    if (tables != nullptr && columns.size() == 1 &&
        tables->put_row(out.text(), context, *key)) {
        piece.flags = flags | piece_agg_last;
        return out.commit(piece);
    }
    for (std::size_t i = 0; i < key->agg->parts.size(); i++) {
        put_value(out.text(), context, key->agg->parts[i], key->part(i), Column::Key);
        piece.flags = flags | piece_agg_key;
        if (out.wants_pieces())
            if (auto committed = out.commit(piece); !committed)
                return committed;
    }
    for (const AggColumn& column : columns) {
        put_agg_value(out.text(), context, column);
        piece.flags = flags | piece_agg_value;
        piece.entry = column.entry;
        if (out.wants_pieces())
            if (auto committed = out.commit(piece); !committed)
                return committed;
    }
    out.text().push_back('\n');
    piece.flags = flags | piece_agg_last;
    return out.commit(piece);
}

Result<Ok> print_joined(Output& out, const PrintContext& context,
                        Aggregates& aggregates, std::span<const std::uint32_t> ids,
                        const Format* format, Piece piece)
{
    std::vector<AggColumn> columns;
    for (std::uint32_t id : ids) {
        AggDesc* agg = aggregates.find(id);
        if (!agg)
            return Ok{};
        columns.push_back({agg, nullptr});
    }
    auto rows = aggregates.joined(ids, context.display);
    if (rows.empty())
        return Ok{};
    if (!format)
        out.text().push_back('\n');
    std::vector<AggEntry*> first_column;
    for (const auto& row : rows)
        if (row[0] != nullptr)
            first_column.push_back(const_cast<AggEntry*>(row[0]));
    PackedTables tables(first_column, context.display);
    const AggDesc* planned = nullptr;
    std::vector<FormatPlan> plan; // the plan for the keys of `planned`; empty at first
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < columns.size(); i++)
            columns[i].entry = row[i];
        const AggEntry* key = key_of(columns);
        if (!format) {
            auto printed = print_agg_row(out, context, columns, piece, &tables);
            if (!printed)
                return printed;
            continue;
        }
        if (planned != key->agg) {
            plan.assign(1, FormatPlan(*format, key->agg->parts));
            planned = key->agg;
        }
        piece.entry = key;
        auto printed =
            plan.front().print_pieces(out, context, key->key(), piece, columns);
        if (!printed)
            return printed;
        if (auto committed = out.commit(piece); !committed)
            return committed;
    }
    return Ok{};
}

} // namespace dt
