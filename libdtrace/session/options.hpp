// SPDX-License-Identifier: MIT
// Options of a session: parsed from the text of -x, #pragma D option, DTRACE_OPT_* and
// setopt(), kept as numbers (run-time ones, dif/options.h) or text.
//
// A size takes k, m, g, t; a rate takes a unit and is kept as ns; booleans take on/off
// and their synonyms, and nothing means on.
#pragma once

#include "base/result.hpp"
#include "dif/types.h"

#include "dif/options.h"
#include "libdtrace/compile/attributes.hpp"
#include "libdtrace/compile/version.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

// Compile-time options that have a switch of their own.
struct CompileFlags {
    bool argref = false, core = false, cpp = false, cpphdrs = false, debug = false,
         defaultargs = false, droptags = false, empty = false, errtags = false,
         aggpercpu = false, lazyload = false, linknommap = false, nolibs = false,
         pspec = false, strip = false, zdefs = false, verbose = false, knodefs = false,
         unodefs = false;
};

// Values of options that are one word of several. The enumerators are in the order of the
// words in choice_options (options.cpp); the manual page explains them.
enum class EvalTimeOption { exec, preinit, postinit, main };       // -x evaltime
enum class MechanismOption { automatic, any, jump, int3, uprobe }; // -x mechanism
enum class FollowOption { none, fork, exec, command };             // -x follow
enum class TrustOption { user, all };                              // -x trust
enum class FormatOption { text, json, folded };                    // -x format

class Options {
public:
    Options();

    // unsupported: known, but nothing here would follow it.
    // The version ones: it is malformed, there is none such, it was lower before.
    enum class Refused {
        none,
        name,
        value,
        context,
        unsupported,
        version_malformed,
        version_undefined,
        version_raised
    };

    // value empty: as with a bare -x name. running: tracing has begun, only dynamic
    // options may change.
    Refused set(std::string_view name, std::string_view value, bool running);
    // DT_OPT_UNSET when a known option is not set; nothing when there is none such.
    std::optional<std::uint64_t> get(std::string_view name) const;
    // The nearest option name; none when nothing is near.
    static std::vector<std::string> suggest(std::string_view name);

    // "auto, jump or int3"; empty: an option whose values are no list.
    static std::string choices(std::string_view name);

    std::uint64_t run_time(int number) const { return run_time_[number]; }
    bool is_set(int number) const
    {
        return run_time_[number] != DT_OPT_UNSET && run_time_[number] != 0;
    }
    const std::array<std::uint64_t, DTRACEOPT_N>& run_time_values() const
    {
        return run_time_;
    }
    // What could be had of it.
    void adjust(int number, std::uint64_t value) { run_time_[number] = value; }
    // Was it set by the user, or is it the default?
    bool by_user(int number) const { return by_user_[number]; }

    CompileFlags flags;
    int iregs = 8, tregs = 8, pgmax = 8;
    EvalTimeOption evaltime = EvalTimeOption::postinit;
    MechanismOption mechanism = MechanismOption::automatic;
    FollowOption follow = FollowOption::command;
    FormatOption format = FormatOption::text;
    TrustOption trust = TrustOption::user;
    std::vector<std::string> setenv, unsetenv, define, undef, incdir, libdir;
    std::map<std::string, std::string, std::less<>> text; // the rest, by name

    // language_options.cpp
    Version version() const;                // of D, whose names are there
    std::optional<Attributes> amin() const; // nothing less stable will do

private:
    Refused check_language(std::string_view name, std::string_view value) const;

    std::array<std::uint64_t, DTRACEOPT_N> run_time_{};
    std::array<bool, DTRACEOPT_N> by_user_{};
};

std::optional<std::uint64_t> parse_size(std::string_view text);
std::optional<bool> parse_boolean(std::string_view text);
std::optional<std::uint64_t> parse_rate(std::string_view text);

} // namespace dt
