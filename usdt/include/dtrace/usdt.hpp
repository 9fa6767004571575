// SPDX-License-Identifier: MIT
// Static probes as C++20 types, which are declared once with their argument types.
//
//   #include <dtrace/usdt.hpp>
//   namespace app {
//   using query_start = dtrace::probe<"app", "query-start", const char*, std::size_t>;
//   }
//   app::query_start::fire(text.c_str(), text.size());
//   DTRACE_FIRE(app::query_start, describe(query), query.size());
//
//   # dtrace -n 'app*:::query-start { trace(copyinstr(arg0)); }' -p PID
//
// fire() always evaluates its arguments. DTRACE_FIRE evaluates them only while the
// probe is traced. enabled() returns whether the probe is traced.
//
// Names consist of letters, digits and _, and do not begin with a digit. A probe's name
// may contain -. A provider's name must not end in a digit, because D appends the pid,
// and must not be one of DTrace's own (<dtrace/usdt_names.h>).
//
// Arguments are at most 12 numbers, enumerations and pointers. They are converted by
// the rules of C++, but not from floating-point to integer or from pointer to bool.
//
// The notes have the format of <dtrace/sdt.h>. A template can pass only numbers to the
// assembler, so the names are passed as numbers:
//
//   text = provider NUL name NUL ──> words of 8 bytes ──> .8byte for each full word,
//                                                 .4byte .2byte .byte for the rest
#pragma once

#if __cplusplus < 202002L
#error "dtrace/usdt.hpp needs C++20; dtrace/sdt.h works with all versions of C and C++"
#endif

#if defined(__code_model_large__) && defined(__PIC__) && !defined(__clang__)
#error                                                                                 \
    "dtrace/usdt.hpp: GCC cannot pass a variable's name to the assembler with -mcmodel=large -fPIC"
#endif

#include <dtrace/sdt.h>
#include <dtrace/usdt_names.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace dtrace {

namespace usdt_detail {

// A string as a template argument.
template <std::size_t n> struct Name {
    char text[n]{};
    constexpr Name(const char (&from)[n]) // NOLINT: converts implicitly
    {
        for (std::size_t i = 0; i < n; i++)
            text[i] = from[i];
    }
};

// Returns the length of the name in a note, in which __ replaces each -.
template <std::size_t length> constexpr std::size_t in_note(const Name<length>& name)
{
    std::size_t n = length - 1;
    for (char c : name.text)
        n += c == '-' ? 1 : 0;
    return n;
}

constexpr bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

template <std::size_t length> constexpr bool has_dash(const Name<length>& name)
{
    return in_note(name) != length - 1;
}

template <std::size_t length> constexpr bool is_of_dtrace(const Name<length>& name)
{
    auto same = [&](const auto& own) {
        std::size_t i = 0;
        while (i < length && i < sizeof own && own[i] == name.text[i] && own[i] != '\0')
            i++;
        return i + 1 == length && i + 1 == sizeof own;
    };
#define DTRACE_USDT_SAME_(own) || same(own)
    return false DTRACE_USDT_OWN_PROVIDERS(DTRACE_USDT_SAME_);
#undef DTRACE_USDT_SAME_
}

// The names as they are in a note, for example query__start for query-start.
struct Text {
    static constexpr std::size_t max_words = 12;

    std::int64_t words[max_words + 1]{}; // the last word has at most 7 bytes
    std::size_t n = 0;
    bool fits = true, is_name = true;

    template <std::size_t length> constexpr void add(const Name<length>& name)
    {
        is_name = is_name && length > 1;
        for (std::size_t i = 0; i + 1 < length; i++) {
            char c = name.text[i];
            is_name = is_name && (c == '_' || c == '-' || is_digit(c) ||
                                  (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'));
            put(c == '-' ? '_' : c);
            if (c == '-')
                put('_');
        }
        put('\0');
    }
    constexpr void put(char c)
    {
        fits = fits && n + 1 < sizeof words;
        if (!fits)
            return;
        auto byte = static_cast<std::uint64_t>(static_cast<unsigned char>(c));
        words[n / 8] = static_cast<std::int64_t>(
            static_cast<std::uint64_t>(words[n / 8]) | byte << n % 8 * 8);
        n++;
    }
};

template <class Provider, class Probe>
constexpr Text text_from(const Provider& provider, const Probe& probe)
{
    Text text;
    text.add(provider);
    text.add(probe);
    return text;
}
template <Name provider, Name probe>
inline constexpr Text text_of = text_from(provider, probe);

template <class Given, class Declared> constexpr bool fits_as()
{
    using G = std::remove_cvref_t<Given>;
    if constexpr (std::is_integral_v<Declared>)
        return std::is_integral_v<G> ||
               (std::is_enum_v<G> && std::is_convertible_v<Given, Declared>);
    else if constexpr (std::is_floating_point_v<Declared>)
        return std::is_arithmetic_v<G>;
    else
        return std::is_convertible_v<Given, Declared>;
}

// Converts one argument of a call to the declared type.
template <class Declared> struct Given {
    Declared value{};

    template <class From>
    [[gnu::always_inline]] constexpr Given(From from) // NOLINT: converts implicitly
    {
        constexpr bool fits = fits_as<From, Declared>();
        static_assert(fits, "this argument is not of the type that the probe declares");
        if constexpr (fits)
            value = static_cast<Declared>(from);
    }
};

template <class T> [[gnu::always_inline]] inline auto bits_of(T value)
{
    return ::dtrace_sdt::Of<T>::value(value);
}

template <std::size_t i, class First, class... Rest>
[[gnu::always_inline]] inline auto nth(First first, Rest... rest)
{
    if constexpr (i == 0)
        return bits_of(first);
    else
        return nth<i - 1>(rest...);
}

// Returns the kinds of up to six arguments, beginning with argument `first`, one byte
// each. A kind encodes the size, the signedness, and whether the argument is
// floating-point.
template <class... Args> constexpr std::int64_t kinds_from(std::size_t first)
{
    std::uint64_t all = 0;
    [[maybe_unused]] std::size_t i = 0;
    ((all |= i >= first && i < first + 6
                 ? static_cast<std::uint64_t>(::dtrace_sdt::Of<Args>::kind)
                       << 8 * (i - first)
                 : 0,
      i++),
     ...);
    return static_cast<std::int64_t>(all);
}

// The nonzero member keeps the object out of .bss, where the kernel's uprobes cannot
// access a counter.
struct Semaphore {
    volatile std::uint16_t n_tracers = 0;
    std::uint16_t in_the_file = 1;
};

} // namespace usdt_detail

// %n prints the negated value of a constant of any width, so -(%n...) is the constant.
// %c supports only constants of at most 32 bits.
#define DTRACE_USDT_ASM_ARG_(n, kinds, shift)                                          \
    DTRACE_SDT_SIZE_("(-(%n[" kinds "]) >> " shift ")") DTRACE_SDT_OPERAND_(n)
#define DTRACE_USDT_TEMPLATE_0_ ""
#define DTRACE_USDT_TEMPLATE_1_                                                        \
    DTRACE_USDT_TEMPLATE_0_ DTRACE_USDT_ASM_ARG_(1, "dt_few", "0")
#define DTRACE_USDT_TEMPLATE_2_                                                        \
    DTRACE_USDT_TEMPLATE_1_ ".ascii \" \"\n\t" DTRACE_USDT_ASM_ARG_(2, "dt_few", "8")
#define DTRACE_USDT_TEMPLATE_3_                                                        \
    DTRACE_USDT_TEMPLATE_2_ ".ascii \" \"\n\t" DTRACE_USDT_ASM_ARG_(3, "dt_few", "16")
#define DTRACE_USDT_TEMPLATE_4_                                                        \
    DTRACE_USDT_TEMPLATE_3_ ".ascii \" \"\n\t" DTRACE_USDT_ASM_ARG_(4, "dt_few", "24")
#define DTRACE_USDT_TEMPLATE_5_                                                        \
    DTRACE_USDT_TEMPLATE_4_ ".ascii \" \"\n\t" DTRACE_USDT_ASM_ARG_(5, "dt_few", "32")
#define DTRACE_USDT_TEMPLATE_6_                                                        \
    DTRACE_USDT_TEMPLATE_5_ ".ascii \" \"\n\t" DTRACE_USDT_ASM_ARG_(6, "dt_few", "40")
#define DTRACE_USDT_TEMPLATE_7_                                                        \
    DTRACE_USDT_TEMPLATE_6_ ".ascii \" \"\n\t" DTRACE_USDT_ASM_ARG_(7, "dt_many", "0")
#define DTRACE_USDT_TEMPLATE_8_                                                        \
    DTRACE_USDT_TEMPLATE_7_ ".ascii \" \"\n\t" DTRACE_USDT_ASM_ARG_(8, "dt_many", "8")
#define DTRACE_USDT_TEMPLATE_9_                                                        \
    DTRACE_USDT_TEMPLATE_8_ ".ascii \" \"\n\t" DTRACE_USDT_ASM_ARG_(9, "dt_many", "16")
#define DTRACE_USDT_TEMPLATE_10_                                                       \
    DTRACE_USDT_TEMPLATE_9_ ".ascii \" \"\n\t" DTRACE_USDT_ASM_ARG_(10, "dt_many", "24")
#define DTRACE_USDT_TEMPLATE_11_                                                       \
    DTRACE_USDT_TEMPLATE_10_                                                           \
    ".ascii \" \"\n\t" DTRACE_USDT_ASM_ARG_(11, "dt_many", "32")
#define DTRACE_USDT_TEMPLATE_12_                                                       \
    DTRACE_USDT_TEMPLATE_11_                                                           \
    ".ascii \" \"\n\t" DTRACE_USDT_ASM_ARG_(12, "dt_many", "40")

#define DTRACE_USDT_NAMES_                                                             \
    ".8byte %c[dt_semaphore]\n\t"                                                      \
    ".if %c[dt_n] >= 8\n\t.8byte -(%n[dt_w0])\n\t.endif\n\t"                           \
    ".if %c[dt_n] >= 16\n\t.8byte -(%n[dt_w1])\n\t.endif\n\t"                          \
    ".if %c[dt_n] >= 24\n\t.8byte -(%n[dt_w2])\n\t.endif\n\t"                          \
    ".if %c[dt_n] >= 32\n\t.8byte -(%n[dt_w3])\n\t.endif\n\t"                          \
    ".if %c[dt_n] >= 40\n\t.8byte -(%n[dt_w4])\n\t.endif\n\t"                          \
    ".if %c[dt_n] >= 48\n\t.8byte -(%n[dt_w5])\n\t.endif\n\t"                          \
    ".if %c[dt_n] >= 56\n\t.8byte -(%n[dt_w6])\n\t.endif\n\t"                          \
    ".if %c[dt_n] >= 64\n\t.8byte -(%n[dt_w7])\n\t.endif\n\t"                          \
    ".if %c[dt_n] >= 72\n\t.8byte -(%n[dt_w8])\n\t.endif\n\t"                          \
    ".if %c[dt_n] >= 80\n\t.8byte -(%n[dt_w9])\n\t.endif\n\t"                          \
    ".if %c[dt_n] >= 88\n\t.8byte -(%n[dt_w10])\n\t.endif\n\t"                         \
    ".if %c[dt_n] >= 96\n\t.8byte -(%n[dt_w11])\n\t.endif\n\t"                         \
    ".if %c[dt_n] & 4\n\t.4byte -(%n[dt_tail]) & 0xffffffff\n\t.endif\n\t"             \
    ".if %c[dt_n] & 2\n\t.2byte -(%n[dt_tail]) >> (8 * (%c[dt_n] & 4)) & "             \
    "0xffff\n\t.endif\n\t"                                                             \
    ".if %c[dt_n] & 1\n\t.byte -(%n[dt_tail]) >> (8 * (%c[dt_n] & 6)) & "              \
    "0xff\n\t.endif\n\t"

#define DTRACE_USDT_N_(x) (::std::integral_constant<::std::int64_t, (x)>::value)
#define DTRACE_USDT_OPERANDS_0_                                                        \
    [dt_w0] "n"(DTRACE_USDT_N_(text_.words[0])),                                       \
        [dt_w1] "n"(DTRACE_USDT_N_(text_.words[1])),                                   \
        [dt_w2] "n"(DTRACE_USDT_N_(text_.words[2])),                                   \
        [dt_w3] "n"(DTRACE_USDT_N_(text_.words[3])),                                   \
        [dt_w4] "n"(DTRACE_USDT_N_(text_.words[4])),                                   \
        [dt_w5] "n"(DTRACE_USDT_N_(text_.words[5])),                                   \
        [dt_w6] "n"(DTRACE_USDT_N_(text_.words[6])),                                   \
        [dt_w7] "n"(DTRACE_USDT_N_(text_.words[7])),                                   \
        [dt_w8] "n"(DTRACE_USDT_N_(text_.words[8])),                                   \
        [dt_w9] "n"(DTRACE_USDT_N_(text_.words[9])),                                   \
        [dt_w10] "n"(DTRACE_USDT_N_(text_.words[10])),                                 \
        [dt_w11] "n"(DTRACE_USDT_N_(text_.words[11])),                                 \
        [dt_n] "n"(DTRACE_USDT_N_(text_.n)),                                           \
        [dt_tail] "n"(DTRACE_USDT_N_(text_.words[text_.n / 8])),                       \
        [dt_semaphore] "i"(&semaphore_),                                               \
        [dt_few] "n"(DTRACE_USDT_N_(usdt_detail::kinds_from<Args...>(0))),             \
        [dt_many] "n"(DTRACE_USDT_N_(usdt_detail::kinds_from<Args...>(6)))
#define DTRACE_USDT_OPERANDS_1_                                                        \
    DTRACE_USDT_OPERANDS_0_, [dt_a1] DTRACE_SDT_CONSTRAINT(nth<0>(args...))
#define DTRACE_USDT_OPERANDS_2_                                                        \
    DTRACE_USDT_OPERANDS_1_, [dt_a2] DTRACE_SDT_CONSTRAINT(nth<1>(args...))
#define DTRACE_USDT_OPERANDS_3_                                                        \
    DTRACE_USDT_OPERANDS_2_, [dt_a3] DTRACE_SDT_CONSTRAINT(nth<2>(args...))
#define DTRACE_USDT_OPERANDS_4_                                                        \
    DTRACE_USDT_OPERANDS_3_, [dt_a4] DTRACE_SDT_CONSTRAINT(nth<3>(args...))
#define DTRACE_USDT_OPERANDS_5_                                                        \
    DTRACE_USDT_OPERANDS_4_, [dt_a5] DTRACE_SDT_CONSTRAINT(nth<4>(args...))
#define DTRACE_USDT_OPERANDS_6_                                                        \
    DTRACE_USDT_OPERANDS_5_, [dt_a6] DTRACE_SDT_CONSTRAINT(nth<5>(args...))
#define DTRACE_USDT_OPERANDS_7_                                                        \
    DTRACE_USDT_OPERANDS_6_, [dt_a7] DTRACE_SDT_LATER_(nth<6>(args...))
#define DTRACE_USDT_OPERANDS_8_                                                        \
    DTRACE_USDT_OPERANDS_7_, [dt_a8] DTRACE_SDT_LATER_(nth<7>(args...))
#define DTRACE_USDT_OPERANDS_9_                                                        \
    DTRACE_USDT_OPERANDS_8_, [dt_a9] DTRACE_SDT_LATER_(nth<8>(args...))
#define DTRACE_USDT_OPERANDS_10_                                                       \
    DTRACE_USDT_OPERANDS_9_, [dt_a10] DTRACE_SDT_LATER_(nth<9>(args...))
#define DTRACE_USDT_OPERANDS_11_                                                       \
    DTRACE_USDT_OPERANDS_10_, [dt_a11] DTRACE_SDT_LATER_(nth<10>(args...))
#define DTRACE_USDT_OPERANDS_12_                                                       \
    DTRACE_USDT_OPERANDS_11_, [dt_a12] DTRACE_SDT_LATER_(nth<11>(args...))

#define DTRACE_USDT_SITE_(n)                                                           \
    __asm__ __volatile__(                                                              \
        DTRACE_SDT_HERE_ DTRACE_SDT_NOTE_TEXT_(                                        \
            DTRACE_SDT_SECTION_, DTRACE_USDT_NAMES_, DTRACE_USDT_TEMPLATE_##n##_)      \
        :                                                                              \
        : DTRACE_USDT_OPERANDS_##n##_                                                  \
        : "memory")

template <usdt_detail::Name provider, usdt_detail::Name name, class... Args>
class probe {
    static_assert(sizeof...(Args) <= 12,
                  "a static probe may have at most 12 arguments");
    static_assert(
        (std::is_same_v<Args, std::decay_t<Args>> && ...),
        "argument types of a static probe must not be const, references or arrays");

    static constexpr const usdt_detail::Text& text_ =
        usdt_detail::text_of<provider, name>;
    static_assert(
        text_.is_name,
        "a provider's or probe's name must consist of letters, digits, _ and -");
    static_assert(!usdt_detail::is_digit(provider.text[0]) &&
                      !usdt_detail::is_digit(name.text[0]),
                  "a provider's or probe's name must begin with a letter or _");
    static_assert(sizeof provider.text < 2 ||
                      !usdt_detail::is_digit(provider.text[sizeof provider.text - 2]),
                  "a provider's name must not end in a digit: D appends the pid to it");
    static_assert(
        !usdt_detail::has_dash(provider),
        "a provider's name must not contain -: use only letters, digits and _");
    static_assert(!usdt_detail::is_of_dtrace(provider),
                  "this provider's name is one of DTrace's own: choose another name");
    static_assert(usdt_detail::in_note(provider) <= DTRACE_USDT_MAX_PROVIDER_BYTES,
                  "a provider's name may have at most 55 characters");
    static_assert(
        usdt_detail::in_note(name) <= DTRACE_USDT_MAX_NAME_BYTES,
        "a probe's name may have at most 63 characters, and each - counts as two");
    static_assert(
        text_.fits,
        "the names of a provider and a probe may have at most 101 characters in "
        "total, and each - counts as two");

    // Each program or library needs its own counter, so the symbol is hidden.
    [[gnu::visibility(
        "hidden")]] static inline constinit usdt_detail::Semaphore semaphore_;

    template <class... Values> [[gnu::always_inline]] static void site(Values... args)
    {
        using usdt_detail::nth;
        if constexpr (sizeof...(args) == 0)
            DTRACE_USDT_SITE_(0);
        else if constexpr (sizeof...(args) == 1)
            DTRACE_USDT_SITE_(1);
        else if constexpr (sizeof...(args) == 2)
            DTRACE_USDT_SITE_(2);
        else if constexpr (sizeof...(args) == 3)
            DTRACE_USDT_SITE_(3);
        else if constexpr (sizeof...(args) == 4)
            DTRACE_USDT_SITE_(4);
        else if constexpr (sizeof...(args) == 5)
            DTRACE_USDT_SITE_(5);
        else if constexpr (sizeof...(args) == 6)
            DTRACE_USDT_SITE_(6);
        else if constexpr (sizeof...(args) == 7)
            DTRACE_USDT_SITE_(7);
        else if constexpr (sizeof...(args) == 8)
            DTRACE_USDT_SITE_(8);
        else if constexpr (sizeof...(args) == 9)
            DTRACE_USDT_SITE_(9);
        else if constexpr (sizeof...(args) == 10)
            DTRACE_USDT_SITE_(10);
        else if constexpr (sizeof...(args) == 11)
            DTRACE_USDT_SITE_(11);
        else if constexpr (sizeof...(args) == 12)
            DTRACE_USDT_SITE_(12);
    }

public:
    // Returns whether the probe is traced now.
    [[gnu::always_inline]] static bool enabled()
    {
        return __builtin_expect(semaphore_.n_tracers != 0, 0);
    }

    // Fires the probe. Each call is a separate site.
    [[gnu::always_inline]] static void fire(usdt_detail::Given<Args>... args)
    {
        site(args.value...);
    }
};

} // namespace dtrace

#define DTRACE_FIRE(probe, ...)                                                        \
    do {                                                                               \
        if (probe::enabled())                                                          \
            probe::fire(__VA_ARGS__);                                                  \
    } while (0)
