// SPDX-License-Identifier: MIT
// Writes the source line of a diagnostic with a caret below it, for terminals.
//
// A tab before the caret is repeated in the caret's line, so that the terminal's tab
// stops do not matter. Bytes that a terminal might interpret are shown as '?'. If a
// line is longer than max_columns, only the part around the caret is shown.
#include "libdtrace/compile/compiler.hpp"

#include <algorithm>

namespace dt {

namespace {

constexpr std::size_t max_columns = 160;

bool is_control(char c)
{
    auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t') || byte == 0x7f;
}

} // namespace

std::string quote_source(std::string_view text, Place at)
{
    if (at.line_of_text() <= 0)
        return {};
    std::size_t begin = 0;
    for (int line = 1; line < at.line_of_text(); ++line) {
        begin = text.find('\n', begin);
        if (begin == std::string_view::npos)
            return {};
        ++begin;
    }
    std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
    if (!line.empty() && line.back() == '\r')
        line.remove_suffix(1);

    auto caret = static_cast<std::size_t>(std::max(at.column, 1)) - 1;
    caret = std::min(caret, line.size());
    if (line.size() > max_columns) {
        std::size_t from = caret > max_columns / 2 ? caret - max_columns / 2 : 0;
        line = line.substr(from, max_columns);
        caret -= from;
    }
    std::string quoted(line);
    std::replace_if(quoted.begin(), quoted.end(), is_control, '?');
    if (at.column <= 0)
        return quoted + "\n";

    std::string pointer;
    for (std::size_t i = 0; i < caret; ++i) {
        auto byte = static_cast<unsigned char>(line[i]);
        // a continuation byte of a UTF-8 character has no column of its own
        if ((byte & 0xc0) == 0x80)
            continue;
        pointer += line[i] == '\t' ? '\t' : ' ';
    }
    return quoted + "\n" + pointer + "^\n";
}

} // namespace dt
