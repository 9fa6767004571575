// SPDX-License-Identifier: MIT
// Names with a backquote: types, variables, functions and enumerators of the traced
// process, and of the kernel.
//
//   a.out`foo_t   libc.so.6`FILE   `foo_t   pid42`a.out`foo_t   pid42`struct foo
//   \___/                                   \_________/
//   module: any when it is empty             process: the first traced one when not said
//
// A type or variable is looked for in all modules that the scope means, in their order, the
// program first. A scope that is a module of the kernel means the kernel's; without a scope
// the process goes first, then the kernel (kernel_names.hpp).
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
    // Null: no such type; why_no_type() says why. What is a process' is userland. The name may begin with struct, union
    // or enum behind its backquotes, which goes before kind.
    const Type* type(std::string_view scoped, Kind kind = Kind::Ordinary);
    std::string why_no_type(std::string_view scoped, Kind kind = Kind::Ordinary);
    struct Variable {
        const Type* type = nullptr; // null: only its address is known
        std::uint64_t addr = 0;
        bool of_kernel = false;
        bool is_function = false, per_cpu = false; // as KernelNames says
    };
    // A function, too.
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
    // The first that a module with types has.
    template <class F>
    auto first(std::string_view scope, F find)
        -> decltype(find(*static_cast<const TargetModule*>(nullptr)));

    const CompileOptions& options_;
    TargetTypes& types_;
    mutable KernelNames kernel_; // keeps what was found
    std::map<std::string, std::variant<std::vector<TargetModule>, std::string>,
             std::less<>>
        modules_;
    std::map<std::pair<Kind, std::string>, const Type*> found_;
};

} // namespace dt
