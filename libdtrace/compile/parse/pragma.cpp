// SPDX-License-Identifier: MIT
// See pragma.hpp.
#include "libdtrace/compile/parse/pragma.hpp"

#include "libdtrace/compile/passes.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>

namespace dt {

// The words of a control line, separated by whitespace. Quotes around a word are
// removed.
struct Pragmas::Words {
    std::string_view rest;

    void skip()
    {
        while (!rest.empty() && std::isspace(static_cast<unsigned char>(rest.front())))
            rest.remove_prefix(1);
        while (!rest.empty() && std::isspace(static_cast<unsigned char>(rest.back())))
            rest.remove_suffix(1);
        if (rest.starts_with("/*") && rest.ends_with("*/"))
            rest = {};
    }
    bool empty()
    {
        skip();
        return rest.empty();
    }
    std::string_view next()
    {
        skip();
        if (rest.starts_with('"')) {
            std::size_t end = rest.find('"', 1);
            if (end != std::string_view::npos) {
                std::string_view word = rest.substr(1, end - 1);
                rest.remove_prefix(end + 1);
                return word;
            }
        }
        std::size_t end = 0;
        while (end < rest.size() &&
               !std::isspace(static_cast<unsigned char>(rest[end])))
            ++end;
        std::string_view word = rest.substr(0, end);
        rest.remove_prefix(end);
        return word;
    }
};

namespace {

constexpr std::string_view provider_parts[] = {"provider", "module", "function", "name",
                                               "args"};
constexpr std::string_view dependency_kinds[] = {"module", "provider", "library",
                                                 "member", "symbol"};

constexpr std::string_view preprocessor_words[] = {
    "include", "define", "undef", "if", "ifdef", "ifndef", "else", "elif", "endif"};

// clang-format off
#define D_COMPILE_OPTIONS(X) /* X(option, field of CompileOptions) */ \
    X(zdefs, zdefs) X(empty, empty) X(argref, argref) X(defaultargs, defaultargs) \
    X(pspec, pspec) X(strsize, strsize) X(iregs, n_registers) X(tregs, n_tuple_registers) \
    X(stackframes, stackframes) X(ustackframes, ustackframes) \
    X(jstackframes, jstackframes) X(jstackstrsize, jstackstrsize) \
    X(maxframes, maxframes) \
    X(amin, amin) X(version, version)
// clang-format on

template <std::size_t N>
bool one_of(const std::string_view (&words)[N], std::string_view word)
{
    return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

bool all_digits(std::string_view text)
{
    return !text.empty() && std::all_of(text.begin(), text.end(),
                                        [](char c) { return c >= '0' && c <= '9'; });
}

[[noreturn]] void malformed(std::string_view what, Place at, std::string_view expected)
{
    fail(Tag::PRAGMA_MALFORM, at,
         "malformed #pragma D " + std::string(what) + ": expected " +
             std::string(expected));
}

void expect_end(bool empty, std::string_view what, Place at)
{
    if (!empty)
        fail(Tag::PRAGMA_MALFORM, at,
             "superfluous arguments specified for #pragma D " + std::string(what));
}

PragmaOption split_option(std::string_view word, Place at)
{
    std::size_t equals = word.find('=');
    PragmaOption option;
    option.name = word.substr(0, equals);
    if (equals != std::string_view::npos)
        option.value = word.substr(equals + 1);
    if (option.value.size() >= 2 && option.value.front() == '"' &&
        option.value.back() == '"')
        option.value = option.value.substr(1, option.value.size() - 2);
    option.at = at;
    return option;
}

} // namespace

// Reads a line number and an optional file name. cpp adds the flag 1 or 2 after the
// name of an included file. A file with a flag is a C header, unless it is the program
// itself.
void Pragmas::set_line(Words& words, std::string_view number, Place at, Lexer& lexer)
{
    if (!all_digits(number) || number.size() > 9)
        fail(Tag::PRAGMA_MALFORM, at, "malformed #line: expected a line number");
    lexer.set_line(std::stoi(std::string(number)));
    if (words.empty())
        return;
    std::string_view name = words.next();
    bool own = name == options_.source_name || name.starts_with('<'); // such as <stdin>
    if (own)
        return lexer.set_file(options_.library ? files_(options_.source_name)
                                               : nullptr);
    const std::string* file = files_(name);
    bool included = lexer.in_c_header(file);
    while (!words.empty()) {
        std::string_view flag = words.next();
        included = included || flag == "1" || flag == "2";
    }
    lexer.set_file(file, included);
}

void Pragmas::control(std::string_view line, Place at, Lexer& lexer)
{
    Words words{line};
    std::string_view word = words.next();
    if (word.empty() || word == "ident")
        return;
    const bool is_line = word == "line"; // cpp writes `# 12` instead of `#line 12`
    if (is_line)
        word = words.next();
    if (is_line || all_digits(word))
        set_line(words, word, at, lexer);
    else if (word == "error")
        fail(Tag::PRAGERR, at,
             words.empty() ? "#error" : "#error: " + std::string(words.rest));
    else if (word == "pragma")
        pragma(words, at, lexer);
    else
        fail(Tag::PRAGCTL_INVAL, at,
             "invalid control directive: #" + std::string(word) +
                 (one_of(preprocessor_words, word) ? "; -C runs the C preprocessor"
                                                   : ""));
}

void Pragmas::pragma(Words words, Place at, Lexer& lexer)
{
    Words all = words;
    std::string_view word = words.next();
    if (word == "D")
        d_pragma(words, at);
    else if (word == "error" || word == "ident" || word == "line")
        control(all.rest, at, lexer);
    else if (word.starts_with("pack"))
        packing_.pragma(all.rest.substr(all.rest.find("pack") + 4));
}

void Pragmas::d_pragma(Words words, Place at)
{
    std::string_view word = words.next();
    if (word == "option")
        option(words, at);
    else if (word == "attributes")
        attributes(words, at);
    else if (word == "binding")
        binding(words, at);
    else if (word == "depends_on")
        depends_on(words, at);
    else
        fail(Tag::PRAGMA_INVAL, at,
             word.empty() ? "malformed #pragma D: expected a directive"
                          : "invalid D pragma: " + std::string(word));
}

void Pragmas::option(Words& words, Place at)
{
    std::string_view word = words.next();
    if (word.empty() || word.front() == '=')
        malformed("option", at, "name[=value]");
    expect_end(words.empty(), "option", at);
    PragmaOption option = split_option(word, at);
    if (auto reason = options_.environment->set_option(option.name, option.value))
        fail(Tag::PRAGMA_OPTSET, at,
             "failed to set option '" + option.name +
                 (option.value.empty() ? "'" : "' to '" + option.value + "'") + ": " +
                 *reason);
    unit_.options.push_back(std::move(option));
}

void Pragmas::attributes(Words& words, Place at)
{
    PragmaAttributes pragma;
    std::string_view text = words.next();
    std::optional<Attributes> attributes = parse_attributes(text);
    if (!attributes)
        malformed("attributes", at,
                  "name/data/class, found \"" + std::string(text) + "\"");
    pragma.attributes = *attributes;
    std::string_view first = words.next();
    if (first == "provider" && !words.empty()) {
        pragma.name = words.next();
        pragma.part = words.next();
        if (!one_of(provider_parts, pragma.part))
            malformed(
                "attributes", at,
                "provider, module, function, name or args after the provider's name");
    } else {
        pragma.name = first;
    }
    if (pragma.name.empty())
        malformed("attributes", at, "an identifier");
    expect_end(words.empty(), "attributes", at);
    pragma.at = at;
    unit_.attributes.push_back(std::move(pragma));
}

void Pragmas::binding(Words& words, Place at)
{
    PragmaBinding pragma;
    std::string_view text = words.next();
    std::optional<Version> version = parse_version(text);
    pragma.name = words.next();
    pragma.at = at;
    if (!version)
        malformed("binding", at, "a version string");
    if (!is_defined(*version))
        fail(Tag::PRAGMA_INVAL, at,
             "undefined version specified by #pragma D binding: " + std::string(text));
    pragma.version = *version;
    if (pragma.name.empty())
        malformed("binding", at, "an identifier");
    expect_end(words.empty(), "binding", at);
    unit_.bindings.push_back(std::move(pragma));
}

void Pragmas::depends_on(Words& words, Place at)
{
    PragmaDependency pragma;
    pragma.kind = words.next();
    pragma.name = words.next();
    pragma.at = at;
    if (!one_of(dependency_kinds, pragma.kind))
        malformed("depends_on", at, "module, provider, library, member or symbol");
    if (pragma.name.empty())
        malformed("depends_on", at, "a name");
    expect_end(words.empty(), "depends_on", at);
    if (!options_.environment->has_dependency(pragma.kind, pragma.name))
        fail(Tag::PRAGMA_DEPEND, at,
             "program requires " + pragma.kind + " " + pragma.name);
    unit_.dependencies.push_back(std::move(pragma));
}

namespace {

// Finds the control lines in D text. Skips a # inside comments, strings and character
// constants.
class ControlLines {
public:
    explicit ControlLines(std::string_view text) : text_(text) {}

    template <class Visit> void each(Visit visit)
    {
        bool fresh = true;
        while (pos_ < text_.size()) {
            char c = text_[pos_];
            if (c == '\n') {
                fresh = true;
                ++line_;
                ++pos_;
            } else if (c == '#' && fresh) {
                std::size_t end = std::min(text_.find('\n', pos_), text_.size());
                visit(text_.substr(pos_ + 1, end - pos_ - 1), Place{line_, 1});
                pos_ = end;
            } else if (text_.substr(pos_, 2) == "/*") {
                skip_comment();
            } else if (text_.substr(pos_, 2) == "//") {
                pos_ = std::min(text_.find('\n', pos_), text_.size());
            } else if (c == '"' || c == '\'') {
                skip_quoted(c);
                fresh = false;
            } else {
                fresh = fresh && std::isspace(static_cast<unsigned char>(c));
                ++pos_;
            }
        }
    }

private:
    void skip_comment()
    {
        std::size_t end = text_.find("*/", pos_ + 2);
        end = end == std::string_view::npos ? text_.size() : end + 2;
        line_ +=
            static_cast<int>(std::count(text_.begin() + static_cast<long>(pos_),
                                        text_.begin() + static_cast<long>(end), '\n'));
        pos_ = end;
    }

    // Skips the quoted text. If the line has no closing quote, skips to the end of the
    // line; the parser reports the error.
    void skip_quoted(char quote)
    {
        for (++pos_; pos_ < text_.size() && text_[pos_] != '\n'; ++pos_) {
            if (text_[pos_] == quote) {
                ++pos_;
                return;
            }
            if (text_[pos_] == '\\' && pos_ + 1 < text_.size() &&
                text_[pos_ + 1] != '\n')
                ++pos_;
        }
    }

    std::string_view text_;
    std::size_t pos_ = 0;
    int line_ = 1;
};

std::string lower_case(std::string_view text)
{
    std::string lower(text);
    for (char& c : lower)
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return lower;
}

bool parse_bool(std::string_view text, bool& value)
{
    static constexpr std::string_view yes[] = {"",        "true", "yes", "enable",
                                               "enabled", "on",   "set", "1"};
    static constexpr std::string_view no[] = {"false", "no",    "disable", "disabled",
                                              "off",   "unset", "0"};
    std::string lower = lower_case(text);
    if (one_of(yes, lower))
        value = true;
    else if (one_of(no, lower))
        value = false;
    else
        return false;
    return true;
}

// Parses a number with an optional suffix k, m, g or t, such as 64, 4k or 1m.
bool parse_size(std::string_view text, std::uint64_t& value)
{
    static constexpr std::string_view units = "kmgt";
    unsigned shift = 0;
    if (!text.empty()) {
        std::size_t unit = units.find(lower_case(text.substr(text.size() - 1)));
        if (unit != std::string_view::npos) {
            shift = 10 * (static_cast<unsigned>(unit) + 1);
            text.remove_suffix(1);
        }
    }
    if (!all_digits(text) || text.size() > 9)
        return false;
    std::uint64_t number = std::stoull(std::string(text));
    if (number == 0 || number > (std::uint64_t{1} << 40 >> shift))
        return false;
    value = number << shift;
    return true;
}

void set(bool& field, std::string_view value)
{
    parse_bool(value, field);
}

void set(std::optional<Attributes>& field, std::string_view value)
{
    if (auto attributes = parse_attributes(value))
        field = attributes;
}

void set(Version& field, std::string_view value)
{
    auto version = parse_version(value);
    if (version && is_defined(*version))
        field = *version;
}

template <class Number> void set(Number& field, std::string_view value)
{
    std::uint64_t number = 0;
    if (parse_size(value, number) && number <= (1u << 30))
        field = static_cast<Number>(number);
}

} // namespace

// Returns the words of each control line that begins with the given words.
static std::vector<std::pair<std::vector<std::string>, Place>>
scan_pragmas(std::string_view text, std::initializer_list<std::string_view> with)
{
    std::vector<std::pair<std::vector<std::string>, Place>> found;
    ControlLines(text).each([&](std::string_view line, Place at) {
        std::istringstream in{std::string(line)};
        std::vector<std::string> words;
        for (std::string word; in >> word;)
            words.push_back(std::move(word));
        if (words.size() > with.size() &&
            std::equal(with.begin(), with.end(), words.begin()))
            found.emplace_back(std::move(words), at);
    });
    return found;
}

std::vector<PragmaOption> scan_options(std::string_view text)
{
    std::vector<PragmaOption> found;
    for (const auto& [words, at] : scan_pragmas(text, {"pragma", "D", "option"}))
        found.push_back(split_option(words[3], at));
    return found;
}

std::vector<std::string> library_dependencies(std::string_view text)
{
    std::vector<std::string> found;
    for (const auto& [words, at] :
         scan_pragmas(text, {"pragma", "D", "depends_on", "library"}))
        found.push_back(words[4]);
    return found;
}

void apply_options(const std::vector<PragmaOption>& pragmas, CompileOptions& options)
{
    for (const PragmaOption& pragma : pragmas) {
#define X(option, field)                                                               \
    if (pragma.name == #option)                                                        \
        set(options.field, pragma.value);
        D_COMPILE_OPTIONS(X)
#undef X
    }
}

} // namespace dt
