// SPDX-License-Identifier: MIT
#include "libdtrace/compile/check/provider_definition.hpp"

#include "libdtrace/compile/check/conversions.hpp"

#include <algorithm>

namespace dt {

namespace {

constexpr std::size_t max_definition_bytes = 1 << 20;

// Returns the name as D programs write it: both "query__start" and "query-start" become
// "query-start".
std::string shown(std::string_view name)
{
    std::string out;
    for (std::size_t i = 0; i < name.size(); i++) {
        bool dash = name.substr(i, 2) == "__";
        out += dash ? '-' : name[i];
        i += dash ? 1 : 0;
    }
    return out;
}

// Returns whether a translator computes this type from the structure that the traced
// program passes.
bool is_translated(const Type* native, const Type* type)
{
    if (same_type(native, type))
        return false;
    const Type* to = pointee(type);
    return (to != nullptr ? to : type)->is_struct_or_union();
}

} // namespace

const ProviderProbe* ProviderDefinition::probe(std::string_view name) const
{
    const std::string wanted = shown(name);
    for (const ProviderProbe& probe : block.probes)
        if (shown(probe.name) == wanted)
            return &probe;
    return nullptr;
}

void ProviderDefinition::set_attributes(ProviderAttributes& parts) const
{
    take_attributes(block.attributes, parts);
}

std::variant<std::shared_ptr<const ProviderDefinition>, std::string>
read_definition(std::string_view provider, std::string_view text)
{
    if (text.size() > max_definition_bytes)
        return "it is too long (" + std::to_string(text.size()) + " bytes)";
    Compiler compiler;
    CompileOptions options;
    options.empty = true;
    auto compiled = compiler.compile(text, options);
    if (const auto* wrong = std::get_if<Diagnostic>(&compiled))
        return "line " + std::to_string(wrong->at.line) + ": " + wrong->text;
    auto& program = std::get<Program>(compiled);
    for (ProviderBlock& block : program.providers)
        if (block.name == provider) {
            auto made = std::make_shared<ProviderDefinition>();
            made->types = program.types;
            made->block = std::move(block);
            return made;
        }
    return "the definition does not contain this provider";
}

std::vector<ArgumentTypes::Defined> shown_arguments(const ProviderProbe& probe)
{
    std::vector<ArgumentTypes::Defined> arguments;
    if (!probe.has_translated) {
        for (std::size_t i = 0; i < probe.native.size(); i++)
            arguments.push_back({probe.native_names[i], probe.native[i], nullptr,
                                 static_cast<unsigned>(i)});
        return arguments;
    }
    for (std::size_t i = 0; i < probe.translated.size(); i++) {
        const Type* native = probe.native[probe.mapping[i]];
        const Type* type = probe.translated[i];
        arguments.push_back({probe.translated_names[i], type,
                             is_translated(native, type) ? native : nullptr,
                             probe.mapping[i]});
    }
    return arguments;
}

} // namespace dt
