// SPDX-License-Identifier: MIT
// Checks the stability and the versions of names. The stability of a clause is the
// lowest stability of its probe descriptions and of the names that it uses. -x amin
// refuses a clause below a minimum. -x version hides names that a later version of D
// introduced.
//
// If #pragma D attributes sets the stability of an inline or translator, the stability
// of the names inside it is ignored.
#include "libdtrace/compile/check/check_internal.hpp"

#include <algorithm>

namespace dt {

namespace {

constexpr std::string_view translators = "translator";

bool is_above(Place a, Place b)
{
    return a.file == b.file && a.line_of_text() < b.line_of_text();
}

std::string description_text(const ProbeSpec& spec)
{
    if (spec.id != 0)
        return std::to_string(spec.id);
    return spec.provider + ":" + spec.module + ":" + spec.function + ":" + spec.name;
}

[[noreturn]] void too_weak(const Attributes& attributes, const std::string& what,
                           Place at)
{
    fail(Tag::ATTR_MIN, at,
         "attributes for " + what + " (" + attributes_text(attributes) +
             ") are less than predefined minimum");
}

[[noreturn]] void unused(const char* pragma, const std::string& what, Place at)
{
    fail(Tag::PRAGMA_UNUSED, at,
         std::string("unused #pragma D ") + pragma + ": " + what);
}

} // namespace

bool Checker::is_there(std::string_view name) const
{
    return options_.version == latest_version ||
           facts_of(name).since <= options_.version;
}

const VariableRow* Checker::find_variable_row(std::string_view name) const
{
    return is_there(name) ? dt::find_variable_row(name) : nullptr;
}

const SubroutineRow* Checker::find_subroutine_row(std::string_view name) const
{
    return is_there(name) ? dt::find_subroutine_row(name) : nullptr;
}

const ActionRow* Checker::find_action_row(std::string_view name) const
{
    return is_there(name) ? dt::find_action_row(name) : nullptr;
}

const AggRow* Checker::find_agg_row(std::string_view name) const
{
    return is_there(name) ? dt::find_agg_row(name) : nullptr;
}

std::string Checker::version_hint(std::string_view name) const
{
    if (is_there(name))
        return "";
    return "; it requires D version " + version_text(facts_of(name).since) +
           " or later, but the version option is " + version_text(options_.version);
}

// Lowers the clause's attributes to `attributes` if `attributes` are weaker. Returns
// true if `attributes` are below the minimum (-x amin).
bool Checker::weakens(const Attributes& attributes)
{
    if (n_vouched_ > 0)
        return false;
    names_used_ = weakest(names_used_, attributes);
    return clause_ && options_.amin && is_below(attributes, *options_.amin);
}

void Checker::uses(const Attributes& attributes, const std::string& what, Place at)
{
    if (weakens(attributes))
        too_weak(attributes, what, at);
}

void Checker::uses(const Ident& ident, Place at)
{
    const char* sigil = ident.kind == IdentKind::Aggregation ? "@" : "";
    if (weakens(ident.attributes))
        too_weak(ident.attributes,
                 "identifier " + (sigil + scoped_name(ident.scope, ident.name)), at);
}

// Lowers the clause's attributes to those of the probes that a description matched.
// Refuses the clause if the probes' attributes are below the minimum (-x amin).
void Checker::describes(const ProbeSpec& spec)
{
    if (spec.matched.empty())
        return;
    const ProbeStability found = options_.environment->stability(spec.matched);
    clause_->descriptions = weakest(clause_->descriptions, found.descriptions);
    arguments_ = weakest(arguments_, found.arguments);
    if (options_.amin && is_below(found.descriptions, *options_.amin))
        too_weak(found.descriptions, "probe description " + description_text(spec),
                 spec.at);
}

// Applies the program's pragmas for a name that the program creates. The pragmas may be
// anywhere in the text.
void Checker::take_pragmas(Ident& ident)
{
    ident.program = symbols_.program;
    if (ident.scope != Scope::Global)
        return;
    for (const PragmaAttributes& pragma : unit_.attributes)
        if (pragma.part.empty() && pragma.name == ident.name) {
            ident.attributes = pragma.attributes;
            ident.attributed = true;
        }
    for (const PragmaBinding& pragma : unit_.bindings)
        if (pragma.name == ident.name && pragma.version <= options_.version)
            ident.since = pragma.version;
}

// Returns whether -x version hides the declared name. A name is hidden if a #pragma D
// binding gives it a version later than the selected version.
bool Checker::is_hidden(const Decl& decl) const
{
    if (decl.kind == DeclKind::Translator)
        return decl.since > options_.version;
    return decl.scope == Scope::Global &&
           std::any_of(unit_.bindings.begin(), unit_.bindings.end(),
                       [&](const PragmaBinding& pragma) {
                           return pragma.name == decl.name &&
                                  pragma.version > options_.version;
                       });
}

// Applies the pragmas about providers and translators, before the declarations are
// checked.
void Checker::declaration_pragmas()
{
    for (const PragmaAttributes& pragma : unit_.attributes) {
        if (!pragma.part.empty())
            provider_pragma(pragma);
        else if (pragma.name == translators)
            translator_pragma("attributes", pragma.at,
                              [&](Decl& decl) { decl.attributes = pragma.attributes; });
    }
    for (const PragmaBinding& pragma : unit_.bindings)
        if (pragma.name == translators)
            translator_pragma("binding", pragma.at,
                              [&](Decl& decl) { decl.since = pragma.version; });
    for (const auto& decl : unit_.decls)
        if (decl->kind == DeclKind::Inline && is_hidden(*decl))
            symbols_.inline_values.erase(decl->name);
}

void Checker::provider_pragma(const PragmaAttributes& pragma)
{
    for (const auto& decl : unit_.decls)
        if (decl->kind == DeclKind::Provider && decl->name == pragma.name) {
            symbols_.providers[pragma.name][pragma.part] = pragma.attributes;
            return;
        }
    if (options_.environment->has_provider(pragma.name))
        fail(Tag::PRAGMA_SCOPE, pragma.at,
             "#pragma D attributes may not be applied to the provider " + pragma.name +
                 ", which this program does not define");
    unused("attributes", "no provider is named " + pragma.name, pragma.at);
}

// Applies a pragma to the translators that follow it, up to the next such pragma.
void Checker::translator_pragma(const char* pragma, Place at,
                                const std::function<void(Decl&)>& apply)
{
    bool any = false;
    for (const auto& decl : unit_.decls) {
        if (decl->kind != DeclKind::Translator || !is_above(at, decl->at))
            continue;
        apply(*decl);
        any = true;
    }
    if (!any)
        unused(pragma, "no translator follows it", at);
}

// Applies the pragmas about identifiers. Called at the end, because a pragma may come
// before the declaration that it refers to.
void Checker::identifier_pragmas()
{
    for (const PragmaAttributes& pragma : unit_.attributes)
        if (pragma.part.empty())
            identifier_pragma("attributes", pragma.name, pragma.at);
    for (const PragmaBinding& pragma : unit_.bindings)
        identifier_pragma("binding", pragma.name, pragma.at);
}

void Checker::identifier_pragma(const char* pragma, const std::string& name, Place at)
{
    const std::string applied =
        std::string("#pragma D ") + pragma + " may not be applied to " + name;
    if (name == translators || hidden_.count(name) != 0)
        return;
    if (name.find('`') != std::string::npos)
        fail(Tag::PRAGMA_SCOPE, at, applied + ", which is a name in another scope");
    const Ident* ident = find_variable(Scope::Global, name);
    auto found = symbols_.inlines.find(name);
    if (found != symbols_.inlines.end())
        ident = found->second.get();
    if (ident && ident->program == symbols_.program)
        return;
    if (ident || is_builtin_variable(name) || find_subroutine_row(name) ||
        find_action_row(name) || find_agg_row(name))
        fail(Tag::PRAGMA_SCOPE, at, applied + ", which this program does not define");
    unused(pragma, "nothing is named " + name, at);
}

} // namespace dt
