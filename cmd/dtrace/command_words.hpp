// SPDX-License-Identifier: MIT
// Splits the command line of -c into words.
//
// Blanks separate words. Quotes and backslashes have the meaning that they have in a
// shell (POSIX.1-2017, Shell Command Language, 2.2 Quoting):
//   - '...' is literal
//   - "..." is literal except for a backslash before ", \, $, ` or a newline
//   - a backslash outside quotes makes the next character literal, or removes a newline
// There are no expansions and no operators: $, *, ~, |, ; and > are ordinary
// characters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

struct CommandWords {
    std::vector<std::string> words;
    std::string error; // the reason why the text cannot be split; empty if it can be
};

CommandWords split_command(std::string_view text);
