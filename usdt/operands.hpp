// SPDX-License-Identifier: MIT
// What a probe's note says about its arguments: where each is when the probe is reached.
//
//   "8@%rdi -4@-20(%rbp) 4@$1 8f@%xmm0 -4@40+CheckpointStats(%rip)"
//
//   argument = [size @] operand     size = [-] 1 2 4 8 [f]    minus: signed, f: floating
//   operand  = $ constant | % register | [%segment :] [constant] ( [base] [, index [, scale]] )
//   constant = numbers and symbols with + and - between
//
// Programs that were built with -masm=intel have Intel's: "4@DWORD PTR -20[rbp] 8@rax -4@7",
// and "8@[rsp - 16]" of clang; those of our headers have a $ before: "8@$rax -4@$7". A probe
// is read so when one of its operands can be nothing else, or one of its file's and none of
// its own is AT&T's: SystemTap's header leaves "4@7654321" then, which is a constant, and
// an address elsewhere.
//
// An operand that is of no known form keeps its text and what is wrong with it: the others
// are of use all the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dt::usdt {

enum class OperandForm : std::uint8_t {
    unknown,
    constant,
    general, // a general register or a part of one
    vector,  // the low bytes of %xmmN
    memory,
};

enum class Segment : std::uint8_t { none, fs, gs };

struct Operand {
    static constexpr std::uint8_t no_register = 0xff;

    OperandForm form = OperandForm::unknown;
    std::uint8_t bytes = 8;
    bool is_signed = false;
    bool is_float = false;
    // In the encoding's order (rax rcx rdx rbx rsp rbp rsi rdi r8 ...); of memory the base.
    std::uint8_t reg = no_register;
    bool high_byte = false; // %ah %bh %ch %dh
    bool of_rip = false; // the base is %rip: addresses are link-time ones, without it
    std::uint8_t index = no_register;
    std::uint8_t scale = 1;
    Segment segment = Segment::none;
    // Of a constant its value, of memory the displacement; the symbol's address is added.
    std::int64_t value = 0;
    std::string symbol;  // empty: none
    std::string text;    // as it stands in the note
    std::string trouble; // of an unknown one: a sentence's end, "has no known register"
};

inline constexpr std::size_t max_operands = 64;

enum class Syntax : std::uint8_t { att, intel };

// Intel's: an operand is there that can be nothing else.
Syntax syntax_of(std::string_view arguments);

// At most `max` of them; what is behind is cut off. of_file: what syntax_of() says of any of
// the file's probes.
std::vector<Operand> parse_operands(std::string_view arguments,
                                    std::size_t max = max_operands,
                                    Syntax of_file = Syntax::att);

} // namespace dt::usdt
