// SPDX-License-Identifier: MIT
// Splits the command line of -c into words.
//
// Blanks separate words. Quotes and backslashes have the meaning that they have in a
// shell (POSIX.1-2017, Shell Command Language, 2.2 Quoting):
//   - '...' is literal;
//   - "..." is literal except for a backslash before ", \, $, ` or a newline;
//   - a backslash elsewhere makes the next character literal, and removes a newline.
// There is no expansion, and there are no operators: $, *, ~, |, ; and > are ordinary
// characters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

struct CommandWords {
    std::vector<std::string> words;
    std::string error; // empty, or why the text cannot be split
};

CommandWords split_command(std::string_view text);
