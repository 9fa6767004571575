// SPDX-License-Identifier: MIT
// Parses the arguments in a probe's note, which give the location of each argument at
// the probe.
//
//   "8@%rdi -4@-20(%rbp) 4@$1 8f@%xmm0 -4@40+CheckpointStats(%rip)"
//
//   argument = [size @] operand     size = [-] 1 2 4 8 [f]    minus: signed, f: floating-point
//   operand  = $ constant | % register | [%segment :] [constant] ( [base] [, index [, scale]] )
//   constant = numbers and symbols with + or - between them
//
// Programs that were built with -masm=intel have Intel syntax: "4@DWORD PTR -20[rbp]
// 8@rax -4@7", and with clang "8@[rsp - 16]". Our headers add a $: "8@$rax -4@$7".
//
// A probe has Intel syntax if one of its operands can only be Intel syntax. If another
// probe of the file has such an operand, all probes without a % in their operands also
// have Intel syntax.
//
// If an operand has an unknown form, its Operand contains its text and the reason.
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
    // The register's number in the instruction encoding (rax rcx rdx rbx rsp rbp rsi
    // rdi r8 ...). For memory, the base register.
    std::uint8_t reg = no_register;
    bool high_byte = false; // %ah %bh %ch %dh
    // Set if the base is %rip. Then `value` is a link-time address, to which %rip must
    // not be added.
    bool of_rip = false;
    std::uint8_t index = no_register;
    std::uint8_t scale = 1;
    Segment segment = Segment::none;
    // The value of a constant, or the displacement of a memory operand, without the
    // address of the symbol.
    std::int64_t value = 0;
    std::string symbol; // empty if there is no symbol
    std::string text;   // as in the note
    // Why the operand is unknown, as the end of a sentence: "has an invalid register".
    // Empty if the operand is known.
    std::string trouble;
};

inline constexpr std::size_t max_operands = 64;

enum class Syntax : std::uint8_t { att, intel };

// Returns Syntax::intel if an operand can only be Intel syntax, otherwise Syntax::att.
Syntax syntax_of(std::string_view arguments);

// Parses at most `max` operands. `of_file` is Syntax::intel if syntax_of() returned
// this value for a probe of the file.
std::vector<Operand> parse_operands(std::string_view arguments,
                                    std::size_t max = max_operands,
                                    Syntax of_file = Syntax::att);

} // namespace dt::usdt
