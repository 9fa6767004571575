// SPDX-License-Identifier: MIT
// Names of the kernel: its types, variables, functions and enumerators, in the modules
// that the session gives (CompileOptions::kernel_modules).
//
//   `jiffies   vmlinux`jiffies   ext4`struct ext4_inode_info   struct task_struct   pid_t
//
// Without a scope the kernel proper is asked first, then the module that has the symbol, and
// for types all modules. BTF seldom says of which type a variable is: then a table does
// (symbols/kernel_variables.hpp), or its address alone is known. Nothing is read before
// a name is requested.
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

    bool is_scope(std::string_view scope) const; // a module of it
    // Null: no such type.
    const Type* type(std::string_view scope, std::string_view name, Kind kind);
    std::string why_no_type(std::string_view scope, std::string_view name, Kind kind);

    struct Variable {
        const Type* type = nullptr; // null: only its address is known
        std::uint64_t addr = 0;
        bool is_function = false;
        bool per_cpu = false; // addr is what each CPU's own offset is added to
    };
    Result<Variable> variable(std::string_view scope, std::string_view name);
    std::optional<std::int64_t> enumerator(std::string_view scope,
                                           std::string_view name);

private:
    const Result<std::vector<TargetModule>>& modules(std::string_view scope);
    template <class F>
    auto first(std::string_view scope, F find)
        -> decltype(find(*static_cast<DebugTypes*>(nullptr)));
    // "struct list_head", "unsigned long [ ]" of so many bytes; null: it is not known.
    const Type* written(std::string_view text, std::uint64_t n_bytes);
    const Type* base_written(std::string_view text);

    const CompileOptions& options_;
    TargetTypes& types_;
    std::map<std::string, Result<std::vector<TargetModule>>, std::less<>> modules_;
    std::map<std::pair<Kind, std::string>, const Type*> found_;
};

} // namespace dt
