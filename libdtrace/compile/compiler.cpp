// SPDX-License-Identifier: MIT
// The interface of the compiler. It runs the passes in order. If a pass throws a
// CompileError, the caller receives the error's diagnostic.
//
// A program that fails to compile changes nothing: its types are rolled back, its new
// names are erased, and older names are restored.
#include "libdtrace/compile/compiler.hpp"

#include "libdtrace/compile/check/arguments.hpp"
#include "libdtrace/compile/parse/tree_text.hpp"
#include "libdtrace/compile/passes.hpp"
#include "libdtrace/compile/types/written_types.hpp"

#include <utility>

namespace dt {

Environment& no_environment()
{
    static Environment none;
    return none;
}

namespace {

// A saved copy of one name space of a SymbolTable. The expressions of inlines are not
// saved, because later programs do not change them.
template <class Map> class SavedNames {
public:
    explicit SavedNames(Map& map) : map_(map)
    {
        for (const auto& [name, ident] : map)
            saved_.emplace_hint(saved_.end(), name, *ident);
    }

    void restore()
    {
        for (auto at = map_.begin(); at != map_.end();) {
            auto before = saved_.find(at->first);
            if (before == saved_.end()) {
                at = map_.erase(at);
                continue;
            }
            static_cast<IdentFacts&>(*at->second) = std::move(before->second);
            ++at;
        }
    }

private:
    Map& map_;
    std::map<typename Map::key_type, IdentFacts> saved_;
};

// Saves a session's names and types, and restores them unless keep() is called.
class Savepoint {
public:
    Savepoint(TypeTable& types, SymbolTable& symbols)
        : types_(types), symbols_(symbols), type_mark_(types.mark()),
          variables_(symbols.variables), aggregations_(symbols.aggregations),
          inlines_(symbols.inlines), inline_values_(symbols.inline_values),
          next_variable_(symbols.next_variable), next_array_(symbols.next_array),
          next_aggregation_(symbols.next_aggregation),
          n_translators_(symbols.translators.size()), providers_(symbols.providers),
          interfaces_(symbols.interfaces)
    {
    }
    ~Savepoint()
    {
        if (kept_)
            return;
        types_.rollback(type_mark_);
        variables_.restore();
        aggregations_.restore();
        inlines_.restore();
        symbols_.inline_values = std::move(inline_values_);
        symbols_.next_variable = next_variable_;
        symbols_.next_array = next_array_;
        symbols_.next_aggregation = next_aggregation_;
        symbols_.translators.resize(n_translators_);
        symbols_.providers = std::move(providers_);
        symbols_.interfaces = std::move(interfaces_);
    }
    Savepoint(const Savepoint&) = delete;
    Savepoint& operator=(const Savepoint&) = delete;

    void keep() { kept_ = true; }

private:
    TypeTable& types_;
    SymbolTable& symbols_;
    std::size_t type_mark_;
    SavedNames<decltype(SymbolTable::variables)> variables_;
    SavedNames<decltype(SymbolTable::aggregations)> aggregations_;
    SavedNames<decltype(SymbolTable::inlines)> inlines_;
    std::map<std::string, std::int64_t> inline_values_;
    std::uint32_t next_variable_, next_array_, next_aggregation_;
    std::size_t n_translators_;
    decltype(SymbolTable::providers) providers_;
    decltype(SymbolTable::interfaces) interfaces_;
    bool kept_ = false;
};

// Removes the names that do not exist in this version of D, because a later version
// introduced them. A session's version cannot be raised, so these names are not needed
// again.
void reduce(SymbolTable& symbols, Version version)
{
    auto is_later = [&](const auto& entry) { return entry.second->since > version; };
    std::erase_if(symbols.variables, is_later);
    std::erase_if(symbols.inlines, [&](const auto& entry) {
        if (is_later(entry))
            symbols.inline_values.erase(entry.first);
        return is_later(entry);
    });
    std::erase_if(symbols.translators,
                  [&](const auto& decl) { return decl->since > version; });
}

std::vector<ProviderBlock> providers_of(Unit& unit)
{
    std::vector<ProviderBlock> blocks;
    for (const auto& decl : unit.decls) {
        if (!decl || decl->kind != DeclKind::Provider)
            continue;
        ProviderBlock& block = blocks.emplace_back();
        block.name = decl->name;
        block.at = decl->at;
        block.probes = std::move(decl->probes);
        for (const PragmaAttributes& pragma : unit.attributes)
            if (!pragma.part.empty() && pragma.name == block.name)
                block.attributes[pragma.part] = pragma.attributes;
    }
    return blocks;
}

} // namespace

void take_attributes(const std::map<std::string, Attributes>& said,
                     ProviderAttributes& parts)
{
    const std::pair<std::string_view, Attributes*> by_name[] = {
        {"provider", &parts.provider},
        {"module", &parts.module},
        {"function", &parts.function},
        {"name", &parts.name},
        {"args", &parts.args}};
    for (auto [name, part] : by_name)
        if (auto set = said.find(std::string(name)); set != said.end())
            *part = set->second;
}

struct Compiler::Impl {
    explicit Impl(std::uint64_t strsize) : types(std::make_shared<TypeTable>(strsize))
    {
    }

    std::shared_ptr<TypeTable> types;
    TargetTypes target_types{*types};
    ForeignTypes foreign_types{*types};
    SymbolTable symbols;
};

Compiler::Compiler(std::uint64_t strsize) : impl_(std::make_unique<Impl>(strsize)) {}

Compiler::~Compiler() = default;

std::variant<Program, Diagnostic> Compiler::compile(std::string_view text,
                                                    const CompileOptions& options)
{
    CompileOptions effective = options;
    apply_options(scan_options(text), effective);
    impl_->types->set_strsize(effective.strsize);

    reduce(impl_->symbols, effective.version);
    impl_->symbols.program++;

    Savepoint savepoint(*impl_->types, impl_->symbols);
    CompileContext context{effective,
                           *impl_->types,
                           impl_->symbols,
                           TargetNames(effective, impl_->target_types),
                           impl_->foreign_types,
                           text};
    try {
        Unit unit = parse(context);
        if (options.library && !unit.clauses.empty())
            fail(Tag::SYNTAX, unit.clauses.front()->at,
                 "a D library must not contain clauses");
        derive_probes(unit, context);
        lower_ifs(unit, context);
        std::string lowered = options.keep_text ? tree_text(unit) : "";
        check(unit, context);
        Program program = generate(unit, context);
        program.types = impl_->types;
        program.providers = providers_of(unit);
        program.options = std::move(unit.options);
        program.source_name = options.source_name;
        program.text = std::move(lowered);
        savepoint.keep();
        return program;
    } catch (const CompileError& error) {
        Diagnostic diagnostic = error.diagnostic;
        if (diagnostic.at.file != nullptr)
            diagnostic.source = *diagnostic.at.file;
        return diagnostic;
    }
}

bool Compiler::set_attributes(std::string_view provider,
                              ProviderAttributes& parts) const
{
    const auto& providers = impl_->symbols.providers;
    auto found = providers.find(provider);
    if (found == providers.end())
        found = providers.find(
            provider.substr(0, provider.find_last_not_of("0123456789") + 1));
    if (found == providers.end())
        return false;
    take_attributes(found->second, parts);
    return true;
}

std::variant<const Type*, Diagnostic>
Compiler::type_named(std::string_view text, const CompileOptions& options)
{
    const std::size_t before = impl_->types->mark();
    CompileContext context{options,
                           *impl_->types,
                           impl_->symbols,
                           TargetNames(options, impl_->target_types),
                           impl_->foreign_types,
                           text};
    try {
        const Type* type = parse_type(context);
        complete(type);
        return type;
    } catch (const CompileError& error) {
        impl_->types->rollback(before);
        return error.diagnostic;
    }
}

const Type* Compiler::target_type(DebugTypes& from, DebugRef ref)
{
    return impl_->target_types.type(from, ref);
}

const Type* Compiler::target_function(DebugTypes& from, const DebugFunction& function)
{
    std::vector<const Type*> parameters;
    for (const DebugParameter& parameter : function.parameters)
        parameters.push_back(target_type(from, parameter.type));
    return impl_->types->function_of(target_type(from, function.result),
                                     std::move(parameters), function.varargs);
}

const Type* Compiler::pointer_to(const Type* type)
{
    return impl_->types->pointer_to(type, true);
}

void Compiler::complete(const Type* type)
{
    impl_->target_types.complete(type);
}

std::vector<std::string> Compiler::argument_texts(const ProbedFunction& probed)
{
    std::vector<std::string> texts;
    for (const Argument& one : arguments_of(probed, impl_->target_types, *impl_->types))
        texts.push_back(declaration_text(one.type, one.name));
    return texts;
}

std::vector<std::string> Compiler::argument_texts(const ArgumentTypes& said)
{
    std::vector<std::string> texts = said.names;
    for (const ArgumentTypes::Defined& one : said.defined)
        texts.push_back(declaration_text(one.type, one.name));
    for (const ArgumentTypes::Written& one : said.written)
        texts.push_back(declaration_text(
            written_type(one.type, said.written_in, impl_->target_types), one.name));
    return texts;
}

} // namespace dt
