// SPDX-License-Identifier: MIT
#include "libdtrace/consume/agg_packed.hpp"

#include "libdtrace/consume/numbers.hpp"

#include <algorithm>
#include <utility>

namespace dt {

static std::size_t key_columns(const RecordDesc& part)
{
    switch (part.size) {
    case 1:
        return 3;
    case 2:
        return 5;
    case 4:
        return 8;
    default:
        return 16;
    }
}

static std::vector<Bucket> buckets_of(const AggEntry& row)
{
    return buckets_of(row.agg->function, row.agg->arg, row.value());
}

// Returns the range from the first to the last bucket with a count. Returns 0, 0 if all
// counts are 0.
static std::pair<std::size_t, std::size_t> counted(std::span<const Bucket> buckets)
{
    auto counts = [](const Bucket& b) { return b.count != 0; };
    auto first = std::find_if(buckets.begin(), buckets.end(), counts);
    if (first == buckets.end())
        return {0, 0};
    auto last = std::find_if(buckets.rbegin(), buckets.rend(), counts).base();
    return {static_cast<std::size_t>(first - buckets.begin()),
            static_cast<std::size_t>(last - buckets.begin())};
}

PackedTables::PackedTables(std::span<AggEntry* const> rows, const Display& display)
    : display_(display)
{
    for (const AggEntry* row : rows) {
        const AggDesc& agg = *row->agg;
        bool counts =
            (agg.function == DTRACEAGG_count || agg.function == DTRACEAGG_sum) &&
            !holds_doubles(agg.function, agg.arg);
        bool quantizes =
            agg.function == DTRACEAGG_quantize || agg.function == DTRACEAGG_lquantize;
        if (display.agghist && counts) {
            Table& table = tables_[&agg];
            table.scale.add(shown_number(agg.function, agg.arg, row->value(), 1),
                            display.aggzoom);
        } else if (display.aggpack && quantizes) {
            auto [table, is_new] = tables_.try_emplace(&agg);
            auto buckets = buckets_of(*row);
            auto [first, end] = counted(buckets);
            Table& to = table->second;
            to.kind = Kind::Packed;
            if (agg.function == DTRACEAGG_lquantize)
                first = 0, end = buckets.size();
            if (first != end) {
                to.first = to.end == 0 ? first : std::min(to.first, first);
                to.end = std::max(to.end, end);
            }
        }
    }
    for (auto& [agg, table] : tables_) {
        if (agg->function != DTRACEAGG_quantize || table.kind != Kind::Packed)
            continue;
        if (table.end == 0)
            table.first = DTRACE_QUANTIZE_ZEROBUCKET, table.end = table.first + 1;
        bool lower = table.first != 0 && table.first != DTRACE_QUANTIZE_ZEROBUCKET;
        table.first -= lower;
        table.end += table.end < DTRACE_QUANTIZE_NBUCKETS;
    }
}

static std::size_t edge_columns(const AggEntry& row, const Bucket& bucket)
{
    return row.agg->function == DTRACEAGG_lquantize ? 8 : edge_text(bucket).size();
}

void PackedTables::put_header(std::string& out, const Table& table,
                              const AggEntry& row) const
{
    std::size_t columns = 0;
    for (const RecordDesc& part : row.agg->parts)
        columns += key_columns(part) + 1;
    std::string_view key = columns != 0 ? "key" : "";
    out.push_back('\n');
    if (table.kind == Kind::Histogram) {
        put_right(out, columns != 0 ? key : "value", columns != 0 ? columns : 16);
        out.append("  ------------- Distribution ------------- ");
        put_left(out, "count", 9);
        out.push_back('\n');
        return;
    }
    auto buckets = buckets_of(row);
    const Bucket &low = buckets[table.first], &high = buckets[table.end - 1];
    put_right(out, key, columns);
    out.push_back(' ');
    std::size_t low_columns = edge_columns(row, low);
    put_right(out, "min", row.agg->function == DTRACEAGG_lquantize ? 7 : low_columns);
    out.append(" .").append(table.end - table.first, '-').append(". ");
    put_left(out, "max", edge_columns(row, high));
    out.append(" | count\n");
}

void PackedTables::put_packed(std::string& out, const Table& table,
                              const AggEntry& row) const
{
    auto buckets = buckets_of(row);
    auto shown = std::span(buckets).subspan(table.first, table.end - table.first);
    BarScale scale;
    std::int64_t count = 0;
    for (const Bucket& bucket : shown) {
        scale.add(bucket.count, display_.aggzoom);
        count += bucket.count;
    }
    if (row.agg->function != DTRACEAGG_lquantize)
        out.push_back(' ');
    put_right(out, edge_text(shown.front()), edge_columns(row, shown.front()));
    out.append(" :");
    for (const Bucket& bucket : shown)
        put_height(out, bucket.count, scale, display_);
    out.append(": ");
    put_left(out, edge_text(shown.back()), edge_columns(row, shown.back()));
    out.append(" | ");
    put_signed(out, normalized(count, row.normal));
    out.push_back('\n');
}

bool PackedTables::put_row(std::string& out, const PrintContext& context,
                           const AggEntry& row)
{
    auto found = tables_.find(row.agg);
    if (found == tables_.end())
        return false;
    Table& table = found->second;
    if (!std::exchange(table.begun, true))
        put_header(out, table, row);
    for (std::size_t i = 0; i < row.agg->parts.size(); i++)
        put_value(out, context, row.agg->parts[i], row.part(i), Column::Packed);
    if (table.kind == Kind::Packed) {
        put_packed(out, table, row);
        return true;
    }
    std::int64_t count =
        shown_number(row.agg->function, row.agg->arg, row.value(), row.normal);
    out.push_back(' ');
    put_bar(out, shown_number(row.agg->function, row.agg->arg, row.value(), 1),
            table.scale, display_);
    out.push_back(' ');
    std::string text;
    put_signed(text, count);
    put_left(out, text, 9);
    out.push_back('\n');
    return true;
}

} // namespace dt
