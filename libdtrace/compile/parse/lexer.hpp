// SPDX-License-Identifier: MIT
// Splits D text into tokens, one at a time, in the mode that the parser requests.
//
//   Mode::Code     expressions, statements, declarations
//   Mode::Outer    places where a probe description may start. A probe description is
//                  one token.
//
// The lexer consumes comments, #! lines and control lines. It passes each control line
// to the parser's pragma handler.
//
// `/` closes an open predicate if `;`, `{`, `/` or the end of the text follows, perhaps
// after whitespace. Otherwise `/` is the division operator.
//
// The text may contain any bytes, including NUL. The lexer's run time is linear in the
// length of the text.
#pragma once

#include "libdtrace/compile/ast.hpp"
#include "libdtrace/compile/parse/c_words.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

// clang-format off
#define D_KEYWORDS(X) /* X(word, name, is usable as a C member's name) */ \
    X("auto", Auto, 0) X("break", Break, 0) X("case", Case, 0) X("char", Char, 0) \
    X("const", Const, 0) X("continue", Continue, 0) X("counter", Counter, 1) \
    X("default", Default, 0) X("do", Do, 0) X("double", Double, 0) X("else", Else, 0) \
    X("enum", Enum, 0) X("extern", Extern, 0) X("float", Float, 0) X("for", For, 0) \
    X("goto", Goto, 0) X("if", If, 0) X("import", Import, 1) X("inline", Inline, 0) \
    X("int", Int, 0) X("long", Long, 0) X("offsetof", Offsetof, 0) X("probe", Probe, 1) \
    X("provider", Provider, 1) X("register", Register, 0) X("restrict", Restrict, 0) \
    X("return", Return, 0) X("self", Self, 1) X("short", Short, 0) X("signed", Signed, 0) \
    X("sizeof", Sizeof, 0) X("static", Static, 0) X("string", String, 1) \
    X("stringof", Stringof, 1) X("struct", Struct, 0) X("switch", Switch, 0) \
    X("this", This, 1) X("translator", Translator, 1) X("typedef", Typedef, 0) \
    X("union", Union, 0) X("unsigned", Unsigned, 0) X("userland", Userland, 1) \
    X("void", Void, 0) X("volatile", Volatile, 0) X("while", While, 0) X("xlate", Xlate, 1)

#define D_PUNCTUATION(X) /* X(text, name); each text comes before its prefixes */ \
    X("...", Ellipsis) X("<<=", ShlAssign) X(">>=", ShrAssign) \
    X("->", Arrow) X("++", PlusPlus) X("--", MinusMinus) X("<<", Shl) X(">>", Shr) \
    X("<=", Le) X(">=", Ge) X("==", EqEq) X("!=", NotEq) X("&&", AndAnd) X("||", OrOr) \
    X("^^", XorXor) X("+=", AddAssign) X("-=", SubAssign) X("*=", MulAssign) \
    X("/=", DivAssign) X("%=", ModAssign) X("&=", AndAssign) X("|=", OrAssign) \
    X("^=", XorAssign) X("(", LParen) X(")", RParen) X("[", LBracket) X("]", RBracket) \
    X("{", LBrace) X("}", RBrace) X(";", Semicolon) X(",", Comma) X("?", Question) \
    X(":", Colon) X("=", Assign) X("+", Plus) X("-", Minus) X("*", Star) X("/", Slash) \
    X("%", Percent) X("&", And) X("|", Or) X("^", Xor) X("~", Tilde) X("!", Bang) \
    X("<", Lt) X(">", Gt) X(".", Dot)
// clang-format on

// The kinds of tokens. Each comment names the members of Token that are valid.
enum class Tok {
    End,
    Ident,   // Token::text is the name: "foo", "a.out`foo", "`foo"
    Keyword, // Token::key, Token::text
    // Token::value, unsigned_suffix, long_suffix and decimal. Token::negative is true
    // if the value of a macro variable such as $1 begins with '-'.
    Integer,
    Float,        // Token::float_value
    String,       // Token::text
    Char,         // Token::value
    Aggregation,  // Token::text is the name without the @
    ProbeSpec,    // Token::text is the description; only in Mode::Outer
    PredicateEnd, // the `/` that closes a predicate
    Unknown,      // a byte that no token starts with
#define X(text, name) name,
    D_PUNCTUATION(X)
#undef X
};

enum class Key {
    None,
#define X(word, name, member) name,
    D_KEYWORDS(X)
#undef X
};

// Returns Key::None if the word is not a keyword.
Key find_keyword(std::string_view word);
// Returns whether C code commonly uses this word as a member's name.
bool keyword_is_member_name(Key key);

struct Token {
    Tok kind = Tok::End;
    Key key = Key::None;
    CWord c_word = CWord::None; // set by read_c_word() if an Ident is a keyword of C
    Place at;
    std::size_t begin = 0; // offset in the text
    std::string_view raw;  // the token as the text spells it
    std::string text;
    std::uint64_t value = 0;
    double float_value = 0;
    bool unsigned_suffix = false, decimal = true, negative = false;
    int long_suffix = 0;
};

class Macros;

class Lexer {
public:
    enum class Mode { Code, Outer };

    // Called in Outer mode. Returns whether `name` is a type. If so, "name*" starts a
    // declaration.
    using IsType = std::function<bool(std::string_view name)>;
    // Called for each control line. `line` is the line without its '#' and line end,
    // and `at` is the place of the '#'. The handler may call set_line().
    using Control = std::function<void(std::string_view line, Place at)>;

    Lexer(std::string_view text, Macros& macros, bool pspec, IsType is_type,
          Control control);

    Token next(Mode mode);
    void open_predicate() { predicate_open_ = true; }
    // Sets the number of the line after the current line.
    void set_line(int line) { line_ = line - 1; }
    void set_file(const std::string* file, bool c_header = false)
    {
        file_ = file;
        c_header_ = c_header;
    }
    bool in_c_header() const { return c_header_; }
    bool in_c_header(const std::string* file) const
    {
        return c_header_ && file_ == file;
    }

private:
    char peek(std::size_t ahead = 0) const
    {
        return pos_ + ahead < text_.size() ? text_[pos_ + ahead] : '\0';
    }
    bool at_end() const { return pos_ >= text_.size(); }
    Place place() const;
    void newline();
    std::size_t splice_length(std::size_t at) const;
    void skip_blanks(Mode mode);
    void skip_block_comment();
    void skip_line();
    void control_line();

    Token make(Tok kind, std::size_t begin, Place at) const;
    std::size_t module_end(std::size_t begin) const;
    Token outer(Token token);
    Token code(Token token);
    std::optional<std::string> process_scope(std::size_t& end, Place at);
    std::size_t skip_tag_keyword(std::size_t at) const;
    Token word(Token token);
    Token word(Token token, std::string_view spelled) const;
    Token macro(Token token);
    Token aggregation(Token token);
    Token punctuation(Token token);
    Token number(Token token);
    Token quoted(Token token);
    bool slash_closes_predicate() const;
    void count_brackets(Tok kind, Place at);

    std::string_view text_;
    Macros& macros_;
    bool pspec_;
    IsType is_type_;
    Control control_;
    std::size_t pos_ = 0;
    std::size_t line_start_ = 0;
    int line_ = 1;                      // line number, which #line can change
    int text_line_ = 1;                 // line number in the text, regardless of #line
    const std::string* file_ = nullptr; // file that #line named
    bool c_header_ = false;
    bool fresh_line_ = true; // only whitespace was read since the line began
    bool predicate_open_ = false;
    int parens_ = 0, brackets_ = 0;
};

// Decodes an integer constant (prefix, digits, suffix) into the token. Returns the
// number of characters read. Fails with INT_DIGIT if a digit is not valid in the
// constant's base. Fails with the tag `overflow` if the value exceeds 64 bits.
std::size_t read_integer(std::string_view text, Token& token, Tag overflow);

} // namespace dt
