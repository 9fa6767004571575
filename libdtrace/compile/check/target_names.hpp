// SPDX-License-Identifier: MIT
// Names with a backquote: types, variables, functions and enumerators of the traced
// process and of the kernel.
//
//   a.out`foo_t   libc.so.6`FILE   `foo_t   pid42`a.out`foo_t   pid42`struct foo
//   \___/                                   \_________/
//   module: any if it is empty               process: the first traced one by default
//
// The text before the last backquote is the scope. A name is looked up in each module
// that the scope selects, first in the program and then in its libraries. If the scope
// is a module of the kernel, the kernel is searched. Without a scope, the process is
// searched first, then the kernel.
#pragma once

#include "libdtrace/compile/check/kernel_names.hpp"
#include "libdtrace/compile/compiler.hpp"
#include "libdtrace/compile/types/target_types.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace dt {

class TargetNames {
public:
    using Kind = DebugTypes::Kind;

    TargetNames(const CompileOptions& options, TargetTypes& types)
        : options_(options), types_(types), kernel_(options, types)
    {
    }

    TargetTypes& types() { return types_; }
    KernelNames& kernel() const { return kernel_; }
    // Returns null if there is no such type; why_no_type() then says why. A type of a
    // process is marked userland. A struct, union or enum after the last backquote
    // overrides `kind`.
    const Type* type(std::string_view scoped, Kind kind = Kind::Ordinary);
    std::string why_no_type(std::string_view scoped, Kind kind = Kind::Ordinary);
    struct Variable {
        const Type* type = nullptr; // null if only its address is known
        std::uint64_t addr = 0;
        bool of_kernel = false;
        bool is_function = false, per_cpu = false; // as in KernelNames
    };
    // Finds a variable or a function. Returns nullopt if neither has this name.
    std::optional<Variable> variable(std::string_view scoped);
    std::string why_no_variable(std::string_view scoped);
    std::optional<std::int64_t> enumerator(std::string_view scoped);

private:
    struct Name {
        std::string_view scope, name;
        Kind kind = Kind::Ordinary;
    };
    std::optional<Variable> process_variable(const Name& name);
    static Name split(std::string_view scoped, Kind kind);
    const std::variant<std::vector<TargetModule>, std::string>&
    modules(std::string_view scope);
    // Calls find() for the modules of the scope that have debug data, until a call
    // returns a result. Returns that result.
    template <class F>
    auto first(std::string_view scope, F find)
        -> decltype(find(*static_cast<const TargetModule*>(nullptr)));

    const CompileOptions& options_;
    TargetTypes& types_;
    mutable KernelNames kernel_; // caches its results
    std::map<std::string, std::variant<std::vector<TargetModule>, std::string>,
             std::less<>>
        modules_;
    std::map<std::pair<Kind, std::string>, const Type*> found_;
};

} // namespace dt
