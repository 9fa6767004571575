// SPDX-License-Identifier: MIT
#include "libdtrace/symbols/kernel/kernel_types.hpp"

#include "libdtrace/symbols/suggest.hpp"

#include <unistd.h>

namespace dt {

static constexpr std::string_view tracepoint_prefix = "btf_trace_";

bool KernelTypes::has_file(const std::string& module) const
{
    return !module.empty() && module.find('/') == std::string::npos &&
           ::access((folder_ + "/" + module).c_str(), F_OK) == 0;
}

bool KernelTypes::is_module(std::string_view name)
{
    return !name.empty() &&
           (symbols_.is_module(name) || has_file(KernelSymbols::canonical(name)));
}

Result<BtfTypes*> KernelTypes::opened(const std::string& name, Place place)
{
    const bool is_proper = name == KernelSymbols::proper;
    auto known = opened_.find({name, place});
    if (known == opened_.end()) {
        BtfTypes* base = nullptr;
        if (!is_proper) {
            auto proper = opened(std::string(KernelSymbols::proper), place);
            if (!proper)
                return proper.error();
            base = *proper;
        }
        if (!has_file(name)) {
            // not cached, because the module may be loaded later
            return Error{Code::not_found,
                         is_proper
                             ? "the kernel has no type data: " + folder_ +
                                   "/vmlinux exists only with CONFIG_DEBUG_INFO_BTF"
                             : "the kernel has no type data for a module named " + name,
                         0};
        }
        known = opened_
                    .emplace(std::pair(name, place),
                             BtfTypes::open(folder_ + "/" + name, base, place))
                    .first;
    }
    if (!known->second)
        return known->second.error();
    return known->second->get();
}

Result<BtfTypes*> KernelTypes::types(std::string_view module)
{
    return opened(KernelSymbols::canonical(module), Place::Kernel);
}

Result<BtfTypes*> KernelTypes::types_of_programs()
{
    return opened(std::string(KernelSymbols::proper), Place::Process);
}

Result<std::vector<KernelTypes::Module>> KernelTypes::modules(std::string_view scope)
{
    std::vector<Module> all;
    auto add = [&](const std::string& name) {
        auto found = types(name);
        all.push_back({name, found ? *found : nullptr});
        return found ? Result<Ok>(Ok{}) : Result<Ok>(found.error());
    };
    if (scope == "*") {
        std::vector<std::string> names;
        for (std::string_view module : symbols_.modules())
            names.emplace_back(module);
        for (const std::string& name : names)
            (void)bool(add(name));
        return all;
    }
    const std::string name =
        KernelSymbols::canonical(scope.empty() ? KernelSymbols::proper : scope);
    if (auto added = add(name); !added)
        return added.error();
    return all;
}

template <class F> Result<Ok> KernelTypes::each(std::string_view module, F visit)
{
    auto all = modules(module.empty() ? "*" : module);
    if (!all)
        return all.error();
    bool any = false;
    for (const Module& one : *all) {
        any = any || one.types != nullptr;
        if (one.types != nullptr && visit(*one.types))
            return Ok{};
    }
    if (any)
        return Ok{};
    return types(KernelSymbols::proper).error();
}

// Returns whether the symbol is GCC's clone of a function. A clone may have other
// parameters.
static bool is_changed_clone(std::string_view name)
{
    for (std::string_view mark : {".isra.", ".constprop.", ".part.", ".cold"})
        if (name.find(mark) != std::string_view::npos)
            return true;
    return false;
}

Result<KernelTypes::Function> KernelTypes::function(std::string_view module,
                                                    std::string_view name)
{
    if (is_changed_clone(name))
        return Error{Code::unsupported,
                     "the compiler changed how " + std::string(name) +
                         " takes its arguments",
                     0};
    std::optional<Function> found;
    auto looked = each(module, [&](BtfTypes& types) {
        if (auto function = types.function_named(name))
            found = Function{&types, std::move(*function)};
        return found.has_value();
    });
    if (!looked)
        return looked.error();
    if (found)
        return std::move(*found);
    return Error{Code::not_found,
                 "the kernel's type data does not describe " + std::string(name), 0};
}

// Copies the names of parameters. The prototype of a tracepoint's callback has only
// types.
static void take_names(const std::optional<DebugFunction>& named, DebugFunction& into)
{
    if (!named || named->parameters.size() != into.parameters.size())
        return;
    for (std::size_t i = 0; i < into.parameters.size(); i++)
        if (named->parameters[i].type == into.parameters[i].type)
            into.parameters[i].name = named->parameters[i].name;
}

Result<KernelTypes::Function> KernelTypes::tracepoint(std::string_view module,
                                                      std::string_view name)
{
    const std::string wanted = std::string(tracepoint_prefix) + std::string(name);
    std::optional<Function> found;
    Suggestions near(name);
    auto looked = each(module, [&](BtfTypes& types) {
        auto ref = types.find(DebugTypes::Kind::Ordinary, wanted);
        if (auto callback = ref ? types.function_of(*ref) : std::nullopt) {
            take_names(types.function_named("__traceiter_" + std::string(name)),
                       *callback);
            found = Function{&types, std::move(*callback)};
            return true;
        }
        for (std::string_view known : types.names(DebugTypes::Kind::Ordinary))
            if (known.starts_with(tracepoint_prefix))
                near.consider(known.substr(tracepoint_prefix.size()));
        return false;
    });
    if (!looked)
        return looked.error();
    if (!found)
        return Error{Code::not_found,
                     "the kernel's type data does not describe a tracepoint " +
                         std::string(name) + did_you_mean(near.nearest(1)),
                     0};
    auto& parameters = found->function.parameters;
    if (!parameters.empty())
        parameters.erase(parameters.begin());
    return std::move(*found);
}

} // namespace dt
