// SPDX-License-Identifier: MIT
// Compiles text into programs for a session. Runs the preprocessor, compiles D
// libraries, and answers the compiler's questions about probes, targets and the kernel.
#pragma once

#include "libdtrace/session/kernel_facts.hpp"
#include "libdtrace/session/matcher.hpp"
#include "libdtrace/session/process_names.hpp"
#include "libdtrace/session/session_state.hpp"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

class ProgramCompiler : private Environment {
public:
    explicit ProgramCompiler(SessionState& state) : s_(state) {}

    // Compiles a program, which the session's state owns. On failure, calls
    // SessionState::fail() and returns null. source_name is empty for text from the
    // command line.
    dtrace_prog* compile(std::string_view text, const std::string& source_name,
                         dtrace_probespec_t spec, uint_t cflags, int argc,
                         char* const argv[], bool string_program);
    Compiler& compiler(); // created at the first call
    CompileOptions compile_options(uint_t cflags);
    // Compiles the libraries that a refused program needs. `refused` is the program's
    // text. Returns false if none are left to try.
    bool load_kernel_libraries(std::string_view refused);
    void forget_announced_sites() { n_announced_sites_ = 0; }

    // Returns the attributes from the probe's provider, or from a pragma.
    ProviderAttributes attributes_of_provider(const ProbeInfo& probe);

    Matcher& matcher() { return matcher_; }
    ProcessNames& names() { return names_; }

private:
    std::optional<std::uint64_t> macro_value(std::string_view name) override;
    std::optional<std::string> set_option(std::string_view name,
                                          std::string_view value) override;
    bool has_dependency(std::string_view kind, std::string_view name) override;
    bool has_provider(std::string_view name) override;
    std::optional<Match> match(const ProbeSpec& spec) override;
    ProbeStability stability(std::span<const std::uint32_t> ids) override;
    bool has_recorded_stack(const ProbeSpec& spec) override;
    std::string_view derived_probes(std::string_view provider) override;
    std::optional<Probed> probed_function(std::uint32_t id) override;
    std::optional<std::uint64_t> symbol(std::string_view object,
                                        std::string_view name) override;
    Modules modules(std::string_view scope) override;
    bool is_kernel_module(std::string_view scope) override;
    Result<std::vector<TargetModule>> kernel_modules(std::string_view scope) override;
    Result<KernelSymbol> kernel_symbol(std::string_view module,
                                       std::string_view name) override;

    int load_libraries(uint_t cflags);
    // Reports the number of sites to the agent, which prepares for them. Does nothing
    // if the number is less than many_sites, or is not the largest so far.
    void announce_sites(std::size_t n_sites, unsigned n_threads);

    SessionState& s_;
    Matcher matcher_{s_};
    KernelFacts kernel_{s_};
    ProcessNames names_{s_, kernel_};
    std::unique_ptr<Compiler> compiler_;
    std::vector<std::string> libraries_, library_folders_; // compiled so far
    std::size_t n_announced_sites_ = 0; // the largest number announced so far
};

} // namespace dt
