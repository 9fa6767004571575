// SPDX-License-Identifier: MIT
#include "libdtrace/session/option_changes.hpp"

#include "base/each_part.hpp"
#include "libdtrace/session/debug.hpp"
#include "libdtrace/symbols/debug/debug_folders.hpp"
#include "libdtrace/symbols/suggest.hpp"

#include <sys/resource.h>

namespace dt {

static void allow_core()
{
    rlimit core{};
    if (::getrlimit(RLIMIT_CORE, &core) == 0) {
        core.rlim_cur = core.rlim_max;
        ::setrlimit(RLIMIT_CORE, &core);
    }
}

std::string refusal_text(Options::Refused refused, std::string_view name)
{
    switch (refused) {
    case Options::Refused::name:
        return "Invalid option name" + did_you_mean(Options::suggest(name));
    case Options::Refused::value:
        if (std::string choices = Options::choices(name); !choices.empty())
            return "Invalid value for specified option: it must be " + choices;
        return "Invalid value for specified option";
    case Options::Refused::context:
        return "Operation illegal when tracing is active";
    case Options::Refused::unsupported:
        return "Option is not supported";
    case Options::Refused::version_malformed:
        return dtrace_errmsg(nullptr, EDT_VERSINVAL);
    case Options::Refused::version_undefined:
        return dtrace_errmsg(nullptr, EDT_VERSUNDEF);
    case Options::Refused::version_raised:
        return dtrace_errmsg(nullptr, EDT_VERSREDUCED);
    case Options::Refused::none:
        break;
    }
    return "";
}

Options::Refused change_option(SessionState& state, std::string_view name,
                               std::string_view value)
{
    auto refused = state.options.set(name, value, state.active);
    if (refused == Options::Refused::none) {
        if (name == "debug")
            _dtrace_debug = state.options.flags.debug;
        else if (name == "core" && state.options.flags.core)
            allow_core();
        else if (name == "debugdir")
            each_part(value, ':', [](std::string_view folder) {
                if (!folder.empty())
                    add_debug_folder(std::string(folder));
            });
        else if (name == "trust")
            state.processes.agents().set_trust(state.options.trust == TrustOption::all,
                                               state.options.trust ==
                                                   TrustOption::confined);
        else if (name == "pgmax")
            state.processes.untraced().set_limit(
                static_cast<std::size_t>(state.options.pgmax));
    }
    debug("option %.*s=%.*s%s", static_cast<int>(name.size()), name.data(),
          static_cast<int>(value.size()), value.data(),
          refused == Options::Refused::none ? "" : ": refused");
    return refused;
}

int change_option(SessionState& state, const char* name, const char* value)
{
    using Refused = Options::Refused;
    const Refused refused =
        change_option(state, std::string_view(name), value == nullptr ? "" : value);
    switch (refused) {
    case Refused::none:
        return 0;
    case Refused::name:
        return state.fail(EDT_BADOPTNAME, refusal_text(refused, name));
    case Refused::value:
        return state.fail(EDT_BADOPTVAL, refusal_text(refused, name));
    case Refused::unsupported:
        return state.fail(ENOTSUP, refusal_text(refused, name));
    case Refused::version_malformed:
        return state.fail(EDT_VERSINVAL);
    case Refused::version_undefined:
        return state.fail(EDT_VERSUNDEF);
    case Refused::version_raised:
        return state.fail(EDT_VERSREDUCED);
    case Refused::context:
        return state.fail(EDT_ACTIVE);
    }
    return 0;
}

} // namespace dt
