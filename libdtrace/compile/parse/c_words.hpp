// SPDX-License-Identifier: MIT
// Keywords of C and GCC that D does not have. Headers use them (dtrace -C). Words that
// begin with an underscore are keywords everywhere, because a script's macros may
// expand to them. The other words are keywords only inside a header.
#pragma once

#include <string_view>

namespace dt {

// clang-format off
#define D_C_WORDS(X) /* X(word, name, only in a header?) */ \
    X("__attribute__", Attribute, 0)       X("__attribute", Attribute, 0) \
    X("__asm__", Asm, 0)                   X("__asm", Asm, 0) X("asm", Asm, 1) \
    X("__extension__", Extension, 0) \
    X("__inline__", Function, 0)           X("__inline", Function, 0) \
    X("_Noreturn", Function, 0) \
    X("__thread", Thread, 0)               X("_Thread_local", Thread, 0) \
    X("__typeof__", Typeof, 0)             X("__typeof", Typeof, 0) \
    X("typeof", Typeof, 1) \
    X("_Alignas", Alignas, 0) \
    X("_Alignof", Alignof, 0)              X("__alignof__", Alignof, 0) \
    X("__alignof", Alignof, 0) \
    X("_Atomic", Atomic, 0) \
    X("_Complex", Complex, 0)              X("__complex__", Complex, 0) \
    X("__complex", Complex, 0) \
    X("_Static_assert", StaticAssert, 0)   X("static_assert", StaticAssert, 1) \
    X("__int128", Int128, 0)

// Other spellings of D's keywords.
#define D_C_SPELLINGS(X) /* X(word, keyword) */ \
    X("__const__", Const)       X("__const", Const) \
    X("__volatile__", Volatile) X("__volatile", Volatile) \
    X("__restrict__", Restrict) X("__restrict", Restrict) \
    X("__signed__", Signed)     X("__signed", Signed) \
    X("__builtin_offsetof", Offsetof)
// clang-format on

enum class CWord {
    None,
    Attribute, // __attribute__((...))
    Asm,       // a name for the linker, or an assembly statement
    Extension, // __extension__, which suppresses warnings
    Function,  // a function specifier: inline or _Noreturn
    Thread,    // the storage class of thread-local variables
    Typeof,
    Alignas,
    Alignof,
    Atomic,
    Complex,
    StaticAssert, // _Static_assert(...);
    Int128,
};

struct Token;

// Sets Token::c_word, or turns another spelling of a D keyword into that keyword.
void read_c_word(Token& token);
bool is_c_word(std::string_view text, bool in_header);

} // namespace dt
