// SPDX-License-Identifier: MIT
// Types of the kernel by module: its BTF, opened when requested.
//
//   "vmlinux"  ── /sys/kernel/btf/vmlinux ──> BtfTypes
//   "ext4"     ── /sys/kernel/btf/ext4    ──> BtfTypes, whose base is that of vmlinux
//
// Of a function BTF has the prototype under its name; of a tracepoint NAME a typedef
// btf_trace_NAME of a pointer to its callback, whose first parameter is the callback's own
// and no argument of the tracepoint. Its names are those of the function __traceiter_NAME.
#pragma once

#include "libdtrace/symbols/debug/btf_types.hpp"
#include "libdtrace/symbols/kernel/kernel_symbols.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dt {

class KernelTypes {
public:
    // symbols outlives it.
    explicit KernelTypes(KernelSymbols& symbols, std::string folder = "/sys/kernel/btf")
        : symbols_(symbols), folder_(std::move(folder))
    {
    }

    // A module of the kernel, as D programs may write it.
    bool is_module(std::string_view name);
    // not_found: the kernel, or this module, has no BTF, or there is no such module.
    Result<BtfTypes*> types(std::string_view module);
    // Those of the kernel proper once more, as of what programs pass to it: pointers lead to
    // a process. not_found: as of types().
    Result<BtfTypes*> types_of_programs();

    struct Module {
        std::string name;
        BtfTypes* types = nullptr; // null: it has no BTF
    };
    // Of a name one; "": the kernel proper; "*": all, the kernel proper first.
    Result<std::vector<Module>> modules(std::string_view scope);

    struct Function {
        BtfTypes* types = nullptr;
        DebugFunction function;
    };
    // The module may be empty. unsupported: the compiler changed how it takes its
    // arguments.
    Result<Function> function(std::string_view module, std::string_view name);
    // Its parameters are the tracepoint's arguments; it returns nothing.
    Result<Function> tracepoint(std::string_view module, std::string_view name);

private:
    using Place = DebugTypes::Place;

    bool has_file(const std::string& module) const;
    // name: canonical
    Result<BtfTypes*> opened(const std::string& name, Place place);
    // Calls for the module's types, or for those of all; false: none was there.
    template <class F> Result<Ok> each(std::string_view module, F visit);

    KernelSymbols& symbols_;
    std::string folder_;
    std::map<std::pair<std::string, Place>, Result<std::unique_ptr<BtfTypes>>> opened_;
};

} // namespace dt
