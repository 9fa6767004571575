// SPDX-License-Identifier: MIT
// printf and printa formats. A format is parsed once. The checker validates the
// arguments against it, and the consumer prints with it.
//
// A conversion has the form %[flags][width][.precision][size]conversion.
#pragma once

#include "libdtrace/compile/diagnostic.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// One row for each conversion: the text after the flags, the accepted values, and the
// name of these values in messages.
//   ADDRESS   an address of the kernel, or the result of sym()
//   UADDRESS  an address of the target, or the result of usym()
//   CHAR      an integer of at most four bytes
//   SHORT     an integer of at most two bytes
//   INT       any integer
//   FLOAT     float, double, long double
//   HOST      a string with the address of a host
//   PORT      a port number of type uint16_t
//   STACK     a stack
//   POINTER   a pointer or an integer
//   STRING    a string or array of char
//   TIME      an integer, in ns since 1970
//   WCHAR     a wide character
//   WSTRING   an array of wide characters
#define FORMAT_CONVERSIONS(X) /* X(conversion, takes, called) */                       \
    X("a", ADDRESS, "pointer or integer")                                              \
    X("A", UADDRESS, "pointer or integer")                                             \
    X("c", CHAR, "char, short, or int")                                                \
    X("C", CHAR, "char, short, or int")                                                \
    X("lc", CHAR, "char, short, or int")                                               \
    X("d", INT, "int")                                                                 \
    X("i", INT, "int")                                                                 \
    X("u", INT, "int")                                                                 \
    X("o", INT, "int")                                                                 \
    X("x", INT, "int")                                                                 \
    X("X", INT, "int")                                                                 \
    X("hd", SHORT, "short")                                                            \
    X("hi", SHORT, "short")                                                            \
    X("hu", SHORT, "unsigned short")                                                   \
    X("ho", SHORT, "unsigned short")                                                   \
    X("hx", SHORT, "unsigned short")                                                   \
    X("hX", SHORT, "unsigned short")                                                   \
    X("ld", INT, "long")                                                               \
    X("li", INT, "long")                                                               \
    X("lu", INT, "unsigned long")                                                      \
    X("lo", INT, "unsigned long")                                                      \
    X("lx", INT, "unsigned long")                                                      \
    X("lX", INT, "unsigned long")                                                      \
    X("lld", INT, "long long")                                                         \
    X("lli", INT, "long long")                                                         \
    X("llu", INT, "unsigned long long")                                                \
    X("llo", INT, "unsigned long long")                                                \
    X("llx", INT, "unsigned long long")                                                \
    X("llX", INT, "unsigned long long")                                                \
    X("e", FLOAT, "float, double, or long double")                                     \
    X("E", FLOAT, "float, double, or long double")                                     \
    X("f", FLOAT, "float, double, or long double")                                     \
    X("g", FLOAT, "float, double, or long double")                                     \
    X("G", FLOAT, "float, double, or long double")                                     \
    X("Le", FLOAT, "long double")                                                      \
    X("LE", FLOAT, "long double")                                                      \
    X("Lf", FLOAT, "long double")                                                      \
    X("Lg", FLOAT, "long double")                                                      \
    X("LG", FLOAT, "long double")                                                      \
    X("I", HOST, "string")                                                             \
    X("P", PORT, "uint16_t")                                                           \
    X("k", STACK, "stack")                                                             \
    X("p", POINTER, "pointer or integer")                                              \
    X("s", STRING, "char [] or string (or use stringof)")                              \
    X("S", STRING, "char [] or string (or use stringof)")                              \
    X("T", TIME, "int64_t")                                                            \
    X("Y", TIME, "int64_t")                                                            \
    X("wc", WCHAR, "wchar_t")                                                          \
    X("ws", WSTRING, "wchar_t []")
// clang-format on

namespace dt {

// clang-format off
enum class FormatTakes {
    ADDRESS, UADDRESS, CHAR, SHORT, INT, FLOAT, HOST, PORT, STACK, POINTER, STRING, TIME,
    WCHAR, WSTRING,
};
// clang-format on

struct FormatRow {
    const char* name;
    FormatTakes takes;
    const char* called;
};

// Returns null if there is no such conversion.
const FormatRow* find_format_row(std::string_view name);

struct Conversion {
    std::string literal; // text before the conversion, with %% replaced with %
    // such as "d", "lld" or "s"; empty for the literal text at the end of the format
    std::string name;
    bool alternate = false, zero = false, left = false, space = false, plus = false;
    bool group = false;         // the flag '
    bool pointer_width = false; // the flag ?
    bool aggregate = false;     // the flag @
    int width = 0;              // 0: not given
    int precision = -1;         // -1: not given
    // the width or precision is written as *
    bool dynamic_width = false, dynamic_precision = false;
};

struct Format {
    std::string text;
    std::vector<Conversion> conversions;
};

// Parses a format of a D program. Throws a CompileError (D_SYNTAX, D_PRINTF_FMT_EMPTY)
// with the place `at` if the format is malformed or empty.
Format parse_format(std::string_view text, Place at);
// Parses a format that does not come from a D program. Returns nullopt if it is
// malformed.
std::optional<Format> parse_format(std::string_view text);

} // namespace dt
