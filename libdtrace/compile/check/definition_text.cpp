// SPDX-License-Identifier: MIT
#include "libdtrace/compile/check/definition_text.hpp"

#include "libdtrace/compile/check/provider_definition.hpp"

#include <deque>
#include <set>
#include <unordered_set>

namespace dt {

namespace {

constexpr std::size_t max_bytes = 64 << 10;

bool is_tagged(const Type* type)
{
    return type->is_struct_or_union() || type->kind == TypeKind::Enum;
}

std::string keyword(const Type* type)
{
    return type->kind == TypeKind::Union  ? "union"
           : type->kind == TypeKind::Enum ? "enum"
                                          : "struct";
}

// Returns the type with which a declaration starts, such as int for "const int *a[4]".
const Type* specifier(const Type* type)
{
    while (type->kind == TypeKind::Pointer || type->kind == TypeKind::Array ||
           type->kind == TypeKind::Function ||
           (type->kind == TypeKind::Typedef && type->name.empty()))
        type = type->base;
    return type;
}

// Compares two types from different tables, and all types to which they refer. Typedefs
// are ignored.
class Comparison {
public:
    bool same(const Type* a, const Type* b)
    {
        a = a->resolve(), b = b->resolve();
        if (a->kind != b->kind || a->name != b->name || a->size != b->size ||
            a->alignment() != b->alignment() || a->complete != b->complete ||
            a->count != b->count || a->is_signed != b->is_signed ||
            a->members.size() != b->members.size() ||
            a->parameters.size() != b->parameters.size() ||
            a->enumerators.size() != b->enumerators.size())
            return false;
        if (!met_.insert({a, b}).second)
            return true;
        for (std::size_t i = 0; i < a->members.size(); i++) {
            const Member &x = a->members[i], &y = b->members[i];
            if (x.name != y.name || x.offset_bits != y.offset_bits ||
                x.bitfield_bits != y.bitfield_bits || !same(x.type, y.type))
                return false;
        }
        for (std::size_t i = 0; i < a->parameters.size(); i++)
            if (!same(a->parameters[i], b->parameters[i]))
                return false;
        for (std::size_t i = 0; i < a->enumerators.size(); i++)
            if (a->enumerators[i].name != b->enumerators[i].name ||
                a->enumerators[i].value != b->enumerators[i].value)
                return false;
        return a->base == nullptr || same(a->base, b->base);
    }

private:
    std::set<std::pair<const Type*, const Type*>> met_;
};

// Returns whether D predefines this type. If so, the text need not declare it.
bool is_predefined(const Type* type, const std::string& name)
{
    static const TypeTable pristine;
    const Type* there = pristine.lookup_original(name);
    return there != nullptr && Comparison().same(there, type);
}

// Whether the bodies of structs and unions are written or omitted.
enum class Bodies { Said, Left };

class Writer {
public:
    explicit Writer(Bodies bodies) : bodies_(bodies) {}

    std::string block(const ProviderBlock& block)
    {
        for (const ProviderProbe& probe : block.probes)
            for (const auto* types : {&probe.native, &probe.translated})
                for (const Type* type : *types)
                    need(type, false);
        for (; !later_.empty(); later_.pop_front())
            body_of(later_.front());
        out_ += "provider " + block.name + " {\n";
        for (const ProviderProbe& probe : block.probes) {
            out_ += "\tprobe " + probe.name + list(probe.native, probe.native_names);
            if (probe.has_translated)
                out_ += " : " + list(probe.translated, probe.translated_names);
            out_ += ";\n";
        }
        out_ += "};\n";
        for (const auto& [part, attributes] : block.attributes)
            out_ += "#pragma D attributes " + attributes_text(attributes) +
                    " provider " + block.name + " " + part + "\n";
        return std::move(out_);
    }

private:
    std::string list(const std::vector<const Type*>& types,
                     const std::vector<std::string>& names)
    {
        std::string text;
        for (std::size_t i = 0; i < types.size(); i++)
            text += (i > 0 ? ", " : "") + declaration(types[i], names[i]);
        return "(" + text + ")";
    }

    // Returns a declaration as text. A struct, union or enum without a tag is written
    // with its body.
    std::string declaration(const Type* type, const std::string& name)
    {
        std::string text = declaration_text(type, name);
        const Type* nameless = specifier(type);
        if (is_tagged(nameless) && nameless->name.empty())
            if (std::size_t at = text.find("(anon)"); at != text.npos)
                text.replace(at, 6, body(nameless));
        return text;
    }

    std::string body(const Type* type)
    {
        std::string text = "{ ";
        for (const Enumerator& one : type->enumerators)
            text += one.name + " = " + std::to_string(one.value) + ", ";
        for (const Member& member : type->members) {
            text += declaration(member.type, member.name);
            if (member.bitfield_bits != 0)
                text += " : " + std::to_string(member.bitfield_bits);
            text += "; ";
        }
        return text + "}";
    }

    void body_of(const Type* type)
    {
        if (!bodies_said_.insert(type).second)
            return;
        for (const Member& member : type->members)
            need(member.type, true);
        out_ += keyword(type) + " " + type->name + " " + body(type) + ";\n";
    }

    // Writes the declaration of a type before its first use. `whole` means that the use
    // needs the size of the type.
    void need(const Type* type, bool whole)
    {
        switch (type->kind) {
        case TypeKind::Typedef:
            return need_typedef(type, whole);
        case TypeKind::Array:
            return need(type->base, true);
        case TypeKind::Function:
            for (const Type* parameter : type->parameters)
                need(parameter, false);
            [[fallthrough]];
        case TypeKind::Pointer:
            return need(type->base, false);
        default:
            if (is_tagged(type))
                need_tagged(type, whole);
        }
    }

    void need_typedef(const Type* type, bool whole)
    {
        const std::string& name = type->name;
        if (name.empty())
            return need(type->base, whole);
        if (is_predefined(type, name))
            return;
        if (names_.insert(name).second) {
            const Type* base = specifier(type->base);
            bool opaque = bodies_ == Bodies::Left && base == type->base &&
                          base->is_struct_or_union() && base->name.empty();
            if (!opaque)
                need(type->base, false);
            out_ += "typedef " +
                    (opaque ? keyword(base) + " _" + name + " " + name
                            : declaration(type->base, name)) +
                    ";\n";
        }
        if (whole)
            need(type->base, true);
    }

    void need_tagged(const Type* type, bool whole)
    {
        if (type->name.empty()) {
            for (const Member& member : type->members)
                need(member.type, true);
            return;
        }
        const std::string name = keyword(type) + " " + type->name;
        if (is_predefined(type, name))
            return;
        bool has_body =
            type->complete && (bodies_ == Bodies::Said || type->kind == TypeKind::Enum);
        if (type->kind != TypeKind::Enum && names_.insert(name).second)
            out_ += name + ";\n";
        if (has_body && (whole || type->kind == TypeKind::Enum))
            body_of(type);
        else if (has_body)
            later_.push_back(type);
    }

    Bodies bodies_;
    std::string out_;
    std::set<std::string> names_; // names that are already declared
    std::unordered_set<const Type*> bodies_said_;
    std::deque<const Type*> later_; // types whose bodies are written later
};

bool says(const std::string& text, const ProviderBlock& block)
{
    auto read = read_definition(block.name, text);
    auto* definition = std::get_if<std::shared_ptr<const ProviderDefinition>>(&read);
    if (definition == nullptr ||
        (*definition)->block.probes.size() != block.probes.size())
        return false;
    Comparison compare;
    for (std::size_t i = 0; i < block.probes.size(); i++) {
        const ProviderProbe &a = block.probes[i], &b = (*definition)->block.probes[i];
        if (a.native.size() != b.native.size() ||
            a.translated.size() != b.translated.size())
            return false;
        for (std::size_t n = 0; n < a.native.size(); n++)
            if (!compare.same(a.native[n], b.native[n]))
                return false;
        for (std::size_t n = 0; n < a.translated.size(); n++)
            if (!compare.same(a.translated[n], b.translated[n]))
                return false;
    }
    return true;
}

} // namespace

std::string interface_text(const ProviderBlock& block)
{
    return Writer(Bodies::Said).block(block);
}

std::string definition_text(const ProviderBlock& block)
{
    std::string text = interface_text(block);
    if (text.size() <= max_bytes && says(text, block))
        return text;
    return Writer(Bodies::Left).block(block);
}

} // namespace dt
