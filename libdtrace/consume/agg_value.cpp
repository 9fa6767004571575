// SPDX-License-Identifier: MIT
// Arithmetic on aggregated values. The words come from a target, so no operation may
// trap.
//
// Sums of integers wrap. avg() divides the sum by the normalization factor and then by
// the count. Both quotients are truncated, as in classic DTrace. stddev() of integers
// is computed in 128 bits.
#include "libdtrace/consume/agg_value.hpp"

#include "dif/distribution.h"
#include "dif/float.h"
#include "dif/ops.h"
#include "libdtrace/consume/numbers.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace dt {

using Wide = unsigned __int128;

static std::uint64_t word_at(std::span<const std::byte> words, std::size_t n)
{
    return 8 * (n + 1) <= words.size() ? load_as<std::uint64_t>(words.data() + 8 * n)
                                       : 0;
}

std::int64_t divide(std::int64_t a, std::int64_t b)
{
    if (b == 0)
        return 0;
    return b == -1 ? static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a))
                   : a / b;
}

bool is_distribution(std::uint32_t function)
{
    return dt_agg_is_distribution(function) != 0;
}

// Returns at most `most` lower bounds of llquantize's buckets. The last bound belongs
// to the overflow bucket. Returns no bounds if `arg` is invalid.
static std::vector<std::int64_t> llquantize_bounds(std::uint64_t arg, std::size_t most)
{
    const std::uint64_t factor = DTRACE_LLQUANTIZE_FACTOR(arg),
                        low = DTRACE_LLQUANTIZE_LOW(arg),
                        high = DTRACE_LLQUANTIZE_HIGH(arg),
                        n_steps = DTRACE_LLQUANTIZE_NSTEP(arg);
    std::vector<std::int64_t> bounds;
    if (factor < 2 || n_steps == 0 || low > 64 || high > 64)
        return bounds;
    Wide value = 1;
    const Wide limit = Wide{1} << 64;
    for (std::uint64_t i = 0; i < low && value < limit; i++)
        value *= factor;
    for (std::uint64_t order = low; order <= high && value < limit; order++) {
        const Wide next = value * factor;
        const Wide step = next > n_steps ? next / n_steps : 1;
        for (; value < next; value += step) {
            if (bounds.size() >= most)
                return bounds;
            bounds.push_back(static_cast<std::int64_t>(value));
        }
        value = next;
    }
    if (bounds.size() < most)
        bounds.push_back(static_cast<std::int64_t>(value));
    return bounds;
}

bool fits(std::uint32_t function, std::uint64_t arg, std::size_t value_bytes)
{
    if (function == DTRACEAGG_llquantize && !dt_llquantize_ok(arg))
        return false;
    return value_bytes != 0 && value_bytes == dt_agg_value_bytes(function, arg);
}

bool holds_doubles(std::uint32_t function, std::uint64_t arg)
{
    return dt_agg_is_float(function, arg) != 0;
}

static double double_at(std::span<const std::byte> words, std::size_t n)
{
    return std::bit_cast<double>(word_at(words, n));
}

static void add_doubles(std::uint32_t function, std::byte* into,
                        std::span<const std::byte> from)
{
    std::span<const std::byte> have(into, from.size());
    auto put = [&](std::size_t n, auto value) { std::memcpy(into + 8 * n, &value, 8); };
    switch (function) {
    case DTRACEAGG_min:
        if (double_at(from, 0) < double_at(have, 0))
            put(0, double_at(from, 0));
        return;
    case DTRACEAGG_max:
        if (double_at(from, 0) > double_at(have, 0))
            put(0, double_at(from, 0));
        return;
    case DTRACEAGG_sum:
        put(0, double_at(have, 0) + double_at(from, 0));
        return;
    default: // avg() has a count and a sum; stddev() also has a sum of squares
        put(0, word_at(have, 0) + word_at(from, 0));
        for (std::size_t i = 1; i < std::min<std::size_t>(from.size() / 8, 3); i++)
            put(i, double_at(have, i) + double_at(from, i));
    }
}

double shown_double(std::uint32_t function, std::span<const std::byte> words,
                    std::uint64_t normal)
{
    auto by = static_cast<double>(static_cast<std::int64_t>(normal));
    auto count = static_cast<double>(word_at(words, 0));
    switch (function) {
    case DTRACEAGG_avg:
        return count == 0 ? 0 : double_at(words, 1) / by / count;
    case DTRACEAGG_stddev: {
        double mean = count == 0 ? 0 : double_at(words, 1) / count;
        double square = count == 0 ? 0 : double_at(words, 2) / count - mean * mean;
        return square > 0 ? std::sqrt(square) / std::fabs(by) : 0;
    }
    default:
        return double_at(words, 0) / by;
    }
}

static std::int64_t whole_of(double value)
{
    return static_cast<std::int64_t>(
        dt_flop(DIF_OP_FDTOI, std::bit_cast<std::uint64_t>(value), 0));
}

void add_words(std::uint32_t function, std::uint64_t arg, std::byte* into,
               std::span<const std::byte> from)
{
    if (holds_doubles(function, arg))
        return add_doubles(function, into, from);
    auto put = [&](std::size_t n, std::uint64_t value) {
        std::memcpy(into + 8 * n, &value, 8);
    };
    auto have = [&](std::size_t n) { return load_as<std::uint64_t>(into + 8 * n); };
    auto as_signed = [](std::uint64_t v) { return static_cast<std::int64_t>(v); };
    std::size_t n_words = from.size() / 8;
    switch (function) {
    case DTRACEAGG_min:
        if (as_signed(word_at(from, 0)) < as_signed(have(0)))
            put(0, word_at(from, 0));
        return;
    case DTRACEAGG_max:
        if (as_signed(word_at(from, 0)) > as_signed(have(0)))
            put(0, word_at(from, 0));
        return;
    case DTRACEAGG_stddev: {
        put(0, have(0) + word_at(from, 0));
        put(1, have(1) + word_at(from, 1));
        Wide sum = (Wide{have(3)} << 64 | have(2)) +
                   (Wide{word_at(from, 3)} << 64 | word_at(from, 2));
        put(2, static_cast<std::uint64_t>(sum));
        put(3, static_cast<std::uint64_t>(sum >> 64));
        return;
    }
    default: {
        // The first word of lquantize and llquantize contains their parameters.
        bool has_arg =
            function == DTRACEAGG_lquantize || function == DTRACEAGG_llquantize;
        for (std::size_t i = has_arg ? 1 : 0; i < n_words; i++)
            put(i, have(i) + word_at(from, i));
    }
    }
}

std::vector<std::byte> zero_value(std::uint32_t function, std::uint64_t arg,
                                  std::size_t value_bytes)
{
    std::vector<std::byte> value(value_bytes);
    if ((function == DTRACEAGG_lquantize || function == DTRACEAGG_llquantize) &&
        value_bytes >= 8)
        std::memcpy(value.data(), &arg, 8);
    return value;
}

static std::uint64_t square_root(Wide value)
{
    Wide root = 0;
    for (int bit = 63; bit >= 0; bit--) {
        Wide more = root | Wide{1} << bit;
        if (more * more <= value)
            root = more;
    }
    return static_cast<std::uint64_t>(root);
}

static std::int64_t deviation(std::span<const std::byte> words, std::int64_t normal)
{
    auto count = static_cast<std::int64_t>(word_at(words, 0));
    if (count <= 0 || normal == 0)
        return 0;
    auto magnitude = normal < 0 ? 0 - static_cast<std::uint64_t>(normal)
                                : static_cast<std::uint64_t>(normal);
    Wide squares = Wide{word_at(words, 3)} << 64 | word_at(words, 2);
    squares = squares / magnitude / magnitude / static_cast<std::uint64_t>(count);
    std::int64_t mean =
        divide(divide(static_cast<std::int64_t>(word_at(words, 1)), normal), count);
    auto size = mean < 0 ? 0 - static_cast<std::uint64_t>(mean)
                         : static_cast<std::uint64_t>(mean);
    Wide square = Wide{size} * size;
    return squares > square ? static_cast<std::int64_t>(square_root(squares - square))
                            : 0;
}

std::int64_t shown_number(std::uint32_t function, std::uint64_t arg,
                          std::span<const std::byte> words, std::uint64_t normal_)
{
    if (holds_doubles(function, arg))
        return whole_of(shown_double(function, words, normal_));
    auto normal = static_cast<std::int64_t>(normal_);
    auto first = static_cast<std::int64_t>(word_at(words, 0));
    switch (function) {
    case DTRACEAGG_avg:
        return divide(divide(static_cast<std::int64_t>(word_at(words, 1)), normal),
                      first);
    case DTRACEAGG_stddev:
        return deviation(words, normal);
    default:
        return divide(first, normal);
    }
}

std::vector<Bucket> buckets_of(std::uint32_t function, std::uint64_t arg,
                               std::span<const std::byte> words)
{
    using Edge = Bucket::Edge;
    std::vector<Bucket> buckets;
    auto count = [&](std::size_t n) {
        return static_cast<std::int64_t>(word_at(words, n));
    };
    if (function == DTRACEAGG_quantize) {
        for (std::uint32_t i = 0; i < DTRACE_QUANTIZE_NBUCKETS; i++)
            buckets.push_back({Edge::Value, dt_quantize_value(i), count(i)});
        return buckets;
    }
    if (function == DTRACEAGG_lquantize) {
        const std::int64_t base = DTRACE_LQUANTIZE_BASE(arg),
                           step = DTRACE_LQUANTIZE_STEP(arg);
        const std::size_t levels = DTRACE_LQUANTIZE_LEVELS(arg);
        buckets.push_back({Edge::Below, base, count(1)});
        for (std::size_t i = 0; i < levels; i++)
            buckets.push_back({Edge::Value, base + static_cast<std::int64_t>(i) * step,
                               count(i + 2)});
        buckets.push_back({Edge::Above, base + static_cast<std::int64_t>(levels) * step,
                           count(levels + 2)});
        return buckets;
    }
    if (words.size() < 16)
        return buckets;
    auto bounds = llquantize_bounds(arg, words.size() / 8 - 2);
    if (bounds.empty())
        return buckets;
    buckets.push_back({Edge::Below, bounds.front(), count(1)});
    for (std::size_t i = 0; i < bounds.size(); i++)
        buckets.push_back({i + 1 == bounds.size() ? Edge::Above : Edge::Value,
                           bounds[i], count(i + 2)});
    return buckets;
}

} // namespace dt
