// SPDX-License-Identifier: MIT
#include "libdtrace/compile/check/target_names.hpp"

#include "libdtrace/symbols/suggest.hpp"

namespace dt {

TargetNames::Name TargetNames::split(std::string_view scoped, Kind kind)
{
    std::size_t tick = scoped.rfind('`');
    auto [tagged, name] = DebugTypes::split(scoped.substr(tick + 1), kind);
    return {scoped.substr(0, tick), name, tagged};
}

const std::variant<std::vector<TargetModule>, std::string>&
TargetNames::modules(std::string_view scope)
{
    auto known = modules_.find(scope);
    if (known == modules_.end())
        known = modules_.emplace(scope, options_.environment->modules(scope)).first;
    return known->second;
}

template <class F>
auto TargetNames::first(std::string_view scope, F find)
    -> decltype(find(*static_cast<const TargetModule*>(nullptr)))
{
    if (const auto* all = std::get_if<std::vector<TargetModule>>(&modules(scope)))
        for (const TargetModule& module : *all)
            if (module.types != nullptr)
                if (auto found = find(module))
                    return found;
    return {};
}

const Type* TargetNames::type(std::string_view scoped, Kind kind)
{
    Name name = split(scoped, kind);
    auto [known, is_new] = found_.try_emplace({kind, std::string(scoped)}, nullptr);
    if (!is_new)
        return known->second;
    const Type* found = nullptr;
    const bool of_kernel = kernel_.is_scope(name.scope);
    if (!of_kernel)
        found = first(name.scope, [&](const TargetModule& in) -> const Type* {
            auto ref = in.types->find(name.kind, name.name);
            return ref ? types_.in_process(types_.type(*in.types, *ref)) : nullptr;
        });
    if (of_kernel || (found == nullptr && name.scope.empty()))
        found = kernel_.type(name.scope, name.name, name.kind);
    return known->second = found;
}

std::string TargetNames::why_no_type(std::string_view scoped, Kind kind)
{
    Name name = split(scoped, kind);
    if (kernel_.is_scope(name.scope))
        return kernel_.why_no_type(name.scope, name.name, name.kind);
    const auto& known = modules(name.scope);
    if (const auto* why = std::get_if<std::string>(&known))
        return ": " + *why;
    std::string without;
    Suggestions near(name.name);
    bool any = false;
    for (const TargetModule& module : std::get<std::vector<TargetModule>>(known)) {
        if (module.types == nullptr) {
            without += (without.empty() ? "" : ", ") + module.name;
            continue;
        }
        any = true;
        using Word = std::pair<const char*, Kind>;
        for (auto [word, kind] :
             {Word{"", Kind::Ordinary}, Word{"struct ", Kind::Struct},
              Word{"union ", Kind::Union}, Word{"enum ", Kind::Enum}})
            if (kind != name.kind && module.types->find(kind, name.name))
                return did_you_mean(
                    {word + std::string(name.scope) + "`" + std::string(name.name)});
        for (std::string_view candidate : module.types->names(name.kind))
            near.consider(candidate);
    }
    if (any)
        return did_you_mean(near.nearest(1));
    return "; no debug data for " + without +
           ": compile it with -g, or install its debug symbols";
}

std::optional<TargetNames::Variable> TargetNames::variable(std::string_view scoped)
{
    Name name = split(scoped, Kind::Ordinary);
    const bool of_kernel = kernel_.is_scope(name.scope);
    if (!of_kernel)
        if (auto found = process_variable(name))
            return found;
    if (!of_kernel && !name.scope.empty())
        return std::nullopt;
    auto found = kernel_.variable(name.scope, name.name);
    if (!found)
        return std::nullopt;
    return Variable{found->type, found->addr, true, found->is_function, found->per_cpu};
}

std::string TargetNames::why_no_variable(std::string_view scoped)
{
    Name name = split(scoped, Kind::Ordinary);
    if (!kernel_.is_scope(name.scope) && !name.scope.empty())
        return "";
    auto found = kernel_.variable(name.scope, name.name);
    const bool says_more = !found && found.error().code != Code::unsupported;
    return says_more ? ": " + found.error().text : "";
}

std::optional<TargetNames::Variable> TargetNames::process_variable(const Name& name)
{
    Variable known;
    auto placed = first(name.scope, [&](const TargetModule& in) {
        auto variable = in.types->find_variable(name.name);
        if (variable && !known.type)
            known.type = types_.type(*in.types, variable->type);
        return variable && variable->addr ? std::optional(*variable->addr + in.bias)
                                          : std::nullopt;
    });
    if (!placed)
        placed = options_.environment->symbol(name.scope, name.name);
    if (!placed)
        return std::nullopt;
    known.addr = *placed;
    return known;
}

std::optional<std::int64_t> TargetNames::enumerator(std::string_view scoped)
{
    Name name = split(scoped, Kind::Ordinary);
    std::optional<std::int64_t> found;
    const bool of_kernel = kernel_.is_scope(name.scope);
    if (!of_kernel)
        found = first(name.scope, [&](const TargetModule& in) {
            return in.types->find_enumerator(name.name);
        });
    if (of_kernel || (!found && name.scope.empty()))
        found = kernel_.enumerator(name.scope, name.name);
    return found;
}

} // namespace dt
