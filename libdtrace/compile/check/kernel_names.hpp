// SPDX-License-Identifier: MIT
// Names of the kernel: its types, variables, functions and enumerators, in the modules
// that the session provides (Environment::kernel_modules).
//
//   `jiffies  vmlinux`jiffies  ext4`struct ext4_inode_info  struct task_struct  pid_t
//
// A type without a scope is looked up first in the kernel proper, then in all modules.
// BTF contains the types of only a few variables. kernel_variables.hpp contains the
// types of more variables. For all other variables, only the address is known.
#pragma once

#include "libdtrace/compile/compiler.hpp"
#include "libdtrace/compile/types/target_types.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace dt {

class KernelNames {
public:
    using Kind = DebugTypes::Kind;

    KernelNames(const CompileOptions& options, TargetTypes& types)
        : options_(options), types_(types)
    {
    }

    // Returns whether `scope` is the name of a kernel module.
    bool is_scope(std::string_view scope) const;
    // Returns null if there is no such type.
    const Type* type(std::string_view scope, std::string_view name, Kind kind);
    std::string why_no_type(std::string_view scope, std::string_view name, Kind kind);

    struct Variable {
        const Type* type = nullptr; // null if only its address is known
        std::uint64_t addr = 0;
        bool is_function = false;
        bool per_cpu = false; // addr must be added to each CPU's own offset
    };
    Result<Variable> variable(std::string_view scope, std::string_view name);
    std::optional<std::int64_t> enumerator(std::string_view scope,
                                           std::string_view name);

private:
    const Result<std::vector<TargetModule>>& modules(std::string_view scope);
    template <class F>
    auto first(std::string_view scope, F find)
        -> decltype(find(*static_cast<DebugTypes*>(nullptr)));
    // Returns the type that the text describes, such as "struct list_head" or "long
    // [ ]". n_bytes is the size of an array. Returns null if the type is not known.
    const Type* written(std::string_view text, std::uint64_t n_bytes);
    const Type* base_written(std::string_view text);

    const CompileOptions& options_;
    TargetTypes& types_;
    std::map<std::string, Result<std::vector<TargetModule>>, std::less<>> modules_;
    std::map<std::pair<Kind, std::string>, const Type*> found_;
};

} // namespace dt
