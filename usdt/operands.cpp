// SPDX-License-Identifier: MIT
#include "usdt/operands.hpp"

#include "usdt/intel_operands.hpp"
#include "usdt/register_names.hpp"

#include <algorithm>
#include <optional>

namespace dt::usdt {

namespace {

class Text {
public:
    explicit Text(std::string_view left) : left_(left) {}

    bool at_end() const { return left_.empty(); }
    char peek() const { return left_.empty() ? '\0' : left_.front(); }
    bool take(char c)
    {
        if (peek() != c)
            return false;
        left_.remove_prefix(1);
        return true;
    }
    void skip_blanks()
    {
        while (take(' ') || take('\t')) {
        }
    }
    std::string_view word()
    {
        std::size_t n = 0;
        while (n < left_.size() && is_of_word(left_[n]))
            n++;
        std::string_view out = left_.substr(0, n);
        left_.remove_prefix(n);
        return out;
    }
    std::optional<Register> reg()
    {
        skip_blanks();
        if (!take('%'))
            return std::nullopt;
        auto found = register_by_name(word());
        skip_blanks();
        return found;
    }

private:
    static bool is_of_word(char c)
    {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
               (c >= 'A' && c <= 'Z') || c == '_' || c == '.' || c == '$' || c == '@';
    }

    std::string_view left_;
};

// Parses a sum of numbers and at most one symbol. Returns "", or the reason why the
// constant is not valid.
std::string parse_constant(Text& text, Operand& out)
{
    std::uint64_t sum = 0;
    bool first = true;
    for (;;) {
        bool minus = false;
        if (text.take('-'))
            minus = true;
        else if (!text.take('+') && !first)
            break;
        first = false;
        while (text.peek() == '-' || text.peek() == '+')
            if (text.take('-'))
                minus = !minus;
            else
                text.take('+');
        std::string_view term = text.word();
        if (term.empty())
            return "has an incomplete constant";
        std::uint64_t number = 0;
        if (term[0] >= '0' && term[0] <= '9') {
            if (!parse_number(term, number))
                return "has an invalid number";
            sum += minus ? 0 - number : number;
        } else {
            if (minus || !out.symbol.empty())
                return "has a negated symbol or more than one symbol";
            out.symbol = term;
        }
    }
    out.value = static_cast<std::int64_t>(sum);
    return "";
}

std::string parse_address(Text& text, Operand& out)
{
    if (text.peek() != ')' && text.peek() != ',') {
        auto base = text.reg();
        if (!base)
            return "has an invalid base register";
        if (base->vector || base->bytes != 8)
            return "has a base that is not a 64-bit register";
        out.reg = base->number;
        out.of_rip = base->rip;
    }
    if (text.take(',')) {
        auto index = text.reg();
        if (!index || index->vector || index->rip || index->bytes != 8)
            return "has an invalid index register";
        out.index = index->number;
        if (text.take(',')) {
            text.skip_blanks();
            std::string_view scale = text.word();
            text.skip_blanks();
            if (scale != "1" && scale != "2" && scale != "4" && scale != "8")
                return "has a scale that is not 1, 2, 4 or 8";
            out.scale = static_cast<std::uint8_t>(scale[0] - '0');
        }
    }
    if (!text.take(')'))
        return "has an address without its closing parenthesis";
    if (out.of_rip && out.index != Operand::no_register)
        return "has an index in addition to %rip";
    return "";
}

std::string parse_memory(Text& text, Operand& out)
{
    out.form = OperandForm::memory;
    if (text.peek() != '(')
        if (std::string wrong = parse_constant(text, out); !wrong.empty())
            return wrong;
    if (text.take('('))
        return parse_address(text, out);
    return "";
}

std::string parse_operand(Text& text, Operand& out, bool sized)
{
    if (text.take('$')) {
        out.form = OperandForm::constant;
        return parse_constant(text, out);
    }
    if (text.peek() != '%')
        return parse_memory(text, out);
    text.take('%');
    std::string_view name = text.word();
    if (text.take(':')) {
        if (name != "fs" && name != "gs")
            return "has a segment that is not %fs or %gs";
        out.segment = name == "fs" ? Segment::fs : Segment::gs;
        return parse_memory(text, out);
    }
    auto reg = register_by_name(name);
    if (!reg || reg->rip)
        return "has an invalid register";
    out.form = reg->vector ? OperandForm::vector : OperandForm::general;
    out.reg = reg->number;
    out.high_byte = reg->high_byte;
    if (!sized)
        out.bytes = reg->bytes;
    return "";
}

// Parses the size before the @, for example -4 or 8f. Returns "", or the reason why the
// size is not valid.
std::string parse_size(std::string_view text, Operand& out)
{
    if (!text.empty() && text.front() == '-') {
        out.is_signed = true;
        text.remove_prefix(1);
    }
    if (!text.empty() && text.back() == 'f') {
        out.is_float = true;
        text.remove_suffix(1);
    }
    if (text != "1" && text != "2" && text != "4" && text != "8")
        return "has a size that is not 1, 2, 4 or 8 bytes";
    out.bytes = static_cast<std::uint8_t>(text[0] - '0');
    if (out.is_float && out.bytes < 4)
        return "is a floating-point value of less than 4 bytes";
    return "";
}

// Returns the operand without its size (for example "8@") and without a leading $.
std::string_view operand_of(std::string_view word)
{
    std::size_t at = word.find('@');
    bool sized = at != std::string_view::npos && at > 0 && at <= 3;
    std::string_view operand = sized ? word.substr(at + 1) : word;
    return operand.substr(operand.starts_with('$') ? 1 : 0);
}

// Returns whether an operand that has no $ is certainly a constant. In AT&T syntax, a
// positive number with five or more digits may be an address. A floating-point argument
// is never such an address.
bool is_bare_constant(std::string_view operand, bool is_intel, bool is_float)
{
    bool minus = operand.starts_with('-');
    std::string_view digits = operand.substr(minus ? 1 : 0);
    return !digits.empty() && digits.find_first_not_of("0123456789") == digits.npos &&
           (is_intel || is_float || minus || digits.size() < 5);
}

Operand parse_one(std::string_view word, bool is_intel)
{
    Operand out;
    out.text = word;
    std::string_view operand = word;
    std::string wrong;
    // The first @ ends the size. A symbol may contain another @.
    std::size_t at = word.find('@');
    bool sized = at != std::string_view::npos && at > 0 && at <= 3;
    if (sized) {
        wrong = parse_size(word.substr(0, at), out);
        operand = word.substr(at + 1);
    }
    Text text(operand);
    std::string_view bare = operand_of(word);
    if (wrong.empty() && is_intel && is_intel_operand(bare)) {
        wrong = parse_intel_operand(bare, out, sized);
    } else if (wrong.empty()) {
        if (is_bare_constant(bare, is_intel, out.is_float)) {
            out.form = OperandForm::constant;
            text = Text(bare);
            wrong = parse_constant(text, out);
        } else {
            wrong = parse_operand(text, out, sized);
        }
        if (wrong.empty() && !text.at_end())
            wrong = "has trailing text";
    }
    if (!wrong.empty()) {
        out.form = OperandForm::unknown;
        out.trouble = std::move(wrong);
    }
    return out;
}

// Returns whether a size and its @ follow the whitespace at the start of the text.
bool begins_with_size(std::string_view text)
{
    std::size_t at = text.find_first_not_of(" \t");
    std::size_t end = text.find('@');
    return end != std::string_view::npos && end > at && end - at <= 3 &&
           text.find_first_not_of("-1248f", at) == end;
}

std::vector<std::string_view> words_of(std::string_view arguments, std::size_t max)
{
    std::vector<std::string_view> words;
    std::size_t at = 0;
    while (words.size() < max) {
        at = arguments.find_first_not_of(" \t", at);
        if (at == std::string_view::npos)
            break;
        // Spaces in parentheses and brackets, and around PTR, belong to the operand. If
        // a parenthesis stays open, a space before a size ends the operand.
        std::size_t end = at;
        int depth = 0;
        for (; end < arguments.size(); end++) {
            char c = arguments[end];
            depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
            std::string_view behind = arguments.substr(end);
            if ((c == ' ' || c == '\t') && !behind.starts_with(" PTR ") &&
                !arguments.substr(at, end - at).ends_with(" PTR") &&
                (depth <= 0 || begins_with_size(behind)))
                break;
        }
        words.push_back(arguments.substr(at, end - at));
        at = end;
    }
    return words;
}

bool has_intel_operand(const std::vector<std::string_view>& words)
{
    return std::any_of(words.begin(), words.end(), [](std::string_view word) {
        return is_intel_operand(operand_of(word));
    });
}

} // namespace

Syntax syntax_of(std::string_view arguments)
{
    return has_intel_operand(words_of(arguments, max_operands)) ? Syntax::intel
                                                                : Syntax::att;
}

std::vector<Operand> parse_operands(std::string_view arguments, std::size_t max,
                                    Syntax of_file)
{
    const std::vector<std::string_view> words = words_of(arguments, max);
    // All operands of a probe have the same syntax.
    const bool is_intel =
        has_intel_operand(words) ||
        (of_file == Syntax::intel && arguments.find('%') == std::string_view::npos);
    std::vector<Operand> out;
    out.reserve(words.size());
    for (std::string_view word : words)
        out.push_back(parse_one(word, is_intel));
    return out;
}

} // namespace dt::usdt
