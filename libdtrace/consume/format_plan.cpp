// SPDX-License-Identifier: MIT
// Binds formats to records, and prints them.
#include "libdtrace/consume/format_plan.hpp"

#include "libdtrace/consume/agg_print.hpp"
#include "libdtrace/consume/numbers.hpp"

#include <algorithm>

namespace dt {

using Path = FormatStep::Path;

static bool is_plain(const Conversion& c)
{
    return !c.alternate && !c.zero && !c.left && !c.space && !c.plus && !c.group &&
           !c.pointer_width && c.width == 0 && c.precision < 0 && !c.dynamic_width &&
           !c.dynamic_precision;
}

static bool narrows(const Conversion& c)
{
    return c.name.size() > 1 && c.name[0] == 'h';
}

static Path fast_path(const FormatStep& step)
{
    bool integer = step.size == 1 || step.size == 2 || step.size == 4 || step.size == 8;
    if (!is_plain(step.conversion) || narrows(step.conversion) ||
        step.conversion.name == "ws")
        return Path::General;
    switch (step.letter) {
    case 'd':
    case 'i':
        return !integer         ? Path::General
               : step.is_signed ? Path::Signed
                                : Path::Unsigned;
    case 'u':
        return integer ? Path::Unsigned : Path::General;
    case 'x':
    case 'p':
        return integer ? Path::Hex : Path::General;
    case 's':
        return step.action == DTRACEACT_PRINTF || step.action == DTRACEACT_DIFEXPR ||
                       step.action == DTRACEACT_SYSTEM ||
                       step.action == DTRACEACT_FREOPEN
                   ? Path::Text
                   : Path::General;
    default:
        return Path::General;
    }
}

static bool has_signed_type(const RecordDesc& desc)
{
    if (!desc.compiled || !desc.compiled->type)
        return true;
    const Type* type = desc.compiled->type->resolve();
    return type->kind == TypeKind::Dynamic || type->is_signed;
}

FormatPlan::FormatPlan(const Format& format, std::span<const RecordDesc> values)
{
    std::size_t next = 0;
    auto take = [&](std::uint32_t& offset, std::uint32_t& size) -> const RecordDesc* {
        if (next >= values.size())
            return nullptr;
        offset = values[next].offset;
        size = values[next].size;
        return &values[next++];
    };
    for (const Conversion& conversion : format.conversions) {
        FormatStep step;
        step.literal = conversion.literal;
        step.conversion = conversion;
        if (conversion.name.empty()) {
            steps_.push_back(std::move(step));
            continue;
        }
        step.letter = conversion.name.back();
        step.print = find_printer(conversion.name);
        if (conversion.dynamic_width)
            take(step.width_offset, step.width_size);
        if (conversion.dynamic_precision)
            take(step.precision_offset, step.precision_size);
        if (conversion.aggregate) {
            step.path = Path::Agg;
        } else if (const RecordDesc* desc = take(step.offset, step.size)) {
            step.action = desc->action;
            step.arg = desc->arg;
            step.origin = desc->compiled ? desc->compiled->origin : TextOrigin::Target;
            step.is_signed = has_signed_type(*desc);
            step.path = step.print ? fast_path(step) : Path::Literal;
        }
        if (step.path != Path::Literal)
            min_bytes_ = std::max<std::size_t>(min_bytes_,
                                               std::uint64_t{step.offset} + step.size);
        steps_.push_back(std::move(step));
    }
}

static std::span<const std::byte> slice(std::span<const std::byte> base,
                                        std::uint32_t offset, std::uint32_t size)
{
    if (offset > base.size() || size > base.size() - offset)
        return {};
    return base.subspan(offset, size);
}

// Prepares a conversion of the data at `base`. Limits the width and the precision to
// max_width.
static FormatItem item_of(std::string& out, const PrintContext& context,
                          const FormatStep& step, std::span<const std::byte> base)
{
    const Conversion& c = step.conversion;
    FormatItem item{out,
                    context,
                    step,
                    slice(base, step.offset, step.size),
                    c.pointer_width ? 16 : std::min(c.width, max_width),
                    std::min(c.precision, max_width),
                    c.left};
    if (step.width_size != 0) {
        std::int64_t width =
            load_signed(slice(base, step.width_offset, step.width_size));
        item.left |= width < 0;
        item.width = static_cast<int>(std::min<std::int64_t>(
            width < 0 ? -std::max<std::int64_t>(width, -max_width) : width, max_width));
    }
    if (step.precision_size != 0) {
        std::int64_t precision =
            load_signed(slice(base, step.precision_offset, step.precision_size));
        item.precision =
            static_cast<int>(std::clamp<std::int64_t>(precision, -1, max_width));
    }
    return item;
}

void FormatPlan::print_step(std::string& out, const PrintContext& context,
                            const FormatStep& step,
                            std::span<const std::byte> base) const
{
    switch (step.path) {
    case Path::Signed:
        put_signed(out, load_signed(base.subspan(step.offset, step.size)));
        break;
    case Path::Unsigned:
        put_unsigned(out, load_unsigned(base.subspan(step.offset, step.size)));
        break;
    case Path::Hex:
        put_hex(out, load_unsigned(base.subspan(step.offset, step.size)));
        break;
    case Path::Text:
        append_printable(out, load_string(base.subspan(step.offset, step.size)),
                         escaping_of(step.origin, context.display));
        break;
    case Path::General: {
        FormatItem item = item_of(out, context, step, base);
        step.print(item);
        break;
    }
    case Path::Literal:
    case Path::Agg:
        break;
    }
}

void FormatPlan::print(std::string& out, const PrintContext& context,
                       std::span<const std::byte> base) const
{
    if (base.size() < min_bytes_)
        return;
    for (const FormatStep& step : steps_) {
        out.append(step.literal);
        print_step(out, context, step, base);
    }
}

Result<Ok> FormatPlan::print_pieces(Output& out, const PrintContext& context,
                                    std::span<const std::byte> base, Piece piece,
                                    std::span<const AggColumn> columns) const
{
    if (base.size() < min_bytes_)
        return Ok{};
    // index of the next column to print; extra %@ conversions print the last column
    std::size_t next = 0;
    const std::uint32_t flags = piece.flags;
    for (std::size_t i = 0; i < steps_.size(); i++) {
        const FormatStep& step = steps_[i];
        out.text().append(step.literal);
        if (!columns.empty()) {
            piece.flags = flags | piece_agg_format |
                          (step.path == Path::Literal ? 0
                           : step.path == Path::Agg   ? piece_agg_value
                                                      : piece_agg_key) |
                          (i + 1 == steps_.size() ? piece_agg_last : 0);
        }
        if (step.path == Path::Agg && !columns.empty()) {
            const AggColumn& column = columns[std::min(next, columns.size() - 1)];
            next++;
            piece.entry = column.entry;
            FormatItem item = item_of(out.text(), context, step, base);
            put_agg_conversion(item, column);
        } else {
            print_step(out.text(), context, step, base);
        }
        if (out.wants_pieces())
            if (auto committed = out.commit(piece); !committed)
                return committed;
    }
    return Ok{};
}

} // namespace dt
