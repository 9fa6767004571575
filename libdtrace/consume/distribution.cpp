// SPDX-License-Identifier: MIT
// Draws distributions with one bar for each bucket. A full bar has 40 columns and
// represents the sum of all counts. With aggzoom, a full bar represents slightly more
// than the largest count.
#include "libdtrace/consume/distribution.hpp"

#include "libdtrace/consume/numbers.hpp"

#include <algorithm>
#include <cmath>

namespace dt {

namespace {

// With aggzoom, the largest count's bar fills this fraction of the width.
constexpr long double zoomed = 0.95L;

// Appends the block element U+2580 + number. Blocks 1 to 8 grow in height. Blocks 8 to
// 15 shrink in width.
void put_block(std::string& out, unsigned number)
{
    unsigned code = 0x2580 + number;
    out.push_back(static_cast<char>(0xe0 | code >> 12));
    out.push_back(static_cast<char>(0x80 | (code >> 6 & 0x3f)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3f)));
}

constexpr unsigned full_block = 8, eighths = 8;

void put_fine_bar(std::string& out, std::int64_t count, const BarScale& scale)
{
    long double columns = scale.share(count) * static_cast<int>(bar_columns);
    auto n_full = static_cast<std::size_t>(columns);
    auto rest =
        static_cast<unsigned>((columns - static_cast<long double>(n_full)) * eighths);
    out.append("|");
    for (std::size_t i = 0; i < n_full; i++)
        put_block(out, full_block);
    if (rest != 0)
        put_block(out, full_block + eighths - rest);
    std::size_t used = n_full + (rest != 0);
    out.append(bar_columns - std::min(bar_columns, used), ' ');
}

} // namespace

long double BarScale::share(std::int64_t count) const
{
    return whole == 0 ? 0 : std::fabs(static_cast<long double>(count)) / whole;
}

std::size_t BarScale::length(std::int64_t count, std::size_t columns) const
{
    return std::min(columns, static_cast<std::size_t>(
                                 share(count) * static_cast<int>(columns) + 0.5L));
}

void BarScale::add(std::int64_t count, bool zoom)
{
    long double size = std::fabs(static_cast<long double>(count));
    whole = zoom ? std::max(whole, size / zoomed) : whole + size;
    positives |= count > 0;
    negatives |= count < 0;
}

void put_bar(std::string& out, std::int64_t count, const BarScale& scale,
             const Display& display)
{
    if (!scale.negatives && scale.positives && display.encoding == DrawnIn::utf8)
        return put_fine_bar(out, count, scale);
    if (!scale.negatives) {
        std::size_t n = scale.length(count, bar_columns);
        out.append("|").append(n, '@').append(bar_columns - n, ' ');
        return;
    }
    if (!scale.positives) {
        std::size_t n = scale.length(count, bar_columns);
        out.append(bar_columns - n, ' ').append(n, '@').append("|");
        return;
    }
    constexpr std::size_t half = bar_columns / 2;
    std::size_t n = scale.length(count, half);
    if (count <= 0)
        out.append(half - n, ' ').append(n, '@').append("|").append(half, ' ');
    else
        out.append(half, ' ').append("|").append(n, '@').append(half - n, ' ');
}

void put_height(std::string& out, std::int64_t count, const BarScale& scale,
                const Display& display)
{
    constexpr std::string_view heights = "__xxxxXX", depths = "vvvvVV";
    auto level = [&](std::size_t n) { return scale.length(count, n - 1); };
    if (count == 0)
        out.push_back(' ');
    else if (count < 0)
        out.push_back(depths[level(depths.size())]);
    else if (display.encoding == DrawnIn::utf8)
        put_block(out, 1 + static_cast<unsigned>(level(eighths)));
    else
        out.push_back(heights[level(heights.size())]);
}

std::string edge_text(const Bucket& bucket)
{
    std::string text;
    if (bucket.edge == Bucket::Edge::Below)
        text = "< ";
    else if (bucket.edge == Bucket::Edge::Above)
        text = ">= ";
    put_signed(text, bucket.value);
    return text;
}

namespace {

// Returns the buckets to show: from the first to the last bucket with a count, and one
// more on each side.
std::span<const Bucket> shown(std::uint32_t function, std::span<const Bucket> buckets)
{
    auto counted = [](const Bucket& b) { return b.count != 0; };
    auto first = std::find_if(buckets.begin(), buckets.end(), counted);
    if (first == buckets.end()) {
        if (function == DTRACEAGG_quantize)
            return buckets.subspan(DTRACE_QUANTIZE_ZEROBUCKET - 1, 3);
        return buckets.first(std::min<std::size_t>(
            buckets.size(), function == DTRACEAGG_lquantize ? 3 : 2));
    }
    auto last = std::find_if(buckets.rbegin(), buckets.rend(), counted).base();
    std::size_t from = static_cast<std::size_t>(first - buckets.begin());
    std::size_t to = static_cast<std::size_t>(last - buckets.begin());
    from -= from > 0;
    to += to < buckets.size();
    return buckets.subspan(from, to - from);
}

} // namespace

void put_distribution(std::string& out, std::uint32_t function, std::uint64_t arg,
                      std::span<const std::byte> words, std::uint64_t normal,
                      const Display& display)
{
    std::vector<Bucket> all = buckets_of(function, arg, words);
    if (all.empty())
        return;
    auto buckets = shown(function, all);
    BarScale scale;
    for (const Bucket& bucket : buckets)
        scale.add(bucket.count, display.aggzoom);
    out.push_back('\n');
    put_right(out, "value", 16);
    out.append("  ------------- Distribution ------------- ");
    put_left(out, "count", 9);
    out.push_back('\n');
    for (const Bucket& bucket : buckets) {
        put_right(out, edge_text(bucket), 16);
        out.push_back(' ');
        put_bar(out, bucket.count, scale, display);
        out.push_back(' ');
        std::string count;
        put_signed(count, normalized(bucket.count, normal));
        put_left(out, count, 9);
        out.push_back('\n');
    }
}

} // namespace dt
