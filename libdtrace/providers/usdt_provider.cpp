// SPDX-License-Identifier: MIT
#include "libdtrace/providers/usdt_provider.hpp"

#include "base/hex_text.hpp"
#include "libdtrace/providers/known_providers.hpp"
#include "libdtrace/symbols/glob.hpp"
#include "libdtrace/symbols/suggest.hpp"
#include "usdt/operands.hpp"

#include <algorithm>
#include <bit>
#include <set>
#include <string_view>
#include <utility>

namespace dt {

namespace {

constexpr std::size_t max_arguments = 64;

// A field of a description.
class Pattern {
public:
    explicit Pattern(const std::string& text) : text_(text), is_glob_(is_glob(text)) {}
    bool matches(std::string_view name) const
    {
        return text_.empty() || (is_glob_ ? glob_match(text_, name) : text_ == name);
    }

private:
    const std::string& text_;
    bool is_glob_;
};

// Returns a name with at most max_bytes. A longer name is truncated and ends with its
// hash.
std::string in_d(const std::string& name, std::size_t max_bytes)
{
    constexpr std::size_t max_hash_bytes = 9; // a _ and up to 8 hexadecimal digits
    if (name.size() <= max_bytes)
        return name;
    std::uint32_t hash = 0x811c9dc5; // the FNV-1a hash of the name
    for (unsigned char c : name)
        hash = (hash ^ c) * 0x01000193;
    std::string text = hex_text(hash);
    return name.substr(0, max_bytes - max_hash_bytes) + "_" + text.substr(2);
}

constexpr std::size_t max_name = 63;

std::string name_in_d(const StaticProbe& probe)
{
    return in_d(probe.name, max_name);
}

std::string provider_in_d(const StaticProbe& probe, const std::string& pid)
{
    return in_d(probe.provider, max_name - pid.size()) + pid;
}

// Returns the address of a variable or function in the process, or nullopt.
std::optional<std::uint64_t> address_of(const Module& module, const std::string& symbol)
{
    auto at = module.image->find_variable(symbol);
    if (!at)
        if (const Function* function = module.image->functions().find(symbol))
            at = function->addr;
    if (!at)
        return std::nullopt;
    return module.target_addr(*at).value;
}

// Converts an operand of a note. If that fails, `trouble` receives the reason.
dt_operand in_process(const usdt::Operand& from, const Module& module,
                      std::string& trouble)
{
    dt_operand out{};
    out.value = from.value;
    out.bytes = from.bytes;
    out.reg = from.reg;
    out.index = from.index;
    out.shift = static_cast<dt_u8>(std::countr_zero(unsigned{from.scale}));
    out.segment = from.segment == usdt::Segment::fs   ? 'f'
                  : from.segment == usdt::Segment::gs ? 'g'
                                                      : 0;
    out.flags = static_cast<dt_u8>((from.is_signed ? DT_OPERAND_SIGNED : 0) |
                                   (from.is_float ? DT_OPERAND_FLOAT : 0) |
                                   (from.high_byte ? DT_OPERAND_HIGH_BYTE : 0));
    switch (from.form) {
    case usdt::OperandForm::constant:
        out.form = DT_OPERAND_CONST;
        break;
    case usdt::OperandForm::general:
        out.form = DT_OPERAND_GENERAL;
        break;
    case usdt::OperandForm::vector:
        out.form = DT_OPERAND_VECTOR;
        if (from.reg >= 16)
            trouble = "is in a vector register above xmm15, which dtrace does not save";
        break;
    case usdt::OperandForm::memory:
        out.form = DT_OPERAND_MEMORY;
        if (from.of_rip && from.symbol.empty())
            trouble = "is relative to %rip but has no symbol";
        break;
    case usdt::OperandForm::unknown:
        trouble = from.trouble;
        break;
    }
    if (!from.symbol.empty()) {
        auto at = address_of(module, from.symbol);
        if (!at)
            trouble =
                "refers to " + from.symbol + ", which is not a symbol in the file";
        else
            out.value += static_cast<dt_s64>(*at);
    }
    if (!trouble.empty())
        out.form = DT_OPERAND_UNKNOWN;
    return out;
}

} // namespace

UsdtProvider::UsdtProvider(Registry& registry, ProcessProbes& probes,
                           Candidates candidates)
    : registry_(registry), probes_(probes), candidates_(std::move(candidates))
{
}

ProviderAttributes UsdtProvider::attributes() const
{
    constexpr Attributes evolving{Stability::Evolving, Stability::Evolving,
                                  DependencyClass::Isa};
    constexpr Attributes hidden{Stability::Private, Stability::Private,
                                DependencyClass::Unknown};
    return {evolving, hidden, hidden, evolving, evolving};
}

const UsdtProvider::Read& UsdtProvider::of_image(const std::shared_ptr<ElfImage>& image)
{
    Read& known = by_image_[image.get()];
    if (known.image.expired()) {
        known = {image, image->static_probes(), {}, {}};
        for (const std::string& trouble : known.probes.troubles)
            notes_.push_back(image->path() + ": " + trouble);
        define(*image, known);
    }
    return known;
}

void UsdtProvider::define(const ElfImage& image, Read& read)
{
    for (const auto& [provider, text] : read.probes.definitions) {
        auto [known, is_new] = read.definitions.try_emplace(provider);
        if (!is_new) {
            notes_.push_back(image.path() + " has different definitions of provider " +
                             provider +
                             ", and none of them is used: its source files were "
                             "compiled with headers from different provider.d files");
            known->second = nullptr;
            continue;
        }
        auto meant = read_definition(provider, text);
        if (auto* definition = std::get_if<Definition>(&meant))
            known->second = std::move(*definition);
        else
            notes_.push_back(image.path() + " has a definition of provider " +
                             provider +
                             " that cannot be read: " + std::get<std::string>(meant) +
                             "; only the sizes of its probes' arguments are known");
    }
    for (const StaticProbe& probe : read.probes.probes) {
        std::string_view text = known_definition(probe.provider);
        if (text.empty() || read.definitions.count(probe.provider) != 0)
            continue;
        auto meant = read_definition(probe.provider, text);
        if (auto* definition = std::get_if<Definition>(&meant)) {
            read.definitions[probe.provider] = std::move(*definition);
            read.not_its_own.insert(probe.provider);
        }
    }
}

const ProviderProbe* UsdtProvider::defined(const std::shared_ptr<ElfImage>& image,
                                           const StaticProbe& probe,
                                           std::size_t n_passed, Definition& by)
{
    const Read& read = of_image(image);
    auto known = read.definitions.find(probe.provider);
    by = known != read.definitions.end() ? known->second : nullptr;
    const ProviderProbe* found = by != nullptr ? by->probe(probe.name) : nullptr;
    if (found == nullptr || found->native.size() == n_passed)
        return found;
    if (read.not_its_own.count(probe.provider) != 0)
        return nullptr; // the known definition is for another version of the program
    std::string name = probe.provider + ":::" + probe.name;
    if (reported_.insert(image->path() + name).second)
        notes_.push_back(image->path() + ": " + name + " passes " +
                         std::to_string(n_passed) +
                         " arguments, but its definition has " +
                         std::to_string(found->native.size()) +
                         ": only the sizes of these arguments are known");
    return nullptr;
}

// Returns the operands in the order of the arguments that D programs use.
static std::vector<dt_operand> shown(std::vector<dt_operand> passed,
                                     const ProviderProbe& probe)
{
    std::vector<dt_operand> operands;
    for (const ArgumentTypes::Defined& one : shown_arguments(probe))
        operands.push_back(passed[one.n]);
    return operands;
}

void UsdtProvider::add(const ProcessSymbols& symbols, const Module& module,
                       const StaticProbe& probe, std::vector<std::uint32_t>& ids)
{
    auto is_free = [&](const StaticSite& site) {
        return !probes_.is_inherited(symbols.pid(), module.target_addr(site.at));
    };
    if (std::none_of(probe.sites.begin(), probe.sites.end(), is_free))
        return;
    std::string provider = provider_in_d(probe, std::to_string(symbols.pid()));
    std::uint32_t id = registry_.add(
        this, provider, std::string_view(module.name).substr(0, max_name),
        std::string_view(probe.function).substr(0, 127), name_in_d(probe));
    ids.push_back(id);
    if (reported_.insert(provider + ":" + probe.name).second)
        if (std::string lacks =
                missing_switch(symbols.pid(), probe.provider, probe.name);
            !lacks.empty())
            notes_.push_back(std::move(lacks));
    const ProcessProbe* before = probes_.probe(id);
    std::vector<ProbeSite> sites;
    const usdt::Syntax syntax = of_image(module.image).probes.syntax;
    for (const StaticSite& from : probe.sites) {
        ProbeSite site;
        site.at = module.target_addr(from.at);
        site.kind = ProbeSiteKind::Static;
        site.offset = static_cast<std::int64_t>(from.offset);
        if (!is_free(from) || (before != nullptr && before->has_site(site.at)))
            continue;
        StaticArguments arguments;
        if (from.semaphore != 0)
            arguments.semaphore = module.target_addr(from.semaphore);
        unsigned n = 0;
        for (const usdt::Operand& operand :
             usdt::parse_operands(from.arguments, max_arguments, syntax)) {
            std::string trouble;
            arguments.operands.push_back(in_process(operand, module, trouble));
            if (!trouble.empty())
                notes_.push_back("arg" + std::to_string(n) + " of " + probe.provider +
                                 ":" + module.name + ":" + probe.function + ":" +
                                 probe.name + " cannot be read: '" + operand.text +
                                 "' " + trouble);
            n++;
        }
        Definition by;
        if (const ProviderProbe* said =
                defined(module.image, probe, arguments.operands.size(), by)) {
            arguments.operands = shown(std::move(arguments.operands), *said);
            defined_[id] = {std::move(by), said};
        }
        arguments_.push_back(std::move(arguments));
        site.arguments = &arguments_.back();
        sites.push_back(site);
    }
    if (!sites.empty())
        probes_.add(id, symbols.pid(), &module, std::move(sites));
}

bool UsdtProvider::may_mean(const ProbeSpec& spec)
{
    const bool of_pid =
        spec.provider.starts_with("pid") && spec.provider.size() > 3 &&
        spec.provider.find_first_not_of("0123456789", 3) == std::string::npos;
    return spec.id == 0 && !of_pid && !is_kernel_provider(spec.provider) &&
           spec.provider.find_first_not_of('*') != std::string::npos;
}

void UsdtProvider::visit(const ProbeSpec& spec, const ProcessSymbols& symbols,
                         const Visit& each)
{
    const std::string pid = std::to_string(symbols.pid());
    const Pattern provider(spec.provider), function(spec.function), name(spec.name);
    for (const Module* module : symbols.match_modules(spec.module)) {
        if (module->image == nullptr)
            continue;
        for (const StaticProbe& probe : of_image(module->image).probes.probes)
            if ((provider.matches(probe.provider) ||
                 provider.matches(probe.provider + pid) ||
                 provider.matches(provider_in_d(probe, pid))) &&
                function.matches(probe.function) &&
                (name.matches(probe.name) || name.matches(name_in_d(probe))) &&
                !each(*module, probe))
                return;
    }
}

std::vector<std::uint32_t> UsdtProvider::provide_in(const ProbeSpec& spec,
                                                    const ProcessSymbols& symbols)
{
    std::vector<std::uint32_t> ids;
    visit(spec, symbols, [&](const Module& module, const StaticProbe& probe) {
        add(symbols, module, probe, ids);
        return true;
    });
    sort_ids(ids);
    return ids;
}

bool UsdtProvider::has_any(const ProbeSpec& spec, const ProcessSymbols& symbols)
{
    bool any = false;
    visit(spec, symbols, [&any](const Module&, const StaticProbe&) {
        any = true;
        return false;
    });
    return any;
}

Provider::Outcome UsdtProvider::provide(const ProbeSpec& spec)
{
    Outcome outcome;
    const SearchScope scope =
        may_mean(spec) ? SearchScope::named_or_all : SearchScope::named;
    if (scope == SearchScope::named &&
        !registry_.match(spec.provider, spec.module, spec.function, spec.name).empty())
        return outcome;
    std::vector<std::uint32_t>& ids = outcome.provided.ids;
    for (ProcessSymbols* symbols : candidates_(scope)) {
        std::vector<std::uint32_t> of_one = provide_in(spec, *symbols);
        ids.insert(ids.end(), of_one.begin(), of_one.end());
    }
    if (ids.empty())
        return outcome;
    auto others = registry_.match(spec.provider, spec.module, spec.function, spec.name);
    ids.insert(ids.end(), others.begin(), others.end());
    sort_ids(ids);
    outcome.mine = true;
    return outcome;
}

// Removes a pid or wildcards from the end of the provider name that the user typed.
static std::string_view provider_stem(std::string_view typed)
{
    std::size_t last = typed.find_last_not_of("*?0123456789");
    return typed.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

std::string UsdtProvider::hint(const ProbeSpec& spec)
{
    if (provider_stem(spec.provider).empty())
        return "";
    std::set<std::string> providers, names;
    const Pattern provider(spec.provider);
    for (ProcessSymbols* symbols : candidates_(SearchScope::named_or_all))
        for (const Module* module : symbols->match_modules("")) {
            if (module->image == nullptr)
                continue;
            const std::string pid = std::to_string(symbols->pid());
            for (const StaticProbe& probe : of_image(module->image).probes.probes) {
                providers.insert(probe.provider);
                if (provider.matches(probe.provider) ||
                    provider.matches(probe.provider + pid))
                    names.insert(probe.name);
            }
        }
    if (names.count(spec.name) != 0)
        return ""; // the name exists, but in another module or function
    Suggestions near(names.empty() ? provider_stem(spec.provider) : spec.name);
    for (const std::string& each : names.empty() ? providers : names)
        near.consider(each);
    return did_you_mean(near.nearest());
}

ProviderAttributes UsdtProvider::probe_attributes(const ProbeInfo& probe) const
{
    ProviderAttributes parts = attributes();
    if (auto known = defined_.find(probe.id); known != defined_.end())
        known->second.first->set_attributes(parts);
    return parts;
}

ArgumentTypes UsdtProvider::argument_types(const ProbeInfo& probe) const
{
    if (auto known = defined_.find(probe.id); known != defined_.end())
        return {{}, shown_arguments(*known->second.second), known->second.first->types};
    const ProcessProbe* known = probes_.probe(probe.id);
    if (known == nullptr || known->sites.empty() ||
        known->sites.front().arguments == nullptr)
        return {};
    std::vector<std::string> types;
    for (const dt_operand& operand : known->sites.front().arguments->operands) {
        if ((operand.flags & DT_OPERAND_FLOAT) != 0)
            types.push_back("double");
        else
            types.push_back(
                std::string((operand.flags & DT_OPERAND_SIGNED) != 0 ? "int" : "uint") +
                std::to_string(8 * operand.bytes) + "_t");
    }
    return {std::move(types), {}, nullptr};
}

std::vector<std::string> UsdtProvider::take_notes()
{
    // Limit the messages, because a file can have thousands of probes with unreadable
    // operands.
    constexpr std::size_t most = 100;
    if (notes_.size() > most) {
        const std::size_t n_more = notes_.size() - most;
        notes_.resize(most);
        notes_.push_back(std::to_string(n_more) +
                         " more messages about static probes are omitted");
    }
    return std::exchange(notes_, {});
}

} // namespace dt
