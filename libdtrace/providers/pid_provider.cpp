// SPDX-License-Identifier: MIT
// Finds the functions that a description matches, and the sites in a function.
#include "libdtrace/providers/pid_provider.hpp"

#include "libdtrace/symbols/glob.hpp"
#include "libdtrace/symbols/suggest.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

namespace dt {

namespace {

std::optional<std::uint64_t> parse_hex(std::string_view text)
{
    std::uint64_t n = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n, 16);
    if (error != std::errc{} || end != text.data() + text.size() || text.empty())
        return std::nullopt;
    return n;
}

std::string hex(std::uint64_t n)
{
    char text[17];
    auto [end, error] = std::to_chars(text, text + sizeof text, n, 16);
    return {text, end};
}

std::string spec_text(const ProbeSpec& spec)
{
    return spec.provider + ":" + spec.module + ":" + spec.function + ":" + spec.name;
}

// Returns 123 for "pid123". Returns 0 if no valid number follows "pid". Returns nullopt
// for other names and for globs.
std::optional<std::uint64_t> pid_of(const std::string& provider)
{
    if (provider.rfind("pid", 0) != 0 || is_glob(provider))
        return std::nullopt;
    std::string_view digits = std::string_view(provider).substr(3);
    std::uint64_t pid = 0;
    auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), pid);
    if (error != std::errc{} || end != digits.data() + digits.size() || pid > INT32_MAX)
        return 0;
    return pid;
}

std::string_view excerpt(std::string_view name, std::size_t max)
{
    return name.substr(0, max - 1);
}

} // namespace

// The sites that a description selects.
struct PidProvider::Wanted {
    bool entry = false, returns = false, every_offset = false;
    std::string glob; // selects the offsets if every_offset is set
    std::optional<std::uint64_t> offset;
    pid_t pid = 0;
    std::string provider; // with the pid, for example "pid123"
    // The function is a glob, so a function without the site is not an error.
    bool many = false;

    bool nothing() const { return !entry && !returns && !every_offset && !offset; }
    static Wanted by_name(const std::string& name)
    {
        Wanted wanted;
        if (name.empty() || is_glob(name)) {
            wanted.glob = name.empty() ? "*" : name;
            wanted.entry = glob_match(wanted.glob, "entry");
            wanted.returns = glob_match(wanted.glob, "return");
            wanted.every_offset =
                wanted.glob.find_first_not_of("0123456789abcdefABCDEF*?[]!-\\") ==
                std::string::npos;
        } else if (name == "entry") {
            wanted.entry = true;
        } else if (name == "return") {
            wanted.returns = true;
        } else {
            wanted.offset = parse_hex(name);
        }
        return wanted;
    }
};

PidProvider::PidProvider(Registry& registry, ProcessProbes& probes,
                         FindProcess find_process)
    : registry_(registry), probes_(probes), find_process_(std::move(find_process))
{
}

ProviderAttributes PidProvider::attributes() const
{
    constexpr Attributes evolving{Stability::Evolving, Stability::Evolving,
                                  DependencyClass::Isa};
    constexpr Attributes hidden{Stability::Private, Stability::Private,
                                DependencyClass::Unknown};
    return {evolving, hidden, hidden, evolving, hidden};
}

// Returns the results of earlier matches in a process, without modules that have been
// unloaded.
PidProvider::Searched& PidProvider::searched_of(ProcessSymbols& symbols)
{
    Searched& known = searched_[symbols.pid()];
    if (known.symbols != &symbols) {
        // The pid was reused, or the symbols were read again.
        if (known.symbols != nullptr)
            probes_.forget(symbols.pid());
        known = {&symbols, {}};
        return known;
    }
    for (auto& [names, modules] : known.descriptions)
        std::erase_if(modules, [](const Module* module) { return !module->live; });
    std::erase_if(known.go_text, [](const auto& of) { return !of.first->live; });
    probes_.drop_gone(symbols);
    return known;
}

std::vector<std::string> PidProvider::take_notes()
{
    return std::exchange(notes_, {});
}

std::uint32_t PidProvider::add(const Wanted& wanted, const FunctionAt& at,
                               std::string_view name, std::vector<ProbeSite> sites)
{
    const FunctionTable& table = at.module->image->functions();
    std::uint32_t id =
        registry_.add(this, wanted.provider, excerpt(at.module->name, 64),
                      excerpt(table.name(*at.function), 192), name);
    probes_.add(id, wanted.pid, at.module, std::move(sites));
    return id;
}

// Returns whether some functions are known only from their unwind entries.
static bool has_nameless(const FunctionTable& table)
{
    return std::ranges::any_of(table.all(), [&table](const Function& function) {
        return table.names(function).front().from_frame;
    });
}

StackCheck PidProvider::stack_check(const Wanted& wanted, const FunctionAt& at)
{
    auto& known = searched_[wanted.pid].go_text;
    auto of = known.find(at.module);
    if (of == known.end())
        of = known.emplace(at.module, go_text(*at.module->image)).first;
    if (of->second.n_bytes == 0)
        return {};
    return stack_check_of(*at.module->image, of->second, *at.function);
}

std::optional<Diagnostic> PidProvider::make_probes(const ProbeSpec& spec,
                                                   const Wanted& wanted,
                                                   const FunctionAt& at,
                                                   std::vector<std::uint32_t>& ids)
{
    const StackCheck check = stack_check(wanted, at);
    auto mark = [&check, vdso = at.module->is_vdso()](ProbeSite site,
                                                      std::uint64_t offset) {
        site.no_stack = check.may_lack_stack(offset);
        site.only_jump = vdso && offset != 0 && site.kind == ProbeSiteKind::Offset;
        return site;
    };
    // The entry probe of a Go function is placed after the stack check. The function
    // may run its first instruction twice, because it starts again after it has grown
    // its stack.
    if (wanted.entry)
        ids.push_back(add(wanted, at, "entry",
                          {mark({at.addr + check.n_bytes, ProbeSiteKind::Entry,
                                 static_cast<std::int64_t>(check.n_bytes)},
                                check.n_bytes)}));
    if (!wanted.returns && !wanted.every_offset && !wanted.offset)
        return std::nullopt;
    const Module& module = *at.module;
    std::string function(module.image->functions().name(*at.function));

    if (wanted.offset && *wanted.offset >= at.function->n_bytes) {
        if (wanted.many)
            return std::nullopt;
        return Diagnostic{Tag::PROC_OFF, spec.at,
                          "offset 0x" + hex(*wanted.offset) + " outside of function " +
                              module.name + "`" + function + " (0x" +
                              hex(at.function->n_bytes) + " bytes)",
                          ""};
    }
    auto text = module.image->bytes(at.function->addr, at.function->n_bytes);
    if (!text) {
        notes_.push_back(text.error().during(module.name + "`" + function).text);
        return std::nullopt;
    }
    auto read = [&](TargetAddr from, std::span<std::byte> into) {
        auto bytes = module.image->bytes(module.link_addr(from), into.size());
        if (!bytes)
            return false;
        std::memcpy(into.data(), bytes->data(), into.size());
        return true;
    };
    auto sites = analyze_function(x86_64, *text, at.addr, read);
    if (!sites) {
        notes_.push_back(sites.error().during(module.name + "`" + function).text);
        return std::nullopt;
    }

    if (wanted.returns) {
        std::vector<ProbeSite> returns = return_sites(at, *sites, read, wanted.pid);
        for (ProbeSite& site : returns)
            site = mark(site, site.at - at.addr);
        if (!returns.empty())
            ids.push_back(add(wanted, at, "return", std::move(returns)));
    }
    if (wanted.offset) {
        auto offset = static_cast<std::uint32_t>(*wanted.offset);
        if (!sites->is_boundary(offset)) {
            if (wanted.many)
                return std::nullopt;
            auto after = std::upper_bound(sites->instructions.begin(),
                                          sites->instructions.end(), offset);
            std::string near;
            if (after != sites->instructions.begin())
                near += " 0x" + hex(*(after - 1));
            if (after != sites->instructions.end())
                near += (near.empty() ? " 0x" : " and 0x") + hex(*after);
            return Diagnostic{Tag::PROC_ALIGN, spec.at,
                              "offset 0x" + hex(offset) + " is not the start of an " +
                                  "instruction of " + module.name + "`" + function +
                                  "; the nearest instructions start at" + near,
                              ""};
        }
        // "0A", "00a" and "a" are the same offset, so they share one probe.
        ids.push_back(
            add(wanted, at, hex(offset),
                {mark({at.addr + offset, ProbeSiteKind::Offset, offset}, offset)}));
    }
    // Probes at all offsets are created only if `sites` is exact. Otherwise there may
    // be data between the instructions.
    if (wanted.every_offset && sites->exact()) {
        for (std::uint32_t offset : sites->instructions)
            if (std::string name = hex(offset); glob_match(wanted.glob, name))
                ids.push_back(add(
                    wanted, at, name,
                    {mark({at.addr + offset, ProbeSiteKind::Offset, offset}, offset)}));
    }
    return std::nullopt;
}

PidProvider::Searched::Names PidProvider::names_of(const ProbeSpec& spec)
{
    return {spec.module, spec.function, spec.name};
}

Provider::Outcome PidProvider::absolute(const ProbeSpec& spec, pid_t pid,
                                        ProcessSymbols& symbols, Over over)
{
    auto address = parse_hex(spec.name);
    const Module* main = symbols.main_module();
    Searched& known = searched_of(symbols);
    auto& searched = known.descriptions[names_of(spec)];
    if (over == Over::not_searched && searched.contains(main)) {
        Outcome nothing;
        nothing.mine = nothing.provided.retained = true;
        return nothing;
    }
    const auto named = symbols.match_modules(spec.module);
    if (!spec.module.empty() && spec.module != "*" &&
        (is_glob(spec.module) ||
         std::find(named.begin(), named.end(), main) == named.end()))
        return refuse(Tag::PROC_LIB, spec,
                      "only the module a.out is valid with the function '-'");
    if (!address)
        return refuse(Tag::PROC_NAME, spec,
                      "'" + spec.name +
                          "' is an invalid address; function '-' requires " +
                          "a hexadecimal address in the program as the probe name");
    if (main == nullptr || main->image == nullptr)
        return refuse(
            Tag::PROC_LIB, spec,
            "the program's file cannot be read or does not match its mappings");
    const ElfSegment* text = main->image->text_segment(*address);
    TargetAddr at = main->target_addr(*address);
    if (text == nullptr) {
        text = main->image->text_segment(main->link_addr({*address}));
        at = TargetAddr{*address};
    }
    if (text == nullptr)
        return refuse(Tag::PROC_OFF, spec,
                      "address 0x" + spec.name + " is not in the text of " +
                          main->name);
    std::uint32_t id =
        registry_.add(this, spec.provider, excerpt(main->name, 64), "-", spec.name);
    ProbeSite site{at, ProbeSiteKind::Offset, 0};
    if (const AddressRange go = go_text(*main->image); go.n_bytes != 0) {
        const std::uint64_t link = main->link_addr(at);
        const Function* function = main->image->functions().at(link);
        if (go.contains(link) &&
            (function == nullptr || stack_check_of(*main->image, go, *function)
                                        .may_lack_stack(link - function->addr)))
            site.no_stack = true;
    }
    probes_.add(id, pid, main, {site});
    searched.insert(main);
    Outcome outcome;
    outcome.mine = true;
    outcome.provided.ids.push_back(id);
    return outcome;
}

void PidProvider::begin_planting(const Wanted& wanted,
                                 const std::vector<FunctionAt>& functions)
{
    const Module* before = nullptr;
    unsigned n_threads = 0;
    for (const FunctionAt& at : functions) {
        if (at.module != before && probes_.extents().begin(at.module->image))
            n_threads = 1;
        before = at.module;
    }
    // The number of offset probes is not known yet. If only offset probes are wanted,
    // each function counts as one site.
    std::size_t n_each = (wanted.entry ? 1 : 0) + (wanted.returns ? 1 : 0);
    plants(functions.size() * std::max<std::size_t>(n_each, 1), n_threads);
}

Provider::Outcome PidProvider::provide(const ProbeSpec& spec)
{
    return provide_over(spec, Over::all);
}

Provider::Outcome PidProvider::provide_new(const ProbeSpec& spec)
{
    return provide_over(spec, Over::not_searched);
}

// Returns pid4711 for a pattern such as p*d4711, otherwise nullopt. A pattern that does
// not begin with p, such as *4711, must not create a probe for every instruction.
static std::optional<std::string> provider_of_glob(const std::string& pattern)
{
    const std::size_t digits = pattern.find_last_not_of("0123456789") + 1;
    if (!is_glob(pattern) || !pattern.starts_with('p') || digits == pattern.size())
        return std::nullopt;
    std::string provider = "pid" + pattern.substr(digits);
    return glob_match(pattern, provider) ? std::optional(std::move(provider))
                                         : std::nullopt;
}

Provider::Outcome PidProvider::provide_over(const ProbeSpec& spec, Over over)
{
    if (auto provider = provider_of_glob(spec.provider)) {
        ProbeSpec of_pid = spec;
        of_pid.provider = *provider;
        Outcome made = provide_over(of_pid, over);
        // This is not an error, because the pattern may be meant for other providers.
        return made.refused ? Outcome{} : made;
    }
    auto pid_number = pid_of(spec.provider);
    if (!pid_number)
        return {};
    if (*pid_number == 0)
        return refuse(Tag::PROC_BADPID, spec,
                      spec.provider == "pid0"
                          ? "failed to create probe in process 0: no target; name a "
                            "process with -p, or a command with -c"
                          : "failed to create probe: '" + spec.provider +
                                "' does not name a process");
    auto pid = static_cast<pid_t>(*pid_number);
    auto process = find_process_(pid);
    if (!process)
        return refuse(Tag::PROC_GRAB, spec,
                      "failed to grab process " + std::to_string(pid) + ": " +
                          process.error().text);
    ProcessSymbols& symbols = **process;
    if (spec.function == "-")
        return absolute(spec, pid, symbols, over);

    Wanted wanted = Wanted::by_name(spec.name);
    wanted.pid = pid;
    wanted.provider = "pid" + std::to_string(pid);
    if (wanted.nothing()) {
        Suggestions near(spec.name);
        near.consider("entry");
        near.consider("return");
        return refuse(
            Tag::PROC_NAME, spec,
            "'" + spec.name + "' is an invalid probe name: it must be entry, " +
                "return, or an offset in hex" + did_you_mean(near.nearest(1)));
    }

    Outcome outcome;
    outcome.mine = true;
    std::vector<const Module*> modules = symbols.match_modules(spec.module);
    auto& searched = searched_of(symbols).descriptions[names_of(spec)];
    if (over == Over::not_searched)
        std::erase_if(modules,
                      [&](const Module* module) { return searched.contains(module); });
    if (modules.empty()) {
        outcome.provided.retained = true;
        if (over == Over::not_searched || zdefs || is_glob(spec.module))
            return outcome;
        return refuse(Tag::PROC_LIB, spec,
                      "no library '" + spec.module + "' in process " +
                          std::to_string(pid) +
                          did_you_mean(symbols.suggest_modules(spec.module)) +
                          "; -Z waits for it to be loaded");
    }
    std::vector<FunctionAt> functions = ProcessSymbols::match(modules, spec.function);
    bool by_glob = spec.function.empty() || is_glob(spec.function);
    wanted.many = by_glob;
    if (functions.empty() && !by_glob && !zdefs && over == Over::all) {
        std::string where;
        for (const Module* module : modules)
            if (module->image == nullptr)
                where += "; " + module->name + " cannot be read: " + module->trouble;
            else if (module->image->functions().all().empty())
                where += "; " + module->name +
                         " has no symbols (it is stripped); if it is the main program, "
                         "use pid" +
                         std::to_string(pid) + ":" + module->name + ":-:ADDRESS";
            else if (!spec.module.empty() && !module->image->facts().has_symtab &&
                     has_nameless(module->image->functions()))
                where += "; " + module->name +
                         " is stripped: functions that it does not export are named "
                         "fde.ADDRESS, and -l lists them";
        return refuse(
            Tag::PROC_FUNC, spec,
            "failed to create probe " + spec_text(spec) + ": no function '" +
                spec.function + "'" +
                (spec.module.empty() ? "" : " in " + modules[0]->name) +
                did_you_mean(symbols.suggest_functions(spec.module, spec.function)) +
                where);
    }
    searched.insert(modules.begin(), modules.end());
    if (plants)
        begin_planting(wanted, functions);
    registry_.expect(functions.size());
    probes_.reserve(registry_.size() + functions.size());
    for (const FunctionAt& at : functions) {
        if (at.function->n_bytes == 0)
            continue;
        if (by_glob) {
            const FunctionName& name =
                at.module->image->functions().names(*at.function).front();
            if (name.text == "_init" || name.text == "_fini" || name.is_of_part())
                continue;
        }
        if (auto refused = make_probes(spec, wanted, at, outcome.provided.ids)) {
            outcome.refused = std::move(refused);
            return outcome;
        }
    }
    sort_ids(outcome.provided.ids);
    return outcome;
}

} // namespace dt
