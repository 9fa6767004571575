// SPDX-License-Identifier: MIT
// Names with a backquote: types, variables, functions and enumerators of the traced
// process.
//
//   a.out`foo_t   libc.so.6`FILE   `foo_t   pid42`a.out`foo_t   pid42`struct foo
//   \___/                                   \_________/
//   module: any when it is empty             process: the first traced one when not said
//
// A type or variable is looked for in all modules that the scope means, in their order, the
// program first.
#pragma once

#include "libdtrace/compile/compiler.hpp"
#include "libdtrace/compile/target_types.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace dt {

class TargetNames {
public:
    using Kind = DebugTypes::Kind;

    TargetNames(const CompileOptions& options, TargetTypes& types)
        : options_(options), types_(types)
    {
    }

    TargetTypes& types() { return types_; }
    // Null: no such type; why_no_type() says why. The name may begin with struct, union
    // or enum behind its backquotes, which goes before kind.
    const Type* type(std::string_view scoped, Kind kind = Kind::Ordinary);
    std::string why_no_type(std::string_view scoped, Kind kind = Kind::Ordinary);
    struct Variable {
        const Type* type = nullptr; // null: only its address is known
        std::uint64_t addr = 0;
    };
    // A function, too.
    std::optional<Variable> variable(std::string_view scoped);
    std::optional<std::int64_t> enumerator(std::string_view scoped);

private:
    struct Name {
        std::string_view scope, name;
        Kind kind = Kind::Ordinary;
    };
    static Name split(std::string_view scoped, Kind kind);
    const std::variant<std::vector<TargetModule>, std::string>&
    modules(std::string_view scope);
    // The first that a module with types has.
    template <class F> auto first(std::string_view scope, F find)
        -> decltype(find(*static_cast<const TargetModule*>(nullptr)));

    const CompileOptions& options_;
    TargetTypes& types_;
    std::map<std::string, std::variant<std::vector<TargetModule>, std::string>,
             std::less<>>
        modules_;
    std::map<std::pair<Kind, std::string>, const Type*> found_;
};

} // namespace dt
