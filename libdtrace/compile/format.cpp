// SPDX-License-Identifier: MIT
// Parses formats by splitting their text into conversions.
//
//   %  flags  width  .precision  size+conversion
//      #0- +'?@  digits or *      a row of FORMAT_CONVERSIONS
//
// The parts between % and the size may come in any order.
//
// Literal text is stored in the conversion that follows it. The literal text at the end
// becomes a conversion without a name. %% is literal text. The only limit on a width is
// INT_MAX, because some programs use 10,000,000.
#include "libdtrace/compile/format.hpp"

#include <limits>

namespace dt {

namespace {

constexpr FormatRow rows[] = {
#define X(name, takes, called) {name, FormatTakes::takes, called},
    FORMAT_CONVERSIONS(X)
#undef X
};

class FormatParser {
public:
    FormatParser(std::string_view text, Place at) : text_(text), at_(at) {}

    Format parse()
    {
        if (text_.empty())
            fail(Tag::PRINTF_FMT_EMPTY, at_, "format string is empty");
        Format format;
        format.text = text_;
        while (pos_ < text_.size()) {
            if (text_[pos_] != '%') {
                literal_ += text_[pos_++];
                continue;
            }
            pos_++;
            if (peek() == '%') {
                literal_ += '%';
                pos_++;
                continue;
            }
            format.conversions.push_back(conversion());
        }
        if (!literal_.empty()) {
            Conversion last;
            last.literal = std::move(literal_);
            format.conversions.push_back(std::move(last));
        }
        return format;
    }

private:
    std::string_view text_;
    Place at_;
    std::size_t pos_ = 0;
    std::size_t n_conversions_ = 0;
    std::string literal_;

    char peek() const { return pos_ < text_.size() ? text_[pos_] : '\0'; }

    [[noreturn]] void bad(const std::string& what)
    {
        fail(Tag::SYNTAX, at_,
             "format conversion #" + std::to_string(n_conversions_) + " " + what);
    }

    Conversion conversion()
    {
        Conversion c;
        c.literal = std::move(literal_);
        literal_.clear();
        n_conversions_++;
        bool point = false;
        while (part(c, point))
            continue;
        name(c);
        return c;
    }

    // Parses one flag, width or precision. If there are two widths, or both "-" and
    // "0", the later one is used.
    bool part(Conversion& c, bool& point)
    {
        // clang-format off
        switch (peek()) {
        case '#': c.alternate = true; break;
        case '-': c.left = true; c.zero = false; break;
        case ' ': c.space = true; break;
        case '+': c.plus = true; break;
        case '\'': c.group = true; break;
        case '?': c.pointer_width = true; break;
        case '@': c.aggregate = true; break;
        case '*': star(c, point); break;
        case '.': begin_precision(c, point); break;
        default: return digits(c, point);
        }
        // clang-format on
        pos_++;
        return true;
    }

    void begin_precision(Conversion& c, bool& point)
    {
        if (point)
            bad("has more than one period");
        point = true;
        c.precision = 0;
    }

    bool digits(Conversion& c, bool point)
    {
        if (peek() < '0' || peek() > '9')
            return false;
        if (peek() == '0' && !point && c.width == 0) {
            c.zero = true;
            c.left = false;
            pos_++;
            return true;
        }
        if (point ? c.dynamic_precision : c.dynamic_width)
            bad(both(point));
        (point ? c.precision : c.width) = number();
        return true;
    }

    void star(Conversion& c, bool point)
    {
        if (point ? c.dynamic_precision : c.dynamic_width)
            bad(point ? "has more than one * in its precision" : "has more than one *");
        if ((point ? c.precision : c.width) != 0)
            bad(both(point));
        (point ? c.dynamic_precision : c.dynamic_width) = true;
        if (point)
            c.precision = -1;
    }

    static const char* both(bool point)
    {
        return point ? "has both a number and * as its precision"
                     : "has both a number and * as its width";
    }

    int number()
    {
        long value = 0;
        for (; peek() >= '0' && peek() <= '9'; pos_++) {
            value = value * 10 + (peek() - '0');
            if (value > std::numeric_limits<int>::max())
                bad("has a width or precision that is too large");
        }
        if (peek() == '$')
            bad("is positional (%n$), which D does not support");
        return static_cast<int>(value);
    }

    void name(Conversion& c)
    {
        std::size_t start = pos_;
        while (peek() == 'h' || peek() == 'l' || peek() == 'L' || peek() == 'w')
            pos_++;
        if (pos_ >= text_.size())
            bad("ends before its conversion character");
        pos_++;
        c.name = text_.substr(start, pos_ - start);
        if (c.name == "%")
            bad("has characters between the two percent signs of %%");
        if (!find_format_row(c.name))
            bad("is not known: %" + c.name);
    }
};

} // namespace

const FormatRow* find_format_row(std::string_view name)
{
    for (const FormatRow& row : rows)
        if (name == row.name)
            return &row;
    return nullptr;
}

Format parse_format(std::string_view text, Place at)
{
    return FormatParser(text, at).parse();
}

std::optional<Format> parse_format(std::string_view text)
{
    try {
        return parse_format(text, Place{});
    } catch (const CompileError&) {
        return std::nullopt;
    }
}

} // namespace dt
