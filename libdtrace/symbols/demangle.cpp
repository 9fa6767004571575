// SPDX-License-Identifier: MIT
// Demangles names with the C++ runtime, within limits, and matches patterns against
// mangled and demangled names.
//
// Demangling all names of a large program takes a long time. So a name is demangled
// only if it contains a certain word of the pattern, for example `malloc`. This works
// because mangled names contain identifiers unchanged. Words that the demangler itself
// can produce are not used for this test.
#include "libdtrace/symbols/demangle.hpp"

#include "base/printable.hpp"
#include "libdtrace/symbols/glob.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cxxabi.h>
#include <memory>

namespace dt {

namespace {

// All words that the demangler can produce itself.
constexpr std::string_view made_up =
    "signed char bool double long float __float128 unsigned int __int128 short void "
    "wchar_t "
    "ellipsis decimal32 decimal64 decimal128 half char8_t char16_t char32_t auto "
    "decltype(auto) decltype(nullptr) _Float16 _Float32 _Float64 _Float128 "
    "std::bfloat16_t "
    "operator new new[] delete delete[] sizeof alignof co_await dynamic_cast "
    "static_cast "
    "const_cast reinterpret_cast typeid throw noexcept const volatile restrict "
    "__restrict "
    "_Complex _Imaginary __vector transaction_safe vtable for VTT construction -in- "
    "typeinfo name fn non-virtual thunk to virtual covariant return java Class guard "
    "variable TLS init function wrapper reference temporary hidden alias transaction "
    "clone "
    "non-transaction clone lambda unnamed type default arg string literal parameter "
    "anonymous namespace template object initializer for module this true false "
    "nullptr "
    "typename requires enum struct union global constructors keyed destructors objc "
    "std allocator basic_string string basic_istream istream basic_ostream ostream "
    "basic_iostream iostream char_traits std::complex imaginary part isra constprop "
    "cold "
    "abi cxx11 ";

// The C++ library takes about 100 ms to write 16 MiB.
constexpr double max_estimated_bytes = 16 << 20;

bool part_of_sequence(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
}

// Returns an upper bound for the length of the demangled form. Output can be longer
// than input for two reasons:
// - References (S_, S0_, T_, ...) repeat an earlier part. k references multiply the
//   length by at most e^(k/e), even if they are nested.
// - Pack expansions (Dp, sp) repeat a pattern for each element of a pack. A pack has
//   fewer elements than the name has bytes.
double estimated_bytes(std::string_view mangled)
{
    double references = 0, expansions = 0;
    for (std::size_t i = 0; i + 1 < mangled.size(); i++) {
        char c = mangled[i];
        if ((c == 'D' || c == 's') && mangled[i + 1] == 'p')
            expansions++;
        if (c != 'S' && c != 'T')
            continue;
        std::size_t end = i + 1;
        while (end < mangled.size() && part_of_sequence(mangled[end]))
            end++;
        if (end < mangled.size() && mangled[end] == '_')
            references++;
    }
    double n_bytes = static_cast<double>(mangled.size());
    return std::exp(references / std::exp(1.0)) * std::pow(n_bytes, 1 + expansions);
}

struct Free {
    void operator()(char* p) const { std::free(p); }
};

bool letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// Returns the longest word of the pattern that the demangler cannot produce itself. It
// has at least four letters and is not in a character class. Returns "" if there is
// none.
std::string needle_of(std::string_view pattern)
{
    std::string_view best;
    std::size_t start = 0;
    for (std::size_t i = 0; i <= pattern.size(); i++) {
        if (i < pattern.size() && letter(pattern[i]))
            continue;
        std::string_view run = pattern.substr(start, i - start);
        if (run.size() >= 4 && run.size() > best.size() &&
            made_up.find(run) == std::string_view::npos)
            best = run;
        if (i < pattern.size() && pattern[i] == '[')
            i = class_end(pattern, i).value_or(pattern.size()) - 1;
        else if (i < pattern.size() && pattern[i] == '\\')
            ++i;
        start = i + 1;
    }
    return std::string(best);
}

// Removes " const", "&", " [clone .cold]" and the like.
std::string_view up_to_parameters(std::string_view text)
{
    constexpr std::string_view tails[] = {" const", " volatile", " &", " &&",
                                          " noexcept"};
    for (bool cut = true; cut;) {
        cut = false;
        for (std::string_view tail : tails)
            if (text.ends_with(tail)) {
                text.remove_suffix(tail.size());
                cut = true;
            }
        std::size_t clone = text.rfind(" [clone ");
        if (text.ends_with(']') && clone != std::string_view::npos) {
            text = text.substr(0, clone);
            cut = true;
        }
    }
    return text;
}

// Returns the index of the '(' that matches the last byte, a ')', or npos.
std::size_t opening_of_last(std::string_view text)
{
    std::size_t depth = 0;
    for (std::size_t i = text.size(); i-- > 0;) {
        if (text[i] == ')')
            depth++;
        else if (text[i] == '(' && --depth == 0)
            return i;
    }
    return std::string_view::npos;
}

// Returns the offset of the name after a return type: the offset after the last space
// outside brackets.
std::size_t start_of_name(std::string_view text)
{
    std::size_t from = text.size();
    std::size_t op = text.rfind("operator");
    if (op != std::string_view::npos && (op == 0 || !letter(text[op - 1])))
        from = op;
    std::size_t depth = 0;
    for (std::size_t i = from; i-- > 0;) {
        char c = text[i];
        if (c == ')' || c == '>' || c == ']' || c == '}')
            depth++;
        else if ((c == '(' || c == '<' || c == '[' || c == '{') && depth > 0)
            depth--;
        else if (c == ' ' && depth == 0)
            return i + 1;
    }
    return 0;
}

// Demangles a name. Adds the lengths of the name and of the output to `cost`, even if
// the output is refused.
std::optional<std::string> demangle_counted(std::string_view name, std::size_t& cost)
{
    cost += name.size();
    if (!name.starts_with("_Z") || name.size() > max_mangled_bytes)
        return std::nullopt;
    if (estimated_bytes(name) > max_estimated_bytes)
        return std::nullopt;
    int status = 0;
    std::unique_ptr<char, Free> text(
        abi::__cxa_demangle(std::string(name).c_str(), nullptr, nullptr, &status));
    if (!text || status != 0)
        return std::nullopt;
    std::string_view out = text.get();
    cost += out.size();
    if (out.size() > max_demangled_bytes)
        return std::nullopt;
    return std::string(out);
}

} // namespace

std::optional<std::string> demangle(std::string_view name)
{
    std::size_t cost = 0;
    return demangle_counted(name, cost);
}

std::string_view without_parameters(std::string_view demangled)
{
    std::string_view text = up_to_parameters(demangled);
    if (text.ends_with(')') && !text.ends_with("(anonymous namespace)")) {
        std::size_t open = opening_of_last(text);
        bool call_operator = open != std::string_view::npos &&
                             text.substr(0, open).ends_with("operator");
        if (open != std::string_view::npos && !call_operator)
            text = text.substr(0, open);
    }
    return text.substr(start_of_name(text));
}

NameMatcher::NameMatcher(std::string_view pattern)
    : pattern_(pattern), glob_(is_glob(pattern)), needle_(needle_of(pattern))
{
}

bool NameMatcher::same(std::string_view text) const
{
    return glob_ ? glob_match(pattern_, text) : pattern_ == text;
}

bool NameMatcher::matches(std::string_view name) const
{
    if (same(name))
        return true;
    if (!name.starts_with("_Z") || name.find(needle_) == std::string_view::npos)
        return false;
    if (demangled_bytes_ > max_matcher_bytes)
        return false;
    auto text = demangle_counted(name, demangled_bytes_);
    return text && (same(*text) || same(without_parameters(*text)));
}

std::string printable_name(std::string_view name, std::size_t max_bytes)
{
    std::string out;
    while (!name.empty() && out.size() < max_bytes) {
        const std::size_t length = std::max<std::size_t>(utf8_length(name), 1);
        append_printable(out, name.substr(0, length), Escaping::Names);
        name.remove_prefix(length);
    }
    if (!name.empty())
        out += "...";
    return out;
}

} // namespace dt
