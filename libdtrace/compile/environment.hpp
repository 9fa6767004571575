// SPDX-License-Identifier: MIT
// The interface through which the compiler asks about the session, its probes and
// targets, and the kernel. The default implementations are for a compiler without a
// session. They accept every option, and know of no probes, targets or kernel.
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

// The probes that a description matches. A provider may create them during the match.
struct ProbeMatch {
    std::vector<std::uint32_t> ids;
    // the description may match probes later, for example in a library that is not
    // loaded yet
    bool retained = false;
    // The types of args[]. Empty if the provider does not declare them, or if they
    // differ between the matched probes.
    std::vector<const Type*> args;
};

// A module of a process or of the kernel, such as libc in the name libc`malloc.
struct TargetModule {
    std::string name;
    std::uint64_t bias = 0;      // run-time address minus link-time address
    DebugTypes* types = nullptr; // null if it has no debug data
};

// A symbol of the kernel, and the module that defines it.
struct KernelSymbol {
    std::string module;
    std::uint64_t addr = 0, n_bytes = 0;
    bool is_function = false;
};

// The types of a probe's arguments as its provider declares them, starting with arg0.
struct ArgumentTypes {
    std::vector<std::string> names; // names of types that D knows
    // An argument as the provider's definition declares it.
    struct Defined {
        std::string name;
        const Type* type = nullptr;   // in the table of the definition
        const Type* native = nullptr; // type before translation; null if not translated
        unsigned n = 0;               // index of the native argument
    };
    std::vector<Defined> defined;
    // the table of the definition; null if there is no definition
    std::shared_ptr<const TypeTable> types;
    // An argument of a system call, as C declares it.
    struct Written {
        std::string name, type; // "vec", "const struct iovec *"
        bool operator==(const Written&) const = default;
    };
    std::vector<Written> written;
    // The debug data that contain the types of `written`. Null if only D's own types
    // are known.
    DebugTypes* written_in = nullptr;
    // Why the argument types of this probe are unknown. Empty if they are known.
    std::string why_none;
};

// The function that contains a probe, as described by its debug data.
struct ProbedFunction {
    enum class At { Entry, Return } at = At::Entry;
    DebugTypes* types = nullptr;
    DebugFunction function;
};

// The weakest stability attributes of the probe descriptions in a set of probes, and of
// the probes' arguments.
struct ProbeStability {
    Attributes descriptions = strongest_attributes, arguments = strongest_attributes;
};

class Environment {
public:
    virtual ~Environment() = default;

    // Returns the value of a macro variable. The name is passed without the $. Returns
    // nullopt if there is no such variable.
    virtual std::optional<std::uint64_t> macro_value(std::string_view) { return {}; }
    // Sets an option from #pragma D option. Returns the reason if the option is
    // refused, else nullopt.
    virtual std::optional<std::string> set_option(std::string_view, std::string_view)
    {
        return {};
    }
    // Returns whether a dependency of #pragma D depends_on exists: a module, a
    // provider, a library, a symbol of the kernel, or a member of a kernel struct
    // (tag.name).
    virtual bool has_dependency(std::string_view, std::string_view) { return true; }
    // Returns whether a provider of the session has this name.
    virtual bool has_provider(std::string_view) { return false; }

    // Matches a description. Returns nullopt if there is no session.
    using Match = std::variant<ProbeMatch, Diagnostic>;
    virtual std::optional<Match> match(const ProbeSpec&) { return {}; }
    // Returns the definition of a provider's derived probes (derive_probes.cpp), or "" if
    // its probes are not derived. The text exists as long as the environment.
    virtual std::string_view derived_probes(std::string_view) { return {}; }
    // Returns the stability of the probes that a description matched.
    virtual ProbeStability stability(std::span<const std::uint32_t>) { return {}; }
    // Returns whether the probes of a description have the kernel's stack although the
    // kernel module is not used.
    virtual bool has_recorded_stack(const ProbeSpec&) { return false; }
    // Returns the source of the types of a probe's args[]. If the arguments are not
    // known, returns the reason as a string. The string is empty if the probe has no
    // arguments. Returns nullopt if there is no session.
    using Probed = std::variant<ProbedFunction, ArgumentTypes, std::string>;
    virtual std::optional<Probed> probed_function(std::uint32_t) { return {}; }

    // Returns the address of a target's symbol. The arguments for "a.out`counter" are
    // "a.out" and "counter".
    virtual std::optional<std::uint64_t> symbol(std::string_view, std::string_view)
    {
        return {};
    }
    // Returns the modules of a scope, such as "a.out", "pid42`libc.so.6" or "". If no
    // module matches, returns the reason as a string.
    using Modules = std::variant<std::vector<TargetModule>, std::string>;
    virtual Modules modules(std::string_view) { return "there is no target"; }

    // The following functions do not need the dtrace kernel module. A scope is the name
    // of a module, "" for the kernel proper, or "*" for all modules.
    virtual bool is_kernel_module(std::string_view) { return false; }
    virtual Result<std::vector<TargetModule>> kernel_modules(std::string_view)
    {
        return no_kernel();
    }
    // An empty module name means any module.
    virtual Result<KernelSymbol> kernel_symbol(std::string_view, std::string_view)
    {
        return no_kernel();
    }

private:
    static Error no_kernel()
    {
        return {Code::unsupported, "kernel types and symbols are not available here",
                0};
    }
};

// Returns the environment of a compiler without a session.
Environment& no_environment();

} // namespace dt
