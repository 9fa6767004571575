// SPDX-License-Identifier: MIT
// The environment in which a program is compiled. It answers the compiler's questions
// about the session, its probes and targets, and the kernel.
//
// The defaults are those of a compiler without a session, as tests use it: no option is
// refused, and no probe, no target and no kernel is known.
#pragma once

#include "base/result.hpp"
#include "libdtrace/compile/program.hpp"
#include "libdtrace/symbols/debug/debug_types.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace dt {

// The result of matching a description: ids of probes. A provider may have created them
// at that moment.
struct ProbeMatch {
    std::vector<std::uint32_t> ids;
    bool retained = false; // may match later (a library not loaded yet)
    // Types of args[], if the provider declares them and all matched probes agree.
    std::vector<const Type*> args;
};

// A module of the traced process, as the text before a name's backquote selects it.
struct TargetModule {
    std::string name;
    std::uint64_t bias = 0;      // of its link-time addresses
    DebugTypes* types = nullptr; // null: it has no debug data
};

// A symbol of the kernel, and the module that has it.
struct KernelSymbol {
    std::string module;
    std::uint64_t addr = 0, n_bytes = 0;
    bool is_function = false;
};

// The argument types that a probe itself declares. The first is that of arg0.
struct ArgumentTypes {
    std::vector<std::string> names; // of types that D has
    // An argument as the provider's definition declares it.
    struct Defined {
        std::string name;
        const Type* type = nullptr;   // of the definition's table
        const Type* native = nullptr; // type before translation; null: not translated
        unsigned n = 0;               // index of the argument that the program passes
    };
    std::vector<Defined> defined;
    std::shared_ptr<const TypeTable> types; // of the definition; null: there is none
    // An argument of a system call, as C declares it.
    struct Written {
        std::string name, type; // "vec", "const struct iovec *"
        bool operator==(const Written&) const = default;
    };
    std::vector<Written> written;
    DebugTypes* written_in = nullptr; // types that `written` names; null: only D's
    // Why the argument types of this probe are unknown. Empty if they are known.
    std::string why_none;
};

// The function that a probe is in, as its debug data describes it.
struct ProbedFunction {
    enum class At { Entry, Return } at = At::Entry;
    DebugTypes* types = nullptr;
    DebugFunction function;
};

// The stability of the descriptions of some probes, and of their arguments.
struct ProbeStability {
    Attributes descriptions = strongest_attributes, arguments = strongest_attributes;
};

class Environment {
public:
    virtual ~Environment() = default;

    // Returns the value of a macro variable, whose name is given without the $. Returns
    // nothing if there is no such variable.
    virtual std::optional<std::uint64_t> macro_value(std::string_view) { return {}; }
    // Sets an option from #pragma D option. Returns why it is refused.
    virtual std::optional<std::string> set_option(std::string_view, std::string_view)
    {
        return {};
    }
    // Returns whether a module, provider, library, member (tag.name) of a struct of the
    // kernel, or symbol of the kernel exists, for #pragma D depends_on.
    virtual bool has_dependency(std::string_view, std::string_view) { return true; }
    // Returns whether a provider of the session has this name.
    virtual bool has_provider(std::string_view) { return false; }

    // Matches a description. Returns nothing if no probes are known.
    using Match = std::variant<ProbeMatch, Diagnostic>;
    virtual std::optional<Match> match(const ProbeSpec&) { return {}; }
    // Returns the stability of the probes that a description matched.
    virtual ProbeStability stability(std::span<const std::uint32_t>) { return {}; }
    // Returns the source of args[] of a probe, or a text that says why its arguments
    // are not known. The text is empty if the probe has none. Returns nothing if no
    // probes are known.
    using Probed = std::variant<ProbedFunction, ArgumentTypes, std::string>;
    virtual std::optional<Probed> probed_function(std::uint32_t) { return {}; }

    // Returns the value of a symbol of a target, such as "a.out`counter".
    virtual std::optional<std::uint64_t> symbol(std::string_view, std::string_view)
    {
        return {};
    }
    // Returns the modules that a scope such as "a.out", "pid42`libc.so.6" or "" means,
    // or a text that says why there are none.
    using Modules = std::variant<std::vector<TargetModule>, std::string>;
    virtual Modules modules(std::string_view) { return "there is no target"; }

    // Names of the kernel need no kernel module. A scope is the name of a module, ""
    // for the kernel proper, or "*" for all of them.
    virtual bool is_kernel_module(std::string_view) { return false; }
    virtual Result<std::vector<TargetModule>> kernel_modules(std::string_view)
    {
        return no_kernel();
    }
    // The module may be empty, which means any.
    virtual Result<KernelSymbol> kernel_symbol(std::string_view, std::string_view)
    {
        return no_kernel();
    }

private:
    static Error no_kernel()
    {
        return {Code::unsupported, "names of the kernel are not known here", 0};
    }
};

// Returns the environment of a compiler without a session.
Environment& no_environment();

} // namespace dt
