// SPDX-License-Identifier: MIT
// The types of the kernel and its modules, from BTF.
//
//   "vmlinux"  ── /sys/kernel/btf/vmlinux ──> BtfTypes
//   "ext4"     ── /sys/kernel/btf/ext4    ──> BtfTypes, whose base is that of vmlinux
//
// A tracepoint NAME has a typedef btf_trace_NAME, a pointer to the tracepoint's
// callback. The callback's first parameter is not an argument of the tracepoint. The
// names of the arguments come from the function __traceiter_NAME.
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
    // `symbols` must outlive this object.
    explicit KernelTypes(KernelSymbols& symbols, std::string folder = "/sys/kernel/btf")
        : symbols_(symbols), folder_(std::move(folder))
    {
    }

    // Returns whether D programs may use this name for the kernel or a module.
    bool is_module(std::string_view name);
    // Returns a module's types, or Code::not_found if there is no such module, or if
    // the kernel or the module has no BTF.
    Result<BtfTypes*> types(std::string_view module);
    // Returns the kernel's types for data that a process passes to system calls. Their
    // pointers are addresses in the process. Returns the same errors as types().
    Result<BtfTypes*> types_of_programs();

    struct Module {
        std::string name;
        BtfTypes* types = nullptr; // null if the module has no BTF
    };
    // Returns the modules of a scope. "" means the kernel proper. "*" means all
    // modules, the kernel proper first.
    Result<std::vector<Module>> modules(std::string_view scope);

    struct Function {
        BtfTypes* types = nullptr;
        DebugFunction function;
    };
    // Finds a function. An empty module means any module. Returns Code::unsupported if
    // the compiler has changed how the function receives its arguments.
    Result<Function> function(std::string_view module, std::string_view name);
    // Finds a tracepoint. The result's parameters are the tracepoint's arguments.
    Result<Function> tracepoint(std::string_view module, std::string_view name);

private:
    using Place = DebugTypes::Place;

    bool has_file(const std::string& module) const;
    // `name` is a result of KernelSymbols::canonical().
    Result<BtfTypes*> opened(const std::string& name, Place place);
    // Calls `visit` for the module's types until `visit` returns true. An empty name
    // means all modules. Returns an error if there are no types.
    template <class F> Result<Ok> each(std::string_view module, F visit);

    KernelSymbols& symbols_;
    std::string folder_;
    std::map<std::pair<std::string, Place>, Result<std::unique_ptr<BtfTypes>>> opened_;
};

} // namespace dt
