// SPDX-License-Identifier: MIT
// The operand column of DIF_OPS says which operands a mnemonic has.
#include "tests/dif/dif_text.hpp"

#include <cctype>
#include <map>
#include <stdexcept>

namespace dif_test {
namespace {

struct Row {
    dif_op op;
    dif_operands operands;
};

const std::map<std::string, Row>& rows()
{
    static const std::map<std::string, Row> table = {
#define X(op, number, operands, mnemonic) {mnemonic, {DIF_OP_##op, DIF_FMT_##operands}},
        DIF_OPS(X)
#undef X
    };
    return table;
}

// clang-format off
const std::map<std::string, unsigned>& variables()
{
    static const std::map<std::string, unsigned> table = {
#define X(name, number, type, source) {#name, number},
        DIF_VAR_ARRAYS(X) DIF_VAR_SCALARS(X)
#undef X
    };
    return table;
}

const std::map<std::string, unsigned>& subroutines()
{
    static const std::map<std::string, unsigned> table = {
#define X(name, number, prototype, where) {#name, number},
        DIF_SUBRS(X)
#undef X
    };
    return table;
}
// clang-format on

class Line {
public:
    explicit Line(const std::string& text) : text_(text) {}

    void skip()
    {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == ','))
            at_++;
    }
    std::string word()
    {
        skip();
        std::size_t from = at_;
        while (at_ < text_.size() && (std::isalnum(text_[at_]) || text_[at_] == '_'))
            at_++;
        return text_.substr(from, at_ - from);
    }
    bool take(const std::string& what)
    {
        skip();
        if (text_.compare(at_, what.size(), what) != 0)
            return false;
        at_ += what.size();
        return true;
    }
    void need(const std::string& what)
    {
        if (!take(what))
            throw std::runtime_error("expected " + what + " in: " + text_);
    }
    std::uint64_t number()
    {
        std::string digits = take("-") ? "-" : "";
        digits += word();
        return digits[0] == '-' ? -std::stoull(digits.substr(1), nullptr, 0)
                                : std::stoull(digits, nullptr, 0);
    }
    unsigned reg()
    {
        need("%r");
        return number();
    }
    // Reads a name, or a number between `before` and `after` such as DT_VAR(280).
    // Returns the number, or the name's number in `names`.
    unsigned named(const std::string& before, const std::string& after,
                   const std::map<std::string, unsigned>& names)
    {
        if (take(before)) {
            unsigned n = number();
            need(after);
            return n;
        }
        std::string name = word();
        auto found = names.find(name);
        if (found == names.end())
            throw std::runtime_error("unknown name '" + name + "' in: " + text_);
        return found->second;
    }
    std::string string()
    {
        skip();
        return quoted(text_, at_);
    }
    void end()
    {
        skip();
        if (at_ != text_.size())
            throw std::runtime_error("text after the operands: " + text_);
    }

private:
    const std::string& text_;
    std::size_t at_ = 0;
};

void operands(Difo& to, Line& line, const Row& row)
{
    unsigned r1, r2, rd;
    static const std::map<std::string, unsigned> none;

    switch (row.operands) {
    case DIF_FMT_R1_R2_RD:
        r1 = line.reg(), r2 = line.reg(), rd = line.reg();
        to.op(row.op, r1, r2, rd);
        break;
    case DIF_FMT_R1_RD:
        r1 = line.reg(), rd = line.reg();
        to.op(row.op, r1, 0, rd);
        break;
    case DIF_FMT_R1_R2:
        r1 = line.reg(), r2 = line.reg();
        to.op(row.op, r1, r2, 0);
        break;
    case DIF_FMT_R1:
        to.op(row.op, line.reg(), 0, 0);
        break;
    case DIF_FMT_LABEL:
        to.branch(row.op, line.number());
        break;
    case DIF_FMT_LOAD:
        line.need("[");
        r1 = line.reg();
        line.need("]");
        rd = line.reg();
        to.op(row.op, r1, 0, rd);
        break;
    case DIF_FMT_STORE:
        r1 = line.reg();
        line.need("[");
        rd = line.reg();
        line.need("]");
        to.op(row.op, r1, 0, rd);
        break;
    case DIF_FMT_RD:
        to.op(row.op, 0, 0, line.reg());
        break;
    case DIF_FMT_NONE:
        to.op(row.op);
        break;
    case DIF_FMT_INT_RD:
        if (line.take("#")) {
            std::uint64_t value = line.number();
            to.setx(value, line.reg());
            break;
        }
        r1 = line.named("DT_INTEGER[", "]", none);
        to.indexed(row.op, r1, line.reg());
        break;
    case DIF_FMT_STR_RD:
        if (line.take("DT_STRING[")) {
            r1 = line.number();
            line.need("]");
            to.indexed(row.op, r1, line.reg());
        } else {
            std::string text = line.string();
            to.sets(text, line.reg());
        }
        break;
    case DIF_FMT_VAR_RD:
        r1 = line.named("DT_VAR(", ")", variables());
        to.indexed(row.op, r1, line.reg());
        break;
    case DIF_FMT_RD_VAR:
        rd = line.reg();
        to.indexed(row.op, line.named("DT_VAR(", ")", variables()), rd);
        break;
    case DIF_FMT_VAR_R2_RD:
        r1 = line.named("DT_VAR(", ")", variables());
        r2 = line.reg(), rd = line.reg();
        to.op(row.op, r1, r2, rd);
        break;
    case DIF_FMT_SUBR_RD:
        r1 = line.named("DIF_SUBR(", ")", subroutines());
        to.indexed(row.op, r1, line.reg());
        break;
    case DIF_FMT_TUPLE:
        r1 = line.named("DT_TYPE(", ")", none);
        r2 = line.reg(), rd = line.reg();
        to.op(row.op, r1, r2, rd);
        break;
    case DIF_FMT_XLATE:
        r1 = line.named("DT_XLREF[", "]", none);
        to.indexed(row.op, r1, line.reg());
        break;
    }
}

} // namespace

std::string quoted(const std::string& text, std::size_t& at)
{
    std::string out;
    if (at >= text.size() || text[at] != '"')
        throw std::runtime_error("expected a string in: " + text);
    for (at++; at < text.size() && text[at] != '"'; at++) {
        if (text[at] != '\\') {
            out += text[at];
            continue;
        }
        switch (text.at(++at)) {
        case 'n':
            out += '\n';
            break;
        case 't':
            out += '\t';
            break;
        case '0':
            out += '\0';
            break;
        case 'x':
            out += static_cast<char>(std::stoi(text.substr(at + 1, 2), nullptr, 16));
            at += 2;
            break;
        default:
            out += text[at];
        }
    }
    at++;
    return out;
}

void assemble(Difo& to, const std::string& text)
{
    Line line(text);
    std::string mnemonic = line.word();

    if (mnemonic == "word") {
        to.word(line.number());
    } else {
        auto row = rows().find(mnemonic);
        if (row == rows().end())
            throw std::runtime_error("no such instruction: " + text);
        operands(to, line, row->second);
    }
    line.end();
}

} // namespace dif_test
