// SPDX-License-Identifier: MIT
// See c_words.hpp.
#include "libdtrace/compile/parse/c_words.hpp"

#include "libdtrace/compile/parse/lexer.hpp"

#include <unordered_map>

namespace dt {

namespace {

struct Word {
    CWord word = CWord::None;
    Key key = Key::None;
    bool only_in_header = false;
};

const Word* find(std::string_view text)
{
    static const std::unordered_map<std::string_view, Word> words = {
#define X(text, name, only) {text, {CWord::name, Key::None, only != 0}},
        D_C_WORDS(X)
#undef X
#define X(text, keyword) {text, {CWord::None, Key::keyword, false}},
            D_C_SPELLINGS(X)
#undef X
    };
    if (!text.starts_with('_') && !text.starts_with("asm") &&
        !text.starts_with("typeof") && !text.starts_with("static_assert"))
        return nullptr;
    auto found = words.find(text);
    return found == words.end() ? nullptr : &found->second;
}

} // namespace

void read_c_word(Token& token)
{
    if (token.kind != Tok::Ident)
        return;
    const Word* found = find(token.text);
    if (found == nullptr || (found->only_in_header && !token.at.c_header))
        return;
    token.c_word = found->word;
    token.key = found->key;
    if (found->key != Key::None)
        token.kind = Tok::Keyword;
}

bool is_c_word(std::string_view text, bool in_header)
{
    const Word* found = find(text);
    return found != nullptr && (in_header || !found->only_in_header);
}

} // namespace dt
