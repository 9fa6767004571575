// SPDX-License-Identifier: MIT
// The types of the kernel and its modules. They come from BTF, which is opened when it
// is needed.
//
//   "vmlinux"  ── /sys/kernel/btf/vmlinux ──> BtfTypes
//   "ext4"     ── /sys/kernel/btf/ext4    ──> BtfTypes, whose base is that of vmlinux
//
// A function's entry in BTF contains the function's name and prototype. A tracepoint
// NAME has a typedef btf_trace_NAME, which is a pointer to the tracepoint's callback.
// The callback's first parameter is its private data and not an argument of the
// tracepoint. The names of the arguments come from the function __traceiter_NAME.
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

    // Returns whether this name denotes the kernel or one of its modules in D programs.
    bool is_module(std::string_view name);
    // Returns the types of a module. Returns the error not_found if there is no such
    // module, or if the kernel or this module has no BTF.
    Result<BtfTypes*> types(std::string_view module);
    // Returns the types of the kernel proper for the data that a process passes to
    // system calls. In these types, a pointer is an address in the process instead of
    // the kernel. Returns the error not_found in the same cases as types().
    Result<BtfTypes*> types_of_programs();

    struct Module {
        std::string name;
        BtfTypes* types = nullptr; // null if the module has no BTF
    };
    // Returns the module that `scope` names. "" means the kernel proper. "*" means all
    // modules, the kernel proper first.
    Result<std::vector<Module>> modules(std::string_view scope);

    struct Function {
        BtfTypes* types = nullptr;
        DebugFunction function;
    };
    // Finds a function. An empty module means any module. Returns the error unsupported
    // if the compiler has changed how the function receives its arguments.
    Result<Function> function(std::string_view module, std::string_view name);
    // Finds a tracepoint. The parameters of the returned function are the tracepoint's
    // arguments.
    Result<Function> tracepoint(std::string_view module, std::string_view name);

private:
    using Place = DebugTypes::Place;

    bool has_file(const std::string& module) const;
    // Returns the types of a module, which are opened at the first call. `name` is a
    // result of KernelSymbols::canonical().
    Result<BtfTypes*> opened(const std::string& name, Place place);
    // Calls `visit` for the module's types, or for the types of each module if the name
    // is empty, until `visit` returns true. Returns an error if there are no types.
    template <class F> Result<Ok> each(std::string_view module, F visit);

    KernelSymbols& symbols_;
    std::string folder_;
    std::map<std::pair<std::string, Place>, Result<std::unique_ptr<BtfTypes>>> opened_;
};

} // namespace dt
