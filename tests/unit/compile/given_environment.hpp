// SPDX-License-Identifier: MIT
// An environment in which a test can replace single functions. The other functions
// behave as if no session existed.
#pragma once

#include "libdtrace/compile/environment.hpp"

#include <functional>

namespace dt {

struct GivenEnvironment : Environment {
    std::function<std::optional<std::uint64_t>(std::string_view)> on_macro_value;
    std::function<std::optional<std::string>(std::string_view, std::string_view)>
        on_set_option;
    std::function<bool(std::string_view, std::string_view)> on_dependency;
    std::function<Match(const ProbeSpec&)> on_match;
    std::function<ProbeStability(std::span<const std::uint32_t>)> on_stability;
    std::function<std::string_view(std::string_view)> on_derived_probes;
    std::function<Probed(std::uint32_t)> on_probed_function;
    std::function<std::optional<std::uint64_t>(std::string_view, std::string_view)>
        on_symbol;
    std::function<bool(std::string_view)> on_is_kernel_module;
    std::function<Result<std::vector<TargetModule>>(std::string_view)>
        on_kernel_modules;
    std::function<Result<KernelSymbol>(std::string_view, std::string_view)>
        on_kernel_symbol;

    std::optional<std::uint64_t> macro_value(std::string_view name) override
    {
        return on_macro_value ? on_macro_value(name) : Environment::macro_value(name);
    }
    std::optional<std::string> set_option(std::string_view name,
                                          std::string_view value) override
    {
        return on_set_option ? on_set_option(name, value)
                             : Environment::set_option(name, value);
    }
    bool has_dependency(std::string_view kind, std::string_view name) override
    {
        return on_dependency ? on_dependency(kind, name)
                             : Environment::has_dependency(kind, name);
    }
    std::optional<Match> match(const ProbeSpec& spec) override
    {
        return on_match ? on_match(spec) : Environment::match(spec);
    }
    ProbeStability stability(std::span<const std::uint32_t> ids) override
    {
        return on_stability ? on_stability(ids) : Environment::stability(ids);
    }
    std::string_view derived_probes(std::string_view provider) override
    {
        return on_derived_probes ? on_derived_probes(provider)
                                 : Environment::derived_probes(provider);
    }
    std::optional<Probed> probed_function(std::uint32_t id) override
    {
        return on_probed_function ? on_probed_function(id)
                                  : Environment::probed_function(id);
    }
    std::optional<std::uint64_t> symbol(std::string_view object,
                                        std::string_view name) override
    {
        return on_symbol ? on_symbol(object, name) : Environment::symbol(object, name);
    }
    bool is_kernel_module(std::string_view scope) override
    {
        return on_is_kernel_module ? on_is_kernel_module(scope)
                                   : Environment::is_kernel_module(scope);
    }
    Result<std::vector<TargetModule>> kernel_modules(std::string_view scope) override
    {
        return on_kernel_modules ? on_kernel_modules(scope)
                                 : Environment::kernel_modules(scope);
    }
    Result<KernelSymbol> kernel_symbol(std::string_view module,
                                       std::string_view name) override
    {
        return on_kernel_symbol ? on_kernel_symbol(module, name)
                                : Environment::kernel_symbol(module, name);
    }
};

} // namespace dt
