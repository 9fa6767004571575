// SPDX-License-Identifier: MIT
// Answers the compiler's questions about the kernel: which names the kernel defines,
// and which functions, tracepoints and system calls a probe description means. The
// answers come from /proc/kallsyms and BTF, so the kernel module is not needed.
//
// The arguments of stable providers are declared in D libraries. Compiling the
// libraries takes a long time, so it is done only for programs that need them. The
// compiler first refuses such a program. The session then compiles the libraries and
// compiles the program again.
#pragma once

#include "libdtrace/session/session_state.hpp"
#include "libdtrace/symbols/kernel/kernel_types.hpp"

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace dt {

struct KernelLibrary;

class KernelFacts {
public:
    // The source of a probe's argument types, or why they are unknown.
    using Probed = Environment::Probed;
    using CompileLibrary = std::function<std::variant<Program, Diagnostic>(
        std::string_view text, const std::string& name)>;

    explicit KernelFacts(SessionState& state) : s_(state) {}

    // Answers to the compiler's queries (class Environment).
    bool is_module(std::string_view scope) { return types_.is_module(scope); }
    Result<std::vector<TargetModule>> modules(std::string_view scope);
    Result<KernelSymbol> symbol(std::string_view module, std::string_view name);
    // Returns the function, tracepoint or system call of a kernel provider's probe.
    Probed probed(const ProbeInfo& probe);
    // Returns whether the kernel has this member, for example "task_struct.comm".
    bool has_member(std::string_view name);
    bool has_symbol(std::string_view name)
    {
        return bool(s_.processes.kernel().find("", name));
    }
    // Compiles the libraries that a refused program needs. Returns false if none are
    // left.
    bool load_libraries(std::string_view refused, const CompileLibrary& compile);
    bool has_tried(std::string_view library) const { return tried_.contains(library); }

private:
    // Finds a function of the kernel. An empty module means any module.
    Probed function(std::string_view module, std::string_view function,
                    ProbedFunction::At at);
    Probed tracepoint(std::string_view module, std::string_view name);
    Probed system_call(const ProbeInfo& probe);
    Probed arguments(const ProbeInfo& probe); // for probes of stable providers
    void load_library(const KernelLibrary& library, const CompileLibrary& compile);

    SessionState& s_;
    KernelTypes types_{s_.processes.kernel()};
    std::set<std::string> wanted_; // providers whose arguments were requested
    std::set<std::string, std::less<>> tried_; // libraries that need not be tried again
    std::string why_not_;                      // why a library did not compile
    std::vector<ProviderBlock> providers_;     // declared in the libraries
    std::shared_ptr<const TypeTable> argument_types_;
};

} // namespace dt
