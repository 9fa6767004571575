// SPDX-License-Identifier: MIT
// Parses the values of options. Run-time options are rows of dif/options.h, and all
// other options are rows of the tables below.
#include "libdtrace/session/options.hpp"

#include "dif/arena.h"
#include "libdtrace/providers/profile_provider.hpp"
#include "libdtrace/symbols/suggest.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace dt {

namespace {

enum class Kind { BOOL, SIZE, RATE, COUNT, ENUM, CPU };

struct RunTimeOption {
    std::string_view name;
    int number;
    Kind kind;
    std::uint64_t initial;
    bool dynamic;
};

constexpr RunTimeOption run_time_options[] = {
#define X(name, number, kind, value, dynamic)                                          \
    {#name, number, Kind::kind, value, dynamic},
    DIF_OPTIONS(X)
#undef X
};

struct FlagOption {
    std::string_view name;
    bool CompileFlags::*flag;
    bool value; // the value that "on" sets
};

constexpr FlagOption flag_options[] = {
    {"aggpercpu", &CompileFlags::aggpercpu, true},
    {"argref", &CompileFlags::argref, true},
    {"core", &CompileFlags::core, true},
    {"cpp", &CompileFlags::cpp, true},
    {"cpphdrs", &CompileFlags::cpphdrs, true},
    {"debug", &CompileFlags::debug, true},
    {"defaultargs", &CompileFlags::defaultargs, true},
    {"droptags", &CompileFlags::droptags, true},
    {"empty", &CompileFlags::empty, true},
    {"errtags", &CompileFlags::errtags, true},
    {"kdefs", &CompileFlags::knodefs, false},
    {"knodefs", &CompileFlags::knodefs, true},
    {"lazyload", &CompileFlags::lazyload, true},
    {"linknommap", &CompileFlags::linknommap, true},
    {"nolibs", &CompileFlags::nolibs, true},
    {"pspec", &CompileFlags::pspec, true},
    {"strip", &CompileFlags::strip, true},
    {"udefs", &CompileFlags::unodefs, false},
    {"unodefs", &CompileFlags::unodefs, true},
    {"verbose", &CompileFlags::verbose, true},
    {"zdefs", &CompileFlags::zdefs, true},
};

struct TextOption {
    std::string_view name;
    std::string_view allowed; // words separated by "|"; empty if any text is allowed
};

constexpr TextOption text_options[] = {
    {"amin", ""},
    {"cppargs", ""},
    {"cpppath", ""},
    {"ctfpath", ""},
    {"ctypes", ""},
    {"debugdir", ""},
    {"disasm", ""},
    {"dtypes", ""},
    {"late", "static|dynamic"},
    {"encoding", "ascii|utf8"},
    {"ldpath", ""},
    {"linkmode", "kernel|primary|dynamic|static"},
    {"linktype", "elf|dof"},
    {"objcopypath", ""},
    {"stdc", "a|c|s|t"},
    {"syslibdir", ""},
    {"tree", ""},
    {"version", ""},
};

std::string lower(std::string_view text)
{
    std::string low(text);
    std::transform(low.begin(), low.end(), low.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    return low;
}

// Options whose values are words of a list.
struct ChoiceOption {
    std::string_view name;
    // The words, separated by "|", in the order of the enumerators.
    std::string_view allowed;
    void (*set)(Options&, int enumerator);
    int (*get)(const Options&);
};
#define CHOICE(name, allowed)                                                          \
    {                                                                                  \
#name, allowed,                                                                \
            [](Options& to, int n) { to.name = static_cast<decltype(to.name)>(n); },   \
            [](const Options& from) { return static_cast<int>(from.name); }       \
    }
constexpr ChoiceOption choice_options[] = {
    CHOICE(evaltime, "exec|preinit|postinit|main"),
    CHOICE(mechanism, "auto|any|jump|int3|uprobe"),
    CHOICE(follow, "none|fork|exec|command"),
    CHOICE(trust, "confined|user|all"),
    CHOICE(release, "end|idle"),
    CHOICE(format, "text|json|folded"),
};
#undef CHOICE

// Returns the index of a word in a list such as "a|b|c", or nullopt.
std::optional<int> place_of(std::string_view choices, std::string_view value)
{
    for (int n = 0; !choices.empty(); n++) {
        const std::size_t bar = choices.find('|');
        if (choices.substr(0, bar) == value)
            return n;
        choices = bar == std::string_view::npos ? "" : choices.substr(bar + 1);
    }
    return std::nullopt;
}

std::optional<std::uint64_t> parse_count(std::string_view text)
{
    std::uint64_t n = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    return n;
}

std::optional<std::uint64_t> parse_enum(int number, std::string_view text)
{
    if (number == DTRACEOPT_bufpolicy) {
        if (text == "switch")
            return DT_BUFPOLICY_SWITCH;
        if (text == "fill")
            return DT_BUFPOLICY_FILL;
        if (text == "ring")
            return DT_BUFPOLICY_RING;
    } else if (number == DTRACEOPT_bufresize) {
        if (text == "auto")
            return DT_BUFRESIZE_AUTO;
        if (text == "manual")
            return DT_BUFRESIZE_MANUAL;
    }
    return std::nullopt;
}

std::optional<std::uint64_t> parse(const RunTimeOption& option, std::string_view text)
{
    switch (option.kind) {
    case Kind::BOOL: {
        auto on = parse_boolean(text);
        if (on)
            return *on ? 1 : DT_OPT_UNSET;
        auto n = parse_count(text);
        if (n)
            return *n != 0 ? *n : DT_OPT_UNSET;
        return std::nullopt;
    }
    case Kind::SIZE:
        return parse_size(text);
    case Kind::RATE:
        // A cleanrate of 0 means that dynamic variables are never cleaned.
        if (option.number == DTRACEOPT_cleanrate && parse_count(text) == 0)
            return INT64_MAX;
        return parse_rate(text);
    case Kind::COUNT:
    case Kind::CPU:
        return parse_count(text);
    case Kind::ENUM:
        return parse_enum(option.number, text);
    }
    return std::nullopt;
}

// Options of DTrace that are not implemented. They are refused, because a program may
// rely on them.
constexpr std::string_view unsupported = "ctypes|dtypes|tree";

bool within_limits(int number, std::uint64_t value)
{
    switch (number) {
    case DTRACEOPT_strsize:
        return value > 0 && value <= 1 << 20;
    case DTRACEOPT_nspec:
        return value <= DT_MAX_SPECS;
    case DTRACEOPT_stackframes:
    case DTRACEOPT_ustackframes:
    case DTRACEOPT_jstackframes:
    case DTRACEOPT_jstackstrsize:
        return value <= UINT16_MAX;
    case DTRACEOPT_maxframes:
        return value > 0 && value <= UINT16_MAX;
    default:
        return true;
    }
}

} // namespace

std::optional<bool> parse_boolean(std::string_view text)
{
    std::string low = lower(text);
    for (const char* on : {"", "yes", "enable", "enabled", "true", "on", "set"})
        if (low == on)
            return true;
    for (const char* off : {"no", "disable", "disabled", "false", "off", "unset"})
        if (low == off)
            return false;
    return std::nullopt;
}

std::optional<std::uint64_t> parse_size(std::string_view text)
{
    std::uint64_t n = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc{})
        return std::nullopt;
    std::string unit =
        lower({end, static_cast<std::size_t>(text.data() + text.size() - end)});
    int shift = 0;
    if (unit == "k" || unit == "kb")
        shift = 10;
    else if (unit == "m" || unit == "mb")
        shift = 20;
    else if (unit == "g" || unit == "gb")
        shift = 30;
    else if (unit == "t" || unit == "tb")
        shift = 40;
    else if (!unit.empty() && unit != "b")
        return std::nullopt;
    if (n > (UINT64_MAX >> shift))
        return std::nullopt;
    return n << shift;
}

std::optional<std::uint64_t> parse_rate(std::string_view text)
{
    return parse_interval(lower(text));
}

Options::Options()
{
    for (const RunTimeOption& option : run_time_options)
        run_time_[option.number] = option.initial;
}

Options::Refused Options::set(std::string_view name, std::string_view value,
                              bool running)
{
    for (const RunTimeOption& option : run_time_options) {
        if (option.name != name)
            continue;
        if (running && !option.dynamic)
            return Refused::context;
        auto parsed = parse(option, value);
        if (!parsed || !within_limits(option.number, *parsed))
            return Refused::value;
        run_time_[option.number] = *parsed;
        by_user_[option.number] = true;
        return Refused::none;
    }
    for (const FlagOption& option : flag_options) {
        if (option.name != name)
            continue;
        auto on = parse_boolean(value);
        if (!on)
            return Refused::value;
        if (*on && place_of(unsupported, name))
            return Refused::unsupported;
        flags.*option.flag = *on == option.value;
        return Refused::none;
    }
    if (place_of(unsupported, name))
        return Refused::unsupported;
    for (const TextOption& option : text_options) {
        if (option.name != name)
            continue;
        if (value.empty() ||
            (!option.allowed.empty() && !place_of(option.allowed, value)))
            return Refused::value;
        if (Refused refused = check_language(name, value); refused != Refused::none)
            return refused;
        text[std::string(name)] = value;
        return Refused::none;
    }
    for (const ChoiceOption& option : choice_options) {
        if (option.name != name)
            continue;
        const std::optional<int> enumerator = place_of(option.allowed, value);
        if (!enumerator)
            return Refused::value;
        option.set(*this, *enumerator);
        return Refused::none;
    }
    struct Count {
        std::string_view name;
        int Options::*field;
        std::uint64_t max;
    };
    for (const Count& count :
         {Count{"iregs", &Options::iregs, 8}, Count{"tregs", &Options::tregs, 8},
          Count{"pgmax", &Options::pgmax, 4096}}) {
        if (count.name != name)
            continue;
        auto n = parse_count(value);
        if (!n || *n == 0 || *n > count.max)
            return Refused::value;
        this->*count.field = static_cast<int>(*n);
        return Refused::none;
    }
    struct List {
        std::string_view name;
        std::vector<std::string> Options::*field;
    };
    for (const List& list :
         {List{"setenv", &Options::setenv}, List{"unsetenv", &Options::unsetenv},
          List{"define", &Options::define}, List{"undef", &Options::undef},
          List{"incdir", &Options::incdir}, List{"libdir", &Options::libdir}}) {
        if (list.name != name)
            continue;
        if (value.empty())
            return Refused::value;
        (this->*list.field).emplace_back(value);
        return Refused::none;
    }
    return Refused::name;
}

std::optional<std::uint64_t> Options::get(std::string_view name) const
{
    for (const RunTimeOption& option : run_time_options)
        if (option.name == name)
            return run_time_[option.number];
    for (const FlagOption& option : flag_options)
        if (option.name == name)
            return flags.*option.flag == option.value ? 1 : DT_OPT_UNSET;
    for (const TextOption& option : text_options)
        if (option.name == name)
            return text.find(name) != text.end() ? 1 : DT_OPT_UNSET;
    if (name == "iregs")
        return iregs;
    if (name == "tregs")
        return tregs;
    if (name == "pgmax")
        return pgmax;
    for (const ChoiceOption& option : choice_options)
        if (option.name == name)
            return static_cast<std::uint64_t>(option.get(*this)) + 1;
    return std::nullopt;
}

std::string Options::choices(std::string_view name)
{
    std::string_view allowed;
    for (const ChoiceOption& option : choice_options)
        if (option.name == name)
            allowed = option.allowed;
    for (const TextOption& option : text_options)
        if (option.name == name)
            allowed = option.allowed;
    std::string text;
    for (std::size_t bar = allowed.find('|'); bar != std::string_view::npos;
         bar = allowed.find('|')) {
        text += (text.empty() ? "" : ", ") + std::string(allowed.substr(0, bar));
        allowed.remove_prefix(bar + 1);
    }
    return (text.empty() ? "" : text + " or ") + std::string(allowed);
}

std::vector<std::string> Options::suggest(std::string_view name)
{
    Suggestions suggestions(name);
    for (const RunTimeOption& option : run_time_options)
        suggestions.consider(option.name);
    for (const FlagOption& option : flag_options)
        suggestions.consider(option.name);
    for (const TextOption& option : text_options)
        suggestions.consider(option.name);
    for (const ChoiceOption& option : choice_options)
        suggestions.consider(option.name);
    for (const char* other : {"iregs", "tregs", "pgmax", "setenv", "unsetenv", "define",
                              "undef", "incdir", "libdir"})
        suggestions.consider(other);
    return suggestions.nearest(1);
}

} // namespace dt
