// SPDX-License-Identifier: MIT
// Options of a session, from the text of -x, #pragma D option, DTRACE_OPT_* and
// setopt(). Run-time options (dif/options.h) are kept as numbers.
//
// A size may end in k, m, g or t. A rate may have a unit and is stored in ns. A boolean
// is on, off or a synonym; an empty value means on.
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

// Compile-time options that are on or off.
struct CompileFlags {
    bool argref = false, core = false, cpp = false, cpphdrs = false, debug = false,
         defaultargs = false, droptags = false, empty = false, errtags = false,
         aggpercpu = false, lazyload = false, linknommap = false, nolibs = false,
         pspec = false, strip = false, zdefs = false, verbose = false, knodefs = false,
         unodefs = false;
};

// The enumerators are in the order of the words in choice_options (options.cpp).
enum class EvalTimeOption { exec, preinit, postinit, main };       // -x evaltime
enum class MechanismOption { automatic, any, jump, int3, uprobe }; // -x mechanism
enum class FollowOption { none, fork, exec, command };             // -x follow
enum class TrustOption { confined, user, all };                    // -x trust
enum class ReleaseOption { end, idle };                            // -x release
enum class FormatOption { text, json, folded };                    // -x format

class Options {
public:
    Options();

    // The reason why an option was refused:
    //   name                the option does not exist
    //   value               the option does not accept this value
    //   context             the option may not be changed while the session traces
    //   unsupported         DTrace has the option, but this implementation does not
    //   version_malformed   the value is not a version number
    //   version_undefined   there is no such version of D
    //   version_raised      a lower version was set before
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

    // Sets an option. `value` is empty for -x NAME. If `running` is true, only dynamic
    // options may change.
    Refused set(std::string_view name, std::string_view value, bool running);
    // Returns a numeric value. Returns DT_OPT_UNSET if the option is not set, and
    // nullopt for lists and unknown options.
    std::optional<std::uint64_t> get(std::string_view name) const;
    // Returns the most similar option name, or nothing.
    static std::vector<std::string> suggest(std::string_view name);

    // Returns a list such as "auto, jump or int3", or "" if the option has no list of
    // words.
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
    // Replaces a value with one that the session can provide, such as a smaller buffer
    // size.
    void adjust(int number, std::uint64_t value) { run_time_[number] = value; }
    // Returns whether the user set the option.
    bool by_user(int number) const { return by_user_[number]; }

    CompileFlags flags;
    int iregs = 8, tregs = 8, pgmax = 8;
    EvalTimeOption evaltime = EvalTimeOption::postinit;
    MechanismOption mechanism = MechanismOption::automatic;
    FollowOption follow = FollowOption::command;
    FormatOption format = FormatOption::text;
    TrustOption trust = TrustOption::confined;
    ReleaseOption release = ReleaseOption::end;
    std::vector<std::string> setenv, unsetenv, define, undef, incdir, libdir;
    std::map<std::string, std::string, std::less<>> text; // text_options, by name

    // Returns the version of D that the user chose, by default the latest.
    Version version() const;
    // Returns the minimum stability that a program may rely on, or nullopt.
    std::optional<Attributes> amin() const;

private:
    Refused check_language(std::string_view name, std::string_view value) const;

    std::array<std::uint64_t, DTRACEOPT_N> run_time_{};
    std::array<bool, DTRACEOPT_N> by_user_{};
};

std::optional<std::uint64_t> parse_size(std::string_view text);
std::optional<bool> parse_boolean(std::string_view text);
std::optional<std::uint64_t> parse_rate(std::string_view text);

} // namespace dt
