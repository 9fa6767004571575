// SPDX-License-Identifier: MIT
#include "command_words.hpp"

namespace {

class Splitter {
public:
    explicit Splitter(std::string_view text) : text_(text) {}

    CommandWords split()
    {
        while (at_ < text_.size() && result_.error.empty())
            take(text_[at_++]);
        end_word();
        return std::move(result_);
    }

private:
    void take(char c)
    {
        if (c == ' ' || c == '\t' || c == '\n')
            return end_word();
        if (c == '\\')
            return take_escaped("");
        in_word_ = true;
        if (c == '\'' || c == '"')
            return take_quoted(c);
        word_ += c;
    }

    void take_quoted(char quote)
    {
        const std::size_t begin = at_ - 1;
        while (at_ < text_.size()) {
            const char c = text_[at_++];
            if (c == quote)
                return;
            if (c == '\\' && quote == '"')
                take_escaped("\"\\$`\n");
            else
                word_ += c;
        }
        result_.error = std::string("the ") + quote + " at character " +
                        std::to_string(begin + 1) + " has no closing " + quote;
    }

    // Takes the character after a backslash. Drops the backslash only if `special` is
    // empty or contains the character.
    void take_escaped(std::string_view special)
    {
        if (at_ == text_.size()) {
            if (result_.error.empty())
                result_.error = "it ends with a backslash";
            return;
        }
        const char c = text_[at_++];
        if (c == '\n')
            return; // an escaped newline is removed
        in_word_ = true;
        if (!special.empty() && special.find(c) == std::string_view::npos)
            word_ += '\\';
        word_ += c;
    }

    void end_word()
    {
        if (in_word_)
            result_.words.push_back(std::move(word_));
        word_.clear();
        in_word_ = false;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    CommandWords result_;
    std::string word_;
    bool in_word_ = false; // distinguishes the empty word '' from no word
};

} // namespace

CommandWords split_command(std::string_view text)
{
    return Splitter(text).split();
}
