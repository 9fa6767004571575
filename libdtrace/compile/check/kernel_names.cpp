// SPDX-License-Identifier: MIT
#include "libdtrace/compile/check/kernel_names.hpp"

#include "libdtrace/symbols/kernel/kernel_variables.hpp"
#include "libdtrace/symbols/suggest.hpp"

#include <algorithm>
#include <climits>

namespace dt {

static constexpr std::string_view all_modules = "*";

bool KernelNames::is_scope(std::string_view scope) const
{
    return !scope.empty() && options_.environment->is_kernel_module(scope);
}

const Result<std::vector<TargetModule>>& KernelNames::modules(std::string_view scope)
{
    auto known = modules_.find(scope);
    if (known == modules_.end())
        known =
            modules_.emplace(scope, options_.environment->kernel_modules(scope)).first;
    return known->second;
}

template <class F>
auto KernelNames::first(std::string_view scope, F find)
    -> decltype(find(*static_cast<DebugTypes*>(nullptr)))
{
    const auto& all = modules(scope);
    if (!all)
        return {};
    for (const TargetModule& module : *all)
        if (module.types != nullptr)
            if (auto found = find(*module.types))
                return found;
    return {};
}

const Type* KernelNames::type(std::string_view scope, std::string_view name, Kind kind)
{
    auto [known, is_new] = found_.try_emplace(
        {kind, std::string(scope) + "`" + std::string(name)}, nullptr);
    if (!is_new)
        return known->second;
    auto find = [&](DebugTypes& in) -> const Type* {
        auto ref = in.find(kind, name);
        return ref ? types_.type(in, *ref) : nullptr;
    };
    const Type* found = first(scope, find);
    if (found == nullptr && scope.empty())
        found = first(all_modules, find);
    return known->second = found;
}

std::string KernelNames::why_no_type(std::string_view scope, std::string_view name,
                                     Kind kind)
{
    const auto& known = modules(scope);
    if (!known)
        return ": " + known.error().text;
    Suggestions near(name);
    for (const TargetModule& module : *known) {
        if (module.types == nullptr)
            return "; the kernel has no type data for " + module.name;
        auto named = [&](std::string_view word, Kind other) {
            return other != kind && module.types->find(other, name)
                       ? std::string(word) + std::string(scope) + "`" +
                             std::string(name)
                       : "";
        };
        for (const DebugTypes::TagWord& tag : DebugTypes::tag_words)
            if (std::string other = named(tag.word, tag.kind); !other.empty())
                return did_you_mean({other});
        if (std::string other = named("", Kind::Ordinary); !other.empty())
            return did_you_mean({other});
        for (std::string_view candidate : module.types->names(kind))
            near.consider(candidate);
    }
    return did_you_mean(near.nearest(1));
}

std::optional<std::int64_t> KernelNames::enumerator(std::string_view scope,
                                                    std::string_view name)
{
    auto find = [name](DebugTypes& in) { return in.find_enumerator(name); };
    auto found = first(scope, find);
    return found || !scope.empty() ? found : first(all_modules, find);
}

Result<KernelNames::Variable> KernelNames::variable(std::string_view scope,
                                                    std::string_view name)
{
    auto symbol = options_.environment->kernel_symbol(scope, name);
    if (!symbol)
        return symbol.error();
    Variable variable;
    variable.addr = symbol->addr;
    variable.is_function = symbol->is_function;
    if (symbol->is_function)
        return variable;
    // Search only this module. Another module may have a different variable of the same
    // name.
    first(symbol->module, [&](DebugTypes& in) -> const Type* {
        auto described = in.find_variable(name);
        if (!described)
            return nullptr;
        variable.per_cpu = described->per_cpu;
        return variable.type = types_.type(in, described->type);
    });
    if (variable.type == nullptr)
        variable.type = written(kernel_variable_type(name), symbol->n_bytes);
    return variable;
}

const Type* KernelNames::base_written(std::string_view text)
{
    auto [kind, name] = DebugTypes::split(text);
    return kind != Kind::Ordinary ? type("", name, kind)
                                  : types_.table().lookup_original(text);
}

const Type* KernelNames::written(std::string_view text, std::uint64_t n_bytes)
{
    constexpr std::string_view array = " [ ]", pointer = " *",
                               is_volatile = "volatile ";
    if (text.empty())
        return nullptr;
    if (text.ends_with(array)) {
        const Type* element = written(text.substr(0, text.size() - array.size()), 0);
        if (element == nullptr || element->size == 0)
            return nullptr;
        // n_bytes may be the distance to the next symbol. So an array of char is
        // limited to the size of a string.
        const std::uint64_t most =
            element->resolve()->is_char ? types_.table().string_type()->size : INT_MAX;
        std::uint64_t n = std::clamp<std::uint64_t>(n_bytes, element->size, most);
        return types_.table().array_of(element, n / element->size);
    }
    if (text.ends_with(pointer)) {
        const Type* base = written(text.substr(0, text.size() - pointer.size()), 0);
        return base != nullptr ? types_.table().pointer_to(base) : nullptr;
    }
    const bool qualified = text.starts_with(is_volatile);
    const Type* base = base_written(text.substr(qualified ? is_volatile.size() : 0));
    return base != nullptr && qualified
               ? types_.table().qualified(base, false, true, false)
               : base;
}

} // namespace dt
