// SPDX-License-Identifier: MIT
#include "usdt/header.hpp"

#include "usdt/definition_notes.hpp"

#include <algorithm>
#include <cctype>

namespace dt::usdt {

namespace {

// The part that a generated header has in common with dtrace/sdt.h.
constexpr char note_macro[] =
#include "sdt_note.inc"
    ;

// Quotes text for an assembler string literal inside a C string literal.
std::string twice_quoted(std::string_view text)
{
    std::string out;
    for (char c : text) {
        if (c == '"' || c == '\\')
            out += "\\\\\\";
        if (c == '\t')
            out += "\\\\t";
        else
            out += c;
    }
    return out;
}

std::string assembly(std::string_view line)
{
    return "\t\"" + std::string(line) + "\\n\"\n";
}

std::string ascii(std::string_view text)
{
    std::string out;
    while (!text.empty()) {
        std::size_t end = text.find('\n');
        std::string_view line = text.substr(0, end);
        out += assembly(".ascii \\\"" + twice_quoted(line) +
                        (end != text.npos ? "\\\\n\\\"" : "\\\""));
        text.remove_prefix(end != text.npos ? end + 1 : text.size());
    }
    return out;
}

std::string section(std::string_view name, std::string_view flags,
                    std::string_view type, const std::string& group)
{
    return assembly(".pushsection " + std::string(name) + ",\\\"" + std::string(flags) +
                    "\\\",\\\"" + std::string(type) + "\\\"," + group + ",comdat");
}

std::string anchor(const std::string& group)
{
    return group + ".here";
}

// Returns the directives for the semaphores. With -flto, one assembler file may contain
// several different definitions of the provider, so .ifndef prevents a second
// definition of a semaphore.
std::string semaphores(const ProviderSource& provider, const std::string& group)
{
    std::string out = section(".probes", "awG", "progbits", group);
    out += assembly(".balign 2");
    out += assembly(".weak " + anchor(group) + "; .hidden " + anchor(group));
    out += assembly(anchor(group) + ":");
    for (const SourceProbe& probe : provider.probes) {
        std::string name = semaphore_name(provider.name, probe.name);
        out += assembly(".ifndef " + name);
        out += assembly(".weak " + name + "; .hidden " + name);
        out += assembly(".type " + name + ",@object; .size " + name + ",2");
        out += assembly(name + ": .2byte 0");
        out += assembly(".endif");
    }
    return out + assembly(".popsection");
}

std::string definition(const ProviderSource& provider, const std::string& group)
{
    if (provider.definition.empty())
        return "";
    std::string out = section(definition_section, "G", "note", group);
    out += assembly(".balign 4");
    out += assembly(".4byte 992f-991f, 994f-993f, " + std::to_string(definition_type));
    out += assembly("991: .asciz \\\"" + std::string(definition_owner) + "\\\"");
    out += assembly("992: .balign 4");
    out += assembly("993: .asciz \\\"" + provider.name + "\\\"");
    out += ascii(provider.definition);
    out += assembly(".byte 0");
    out += assembly("994: .balign 4");
    return out + assembly(".popsection");
}

// Returns the directives of the provider's section group. With -flto, several C files
// may become one assembler file, so .ifndef prevents a second copy of the group.
std::string group_text(const ProviderSource& provider)
{
    const std::string group = group_name(provider), seen = ".Lseen" + group;
    std::string out = "/* The semaphores, which count the tracers of each probe, and "
                      "the definition of\n * provider " +
                      provider.name +
                      ". A program or library contains them only once, even if\n"
                      " * several of its files include this header. */\n__asm__(\n";
    out += assembly(".ifndef " + seen);
    out += assembly(".set " + seen + ",1");
    out += semaphores(provider, group) + definition(provider, group);
    return out + assembly(".endif") + ");\n\n";
}

std::string list(std::size_t n, std::string_view between, auto text)
{
    std::string out;
    for (std::size_t i = 1; i <= n; i++)
        out += std::string(i > 1 ? between : "") + text(i);
    return out;
}

// Returns the constraint for an argument of the asm statement. A floating-point
// argument is in an SSE register. An integer may be a constant, in memory or in a
// register. The constraint "n" permits only numbers, because a note must not depend on
// symbols.
std::string place_of(const SourceArgument& argument)
{
    return argument.form.ends_with('f') ? "x" : "nor";
}

std::string declarations_of(const SourceProbe& probe)
{
    return probe.arguments.empty()
               ? "void"
               : list(probe.arguments.size(), ", ", [&](std::size_t i) {
                     return probe.arguments[i - 1].declaration;
                 });
}

// Returns the operands for the note. With -masm=intel, \044 writes a $ after the @, so
// that a constant ($7) looks the same in both syntaxes.
std::string operands_of(const SourceProbe& probe)
{
    if (probe.arguments.empty())
        return "\"\"";
    auto operand = [&](std::size_t i) {
        return probe.arguments[i - 1].form + "@{|\\\\044}%[" + parameter(i) + "]";
    };
    return "\".ascii \\\"" + list(probe.arguments.size(), " ", operand) +
           "\\\"\\n\\t\"";
}

std::string inputs_of(const SourceProbe& probe)
{
    if (probe.arguments.empty())
        return "\"i\"(0)";
    return list(probe.arguments.size(), ", ", [&](std::size_t i) {
        return "[" + parameter(i) + "] \"" + place_of(probe.arguments[i - 1]) + "\"(" +
               parameter(i) + ")";
    });
}

std::string probe_text(const ProviderSource& provider, const SourceProbe& probe)
{
    const std::string macro = macro_name(provider.name, probe.name);
    const std::string semaphore = semaphore_name(provider.name, probe.name);
    const std::string function = function_name(provider.name, probe.name);
    const std::string names = list(probe.arguments.size(), ", ", parameter);

    std::string out =
        "extern volatile unsigned short " + semaphore + " DTRACE_USDT_HIDDEN_;\n";
    out += "DTRACE_USDT_INLINE_ void " + function + "(" + declarations_of(probe) +
           ")\n{\n";
    // Floating-point arguments are always in registers, so DTRACE_SDT_FIX_ is needed
    // only for the other arguments.
    for (std::size_t i = 1; i <= probe.arguments.size(); i++)
        if (place_of(probe.arguments[i - 1]) != "x")
            out += "\tDTRACE_SDT_FIX_(" + parameter(i) + ");\n";
    // The relocations make the linker keep the section groups of the semaphore and of
    // the definition.
    out += "\t__asm__ __volatile__(\n";
    for (const std::string& kept : {semaphore, anchor(group_name(provider))})
        out += "\t    \".reloc .,R_X86_64_NONE," + kept + "\\n\\t\"\n";
    out += "\t    DTRACE_SDT_PROBE_TEXT_(\"" + semaphore + "\", \"" + provider.name +
           "\", \"" + probe.name + "\",\n";
    out += "\t\t" + operands_of(probe) + ")\n";
    out += "\t    : : " + inputs_of(probe) + " : \"memory\");\n}\n";
    out +=
        "#define " + macro + "(" + names + ") \\\n\t" + function + "(" + names + ")\n";
    out += "#define " + macro + "_ENABLED() \\\n\t__builtin_expect(" + semaphore +
           " != 0, 0)\n\n";
    return out;
}

constexpr char before[] = R"(
#if !defined __x86_64__ || !defined __ELF__
#error "a header made by dtrace -h works only in x86-64 ELF programs"
#endif

)";

// __extension__ and the pragmas prevent -pedantic warnings if the program uses an older
// standard.
constexpr char words[] = R"(
#ifndef DTRACE_USDT_INLINE_
#define DTRACE_USDT_INLINE_                                                    \
	__extension__ extern __inline__                                        \
	    __attribute__((__gnu_inline__, __always_inline__, __artificial__,  \
		__no_instrument_function__))
#define DTRACE_USDT_HIDDEN_ __attribute__((visibility("hidden")))
#ifdef __cplusplus
#define DTRACE_USDT_BOOL_ bool
#else
#define DTRACE_USDT_BOOL_ _Bool
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings"
#pragma GCC diagnostic ignored "-Wlong-long"

)";

constexpr char after[] = R"(#pragma GCC diagnostic pop
#ifdef __cplusplus
}
#endif

#endif
)";

} // namespace

std::string header_text(std::span<const ProviderSource> providers,
                        std::string_view source)
{
    std::string name(source); // goes into a comment, which must not contain "*/"
    std::replace(name.begin(), name.end(), '*', '_');
    std::string guard = "DTRACE";
    for (const ProviderSource& provider : providers) {
        // Headers with different definitions of one provider need different guards.
        const std::string group = group_name(provider);
        guard += "_" + provider.name + "_" + group.substr(group.rfind('.') + 1);
    }
    std::transform(guard.begin(), guard.end(), guard.begin(),
                   [](unsigned char c) { return std::toupper(c); });
    guard += "_PROBES_H";
    std::string out = "/*\n * Generated by dtrace -h from " + name +
                      ": edit that file, not this one.\n */\n#ifndef " + guard +
                      "\n#define " + guard + "\n";
    out += before + std::string(note_macro) + words;
    for (const ProviderSource& provider : providers) {
        for (const std::string& tag : provider.tags)
            out += tag + ";\n";
        out += group_text(provider);
        for (const SourceProbe& probe : provider.probes)
            out += probe_text(provider, probe);
    }
    return out + after;
}

} // namespace dt::usdt
