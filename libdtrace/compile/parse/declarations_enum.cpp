// SPDX-License-Identifier: MIT
// The body of an enum (see parser.hpp).
//
// In D, the values of enumerators fit into an int. In a C header, they may be as large
// as a long, as in GCC. An enum in a header is unsigned unless an enumerator is
// negative. It has 8 bytes if an enumerator needs them.
#include "libdtrace/compile/parse/parser.hpp"

#include <algorithm>
#include <climits>

namespace dt {

// Reads the enumerators. An enumerator can be used in the values of later enumerators.
void Parser::enum_body(Type& into)
{
    into.size = into.align = 4;
    into.is_signed = true;
    Constant next;
    while (!at(Tok::RBrace)) {
        next = enumerator(into, next);
        if (!accept(Tok::Comma))
            break;
    }
    if (into.enumerators.empty())
        syntax_error();
}

// Reads an enumerator, whose default value is `next`. Returns the default value of the
// enumerator after it.
Parser::Constant Parser::enumerator(Type& into, Constant next)
{
    const bool is_c = token_.at.c_header;
    bool is_word = is_c && at(Tok::Keyword) && keyword_is_member_name(token_.key);
    if (!at(Tok::Ident) && !is_word)
        syntax_error();
    Place place = token_.at;
    std::string name = token_.text;
    advance();
    CAttributes unused;
    c_extras(unused);
    if (accept(Tok::Assign)) {
        NodePtr node = conditional();
        auto value = evaluate(*node);
        if (!value)
            fail(Tag::DECL_ENCONST, place,
                 "enumerator '" + name +
                     "' must be assigned to an integral constant expression");
        next = *value;
    }
    const bool is_large = is_c && next.is_unsigned && next.value < 0; // above INT64_MAX
    bool is_int = !is_large && next.value >= INT_MIN && next.value <= INT_MAX;
    if (!is_c && !is_int)
        fail(Tag::DECL_ENOFLOW, place, "enumerator value overflows INT_MAX: " + name);
    Constant mine{next.value, is_c && !is_int && next.is_unsigned,
                  is_c && is_int ? 32 : 64};
    const Type* in = nullptr;
    const Enumerator* before = context_.types.find_enumerator(name, in);
    auto [here, is_new] = enumerators_.emplace(name, mine);
    // A header may define an enumerator again with the same value.
    bool is_again = is_c && (is_new || here->second.value == next.value) &&
                    (before == nullptr || before->value == next.value);
    if ((!is_new || before != nullptr) && !is_again)
        fail(Tag::DECL_IDRED, place, "identifier redeclared: " + name);
    into.enumerators.push_back({name, next.value});
    Constant more{static_cast<std::int64_t>(static_cast<std::uint64_t>(next.value) + 1),
                  mine.is_unsigned, 64};
    more.is_unsigned = more.is_unsigned || next.value == INT64_MAX;
    return more;
}

void Parser::finish_enum(Type& into, const CAttributes& attributes, bool is_c) const
{
    bool has_negative = false;
    // The largest value. A negative value v counts as ~v, which needs as many bits as v
    // without its sign.
    std::uint64_t largest = 0;
    for (const Enumerator& one : into.enumerators) {
        auto found = enumerators_.find(one.name);
        bool is_negative = one.value < 0 &&
                           !(found != enumerators_.end() && found->second.is_unsigned);
        auto bits = static_cast<std::uint64_t>(one.value);
        has_negative = has_negative || is_negative;
        largest = std::max(largest, is_negative ? ~bits : bits);
    }
    if (has_negative)
        largest =
            largest > INT64_MAX ? largest : largest << 1; // plus one bit for the sign
    std::uint64_t size = largest > UINT_MAX ? 8 : 4;
    if (attributes.packed)
        size = largest <= UINT8_MAX ? 1 : largest <= UINT16_MAX ? 2 : size;
    into.size = size;
    into.align = std::max(static_cast<std::uint32_t>(size), attributes.align);
    into.is_signed = has_negative || !is_c;
    into.complete = true;
    context_.types.add_enumerator_scope(&into);
}

} // namespace dt
