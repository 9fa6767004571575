// SPDX-License-Identifier: MIT
// Drawing distributions: a bar per bucket, or with aggpack one character per bucket.
//
// A bar's length is its share of all counts (with aggzoom: of the largest), rounded to
// the nearest of 40 columns.
#include "libdtrace/consume/distribution.hpp"

#include "libdtrace/consume/numbers.hpp"

#include <algorithm>
#include <cmath>

namespace dt {

namespace {

constexpr std::size_t bar_columns = 40;

struct Scale {
    long double whole = 0; // what a full bar stands for
    bool positives = false, negatives = false;

    std::size_t length(std::int64_t count, std::size_t columns) const
    {
        if (whole == 0)
            return 0;
        long double share = std::fabs(static_cast<long double>(count)) *
                            static_cast<int>(columns) / whole;
        return std::min(columns, static_cast<std::size_t>(share + 0.5L));
    }
};

Scale scale_of(std::span<const Bucket> buckets, bool zoom)
{
    Scale scale;
    for (const Bucket& bucket : buckets) {
        long double size = std::fabs(static_cast<long double>(bucket.count));
        scale.whole = zoom ? std::max(scale.whole, size) : scale.whole + size;
        scale.positives |= bucket.count > 0;
        scale.negatives |= bucket.count < 0;
    }
    return scale;
}

void put_bar(std::string& out, std::int64_t count, const Scale& scale)
{
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

// One line: "min |  _.-#  | max"; characters grow with the count.
void put_packed(std::string& out, std::span<const Bucket> buckets, const Scale& scale)
{
    static constexpr std::string_view heights = " ._-=+*#@";
    auto first = std::find_if(buckets.begin(), buckets.end(),
                              [](const Bucket& b) { return b.count != 0; });
    put_right(out, edge_text(first == buckets.end() ? buckets.front() : *first), 16);
    out.append(" |");
    for (const Bucket& bucket : buckets) {
        std::size_t n = scale.length(bucket.count, heights.size() - 1);
        out.push_back(heights[n == 0 && bucket.count != 0 ? 1 : n]);
    }
    out.append("| ").append(edge_text(buckets.back())).push_back('\n');
}

// The bucket range to show: one more on each side than has counts.
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
    Scale scale = scale_of(buckets, display.aggzoom || display.aggpack);
    out.push_back('\n');
    if (display.aggpack)
        return put_packed(out, buckets, scale);
    put_right(out, "value", 16);
    out.append("  ------------- Distribution ------------- ");
    put_left(out, "count", 9);
    out.push_back('\n');
    for (const Bucket& bucket : buckets) {
        put_right(out, edge_text(bucket), 16);
        out.push_back(' ');
        put_bar(out, bucket.count, scale);
        out.push_back(' ');
        std::string count;
        put_signed(count, normalized(bucket.count, normal));
        put_left(out, count, 9);
        out.push_back('\n');
    }
}

} // namespace dt
