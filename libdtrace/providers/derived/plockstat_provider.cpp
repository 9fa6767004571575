// SPDX-License-Identifier: MIT
#include "libdtrace/providers/derived/plockstat_provider.hpp"

#include "libdtrace/symbols/glob.hpp"
#include "libdtrace/symbols/suggest.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <sys/syscall.h>
#include <utility>

namespace dt {

namespace {

constexpr std::string_view prefix = "plockstat";

// Names in probe descriptions are limited to these lengths.
std::string_view module_name(const Module& module)
{
    return std::string_view(module.name).substr(0, 63);
}
std::string function_name(std::string_view name)
{
    return std::string(name.substr(0, 191));
}

constexpr std::pair<std::string_view, std::string_view> derived_definitions[] = {
#include "derived_libraries.inc"
};

using Functions = std::vector<std::string_view>;

Functions operator+(Functions first, const Functions& second)
{
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

enum class LockSites : std::uint8_t { entries, returns, waits };
// The libraries in which a row has sites.
enum class Libc : std::uint8_t { any, glibc, other };

} // namespace

// The sites for one clause of the definition. The part of the name after the dot is the
// clause's group.
struct PlockstatProvider::Row {
    std::string_view name;
    LockSites place;
    Functions functions;
    Libc libc;
    bool is_hidden = false; // only prepares other probes
    std::string_view public_name() const { return name.substr(0, name.find('.')); }
    // Returns whether a name with a dot requests this row.
    bool is_called(std::string_view what) const
    {
        return what == name ||
               (what.ends_with('.') && name == what.substr(0, what.size() - 1));
    }
};

const std::vector<PlockstatProvider::Row>& PlockstatProvider::rows()
{
    constexpr bool hidden = true;
    static const Functions locks{"pthread_mutex_lock", "pthread_mutex_timedlock",
                                 "pthread_mutex_clocklock"};
    static const Functions trylock{"pthread_mutex_trylock"};
    static const Functions unlock{"pthread_mutex_unlock"};
    static const Functions conditions{"pthread_cond_wait", "pthread_cond_timedwait",
                                      "pthread_cond_clockwait"};
    static const Functions reads{"pthread_rwlock_rdlock", "pthread_rwlock_timedrdlock",
                                 "pthread_rwlock_clockrdlock"};
    static const Functions writes{"pthread_rwlock_wrlock", "pthread_rwlock_timedwrlock",
                                  "pthread_rwlock_clockwrlock"};
    static const Functions tryread{"pthread_rwlock_tryrdlock"};
    static const Functions trywrite{"pthread_rwlock_trywrlock"};
    static const Functions rw_unlock{"pthread_rwlock_unlock"};
    using enum LockSites;
    using enum Libc;
    static const std::vector<Row> all{
        {"mutex-begin", entries, locks, any, hidden},
        {"mutex-begin", entries, trylock, glibc, hidden},
        {"mutex-begin.try", entries, trylock, other, hidden},
        {"mutex-begin.cond", entries, conditions, glibc, hidden},
        {"mutex-begin.unlock", entries, unlock, any, hidden},
        {"nested-begin", entries, locks + reads + writes, other, hidden},
        {"nested-end", returns, locks + reads + writes, other, hidden},
        {"mutex-wait", waits, {}, any, hidden},
        {"mutex-acquire", returns, locks, any},
        {"mutex-acquire", returns, trylock, glibc},
        {"mutex-acquire.try", returns, trylock, other},
        {"mutex-acquire.cond", returns, conditions, glibc},
        {"mutex-block", waits, {}, any},
        {"mutex-blocked", returns, locks, any},
        {"mutex-blocked.cond", returns, conditions, glibc},
        {"mutex-release", entries, unlock, any},
        {"mutex-release.cond", entries, conditions, glibc},
        {"mutex-error", returns, locks, any},
        {"mutex-error", returns, trylock, glibc},
        {"mutex-error.unlock", returns, unlock, any},
        {"rw-begin.read", entries, reads, any, hidden},
        {"rw-begin.read", entries, tryread, glibc, hidden},
        {"rw-begin.tryread", entries, tryread, other, hidden},
        {"rw-begin.write", entries, writes, any, hidden},
        {"rw-begin.write", entries, trywrite, glibc, hidden},
        {"rw-begin.trywrite", entries, trywrite, other, hidden},
        {"rw-begin.unlock", entries, rw_unlock, any, hidden},
        {"rw-wait", waits, {}, any, hidden},
        {"rw-acquire", returns, reads + writes, any},
        {"rw-acquire", returns, tryread + trywrite, glibc},
        {"rw-acquire.try", returns, tryread + trywrite, other},
        {"rw-block", waits, {}, any},
        {"rw-blocked", returns, reads + writes, any},
        {"rw-release", entries, rw_unlock, any},
        {"rw-error", returns, reads + writes, any},
        {"rw-error", returns, tryread + trywrite, glibc},
        {"rw-error.unlock", returns, rw_unlock, any}};
    return all;
}

ProviderAttributes PlockstatProvider::attributes() const
{
    constexpr Attributes evolving{Stability::Evolving, Stability::Evolving,
                                  DependencyClass::Isa};
    constexpr Attributes hidden{Stability::Private, Stability::Private,
                                DependencyClass::Unknown};
    return {evolving, hidden, hidden, evolving, evolving};
}

bool PlockstatProvider::may_mean(std::string_view provider)
{
    if (!provider.starts_with(prefix))
        return false;
    const std::string_view rest = provider.substr(prefix.size());
    return is_glob(rest) ||
           rest.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string_view PlockstatProvider::definition()
{
    return derived_definitions[0].second;
}

std::vector<std::string> PlockstatProvider::argument_types(const ProbeInfo& probe)
{
    static const std::map<std::string_view, std::size_t> n_ints{
        {"mutex-acquire", 2}, {"mutex-block", 0}, {"mutex-blocked", 1},
        {"mutex-release", 1}, {"mutex-error", 1}, {"rw-acquire", 1},
        {"rw-block", 1},      {"rw-blocked", 2},  {"rw-release", 1},
        {"rw-error", 2}};
    const auto known = n_ints.find(probe.name);
    if (known == n_ints.end())
        return {};
    std::vector<std::string> types{"void *"};
    types.resize(1 + known->second, "int");
    return types;
}

PlockstatProvider::Searched&
PlockstatProvider::searched_of(const ProcessSymbols& symbols)
{
    Searched& known = searched_[symbols.pid()];
    if (known.symbols != &symbols)
        known = {&symbols, {}, {}};
    for (auto& [of, modules] : known.modules)
        std::erase_if(modules, [&known](const Module* module) {
            if (module->live)
                return false;
            for (auto& [row, sites] : known.sites)
                std::erase_if(sites,
                              [module](TargetAddr at) { return module->contains(at); });
            return true;
        });
    return known;
}

// Returns the modules that implement the locks: those of libc and libpthread, or the
// program itself.
static std::vector<const Module*> lock_modules(const ProcessSymbols& symbols,
                                               const std::string& pattern)
{
    constexpr std::array<std::string_view, 4> libraries{"libc.so", "libpthread",
                                                        "ld-musl", "libc.musl"};
    std::vector<const Module*> found, program;
    for (const Module* module : symbols.match_modules(pattern)) {
        if (module->image == nullptr ||
            module->image->functions().find("pthread_mutex_lock") == nullptr)
            continue;
        const bool of_libc = std::ranges::any_of(libraries, [&](std::string_view name) {
            return module->name.starts_with(name);
        });
        if (of_libc)
            found.push_back(module);
        else if (module->is_main && module->image->facts().interpreter.empty())
            program.push_back(module);
    }
    return found.empty() ? program : found;
}

// Returns whether the dynamic linker has loaded the libraries of the program, or the
// program needs none.
static bool has_libraries(const ProcessSymbols& symbols)
{
    const Module* main = symbols.main_module();
    if (main == nullptr || main->image == nullptr ||
        main->image->facts().interpreter.empty())
        return true;
    const auto modules = symbols.modules();
    const auto n = std::ranges::count_if(
        modules, [](const Module* module) { return !module->is_vdso(); });
    return n > 2; // besides the program and the dynamic linker
}

// In glibc, each futex(2) call has a constant number, and no function with a row of
// rows() calls another one. In musl, pthread_cond_wait() calls pthread_mutex_unlock() and
// pthread_mutex_lock(), so it needs no probes.
static bool is_glibc(const Module& module)
{
    const FunctionTable& functions = module.image->functions();
    // A statically linked program contains only the functions that it needs.
    return functions.find("gnu_get_libc_version") != nullptr ||
           functions.find("__lll_lock_wait") != nullptr ||
           functions.find("__pthread_mutex_cond_lock") != nullptr ||
           module.name.starts_with("libpthread");
}

// Returns whether a call with an unknown number may be a wait for a lock. In musl, locks
// wait through internal functions that make any call, such as __syscall_cp_asm(). In
// glibc, their calls have constant numbers.
static bool may_wait_for_locks(const Module& module, const Function* function)
{
    if (is_glibc(module))
        return false;
    if (function == nullptr)
        return true;
    const FunctionName& name = module.image->functions().names(*function).front();
    return name.from_frame || name.text.starts_with("__");
}

namespace {

// Finds the instructions that leave a function, and those of functions with which it
// ends.
class Returns {
public:
    // `jump_leaves` says whether a jump to a function of `stops` is such an instruction.
    // The functions of `stops` are not searched.
    Returns(const Module& module, TargetAddr entry, std::set<const Function*> stops,
            bool jump_leaves)
        : module_(module), entry_(entry), stops_(std::move(stops)),
          jump_leaves_(jump_leaves)
    {
    }

    std::vector<ProbeSite> of(const Function& function)
    {
        add(function);
        return std::move(sites_);
    }

private:
    void add(const Function& function)
    {
        constexpr std::size_t most_functions = 16;
        if (visited_.size() == most_functions || !visited_.insert(&function).second)
            return;
        ElfImage& image = *module_.image;
        auto text = image.bytes(function.addr, function.n_bytes);
        if (!text)
            return;
        auto read = [this, &image](TargetAddr from, std::span<std::byte> into) {
            auto bytes = image.bytes(module_.link_addr(from), into.size());
            if (bytes)
                std::memcpy(into.data(), bytes->data(), into.size());
            return bool(bytes);
        };
        const TargetAddr start = module_.target_addr(function.addr);
        auto found = analyze_function(x86_64, *text, start, read);
        if (!found)
            return;
        for (const ReturnSite& site : found->returns) {
            const Function* to = nullptr;
            if (site.kind == ReturnSite::tail_jump ||
                site.kind == ReturnSite::tail_branch)
                to = image.functions().at(module_.link_addr(site.target));
            const bool stops = stops_.contains(to);
            if (site.kind == ReturnSite::ret || (stops && jump_leaves_))
                sites_.push_back({start + site.offset, ProbeSiteKind::Return,
                                  static_cast<std::int64_t>(start.value + site.offset -
                                                            entry_.value)});
            if (to != nullptr && !stops)
                add(*to);
        }
    }

    const Module& module_;
    const TargetAddr entry_;
    const std::set<const Function*> stops_;
    const bool jump_leaves_;
    std::set<const Function*> visited_;
    std::vector<ProbeSite> sites_;
};

} // namespace

// Returns the calls that may be futex(2), by the names of their functions.
std::map<std::string, std::vector<ProbeSite>>
PlockstatProvider::wait_sites(const Module& module)
{
    std::map<std::string, std::vector<ProbeSite>> sites;
    const ExtentMap* extents = probes_.extents().of(module.image);
    if (extents == nullptr)
        return sites;
    const FunctionTable& functions = module.image->functions();
    auto [known, is_new] = places_.try_emplace(module.image);
    if (is_new)
        known->second = call_places(*module.image, *extents);
    for (const CallPlace& place : known->second) {
        const Function* function = functions.at(place.at.value);
        if (place.number != SYS_futex &&
            !(place.makes_any && may_wait_for_locks(module, function)))
            continue;
        const auto offset =
            function == nullptr
                ? std::int64_t{0}
                : static_cast<std::int64_t>(place.at.value - function->addr);
        // Internal functions of musl may have no names.
        const std::string name =
            function_name(function == nullptr ? "futex" : functions.name(*function));
        sites[name].push_back(
            {module.target_addr(place.at.value), ProbeSiteKind::Offset, offset});
    }
    return sites;
}

void PlockstatProvider::add_probe(const ProbeSpec& spec, const Row& row,
                                  const Module& module, const ProcessSymbols& symbols,
                                  const std::string& function,
                                  std::vector<ProbeSite> sites,
                                  std::vector<std::uint32_t>& ids)
{
    std::set<TargetAddr>& taken = searched_[symbols.pid()].sites[&row];
    std::erase_if(sites, [&taken](const ProbeSite& site) {
        return !taken.insert(site.at).second;
    });
    if (sites.empty())
        return;
    const std::uint32_t id = registry_.add(this, spec.provider, module_name(module),
                                           function, row.public_name());
    probes_.add(id, symbols.pid(), &module, std::move(sites));
    ids.push_back(id);
}

// Creates the probes of a row in a module.
void PlockstatProvider::add(const ProbeSpec& spec, const Row& row, const Module& module,
                            ProcessSymbols& symbols, Over over,
                            std::vector<std::uint32_t>& ids)
{
    if (row.libc != Libc::any && (row.libc == Libc::glibc) != is_glibc(module))
        return;
    Searched& searched = searched_of(symbols);
    auto is_wanted = [&](const std::string& function) {
        if (!part_means(spec.function, function))
            return false;
        const bool is_new = searched.modules[{&row, function}].insert(&module).second;
        if (is_new)
            return true;
        if (over == Over::all)
            if (const std::uint32_t id = registry_.find(
                    spec.provider, module_name(module), function, row.public_name());
                id != 0)
                ids.push_back(id);
        return false;
    };
    if (row.place == LockSites::waits) {
        for (auto& [function, sites] : wait_sites(module))
            if (is_wanted(function))
                add_probe(spec, row, module, symbols, function, std::move(sites), ids);
        return;
    }
    for (const std::string_view each : row.functions) {
        const std::string name(each);
        const Function* function = module.image->functions().find(name);
        if (function == nullptr || function->n_bytes == 0 || !is_wanted(name))
            continue;
        const TargetAddr entry = module.target_addr(function->addr);
        std::vector<ProbeSite> sites;
        if (row.place == LockSites::entries) {
            sites.push_back({entry, ProbeSiteKind::Entry, 0});
        } else {
            // In musl, the functions that do not wait have rows of their own.
            std::set<const Function*> stops;
            if (!is_glibc(module))
                for (const char* stop :
                     {"pthread_mutex_trylock", "pthread_rwlock_tryrdlock",
                      "pthread_rwlock_trywrlock"})
                    stops.insert(module.image->functions().find(stop));
            stops.erase(function);
            stops.erase(nullptr);
            const bool is_end = row.name == "nested-end";
            sites = Returns(module, entry, std::move(stops), is_end).of(*function);
        }
        add_probe(spec, row, module, symbols, name, std::move(sites), ids);
    }
}

Provider::Outcome PlockstatProvider::provide(const ProbeSpec& spec)
{
    return provide_over(spec, Over::all);
}

Provider::Outcome PlockstatProvider::provide_new(const ProbeSpec& spec)
{
    return provide_over(spec, Over::not_searched);
}

Provider::Outcome PlockstatProvider::provide_over(const ProbeSpec& spec, Over over)
{
    if (!may_mean(spec.provider))
        return {};
    const std::string_view digits =
        std::string_view(spec.provider).substr(prefix.size());
    pid_t pid = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), pid);
    if (error != std::errc{} || end != digits.data() + digits.size() || pid <= 0)
        return refuse(Tag::PROC_BADPID, spec,
                      "'" + spec.provider +
                          "' does not name a process: use plockstat$target with -p or "
                          "-c, or a name such as plockstat4711");
    std::vector<const Row*> wanted;
    Suggestions near(spec.name);
    for (const Row& row : rows()) {
        if (spec.name.find('.') != std::string::npos
                ? row.is_called(spec.name)
                : !row.is_hidden && part_means(spec.name, row.public_name()))
            wanted.push_back(&row);
        if (!row.is_hidden)
            near.consider(row.public_name());
    }
    if (wanted.empty())
        return refuse(Tag::PROC_NAME, spec,
                      "the plockstat provider has no probe '" + spec.name + "'" +
                          did_you_mean(near.nearest(1)));
    auto process = find_process_(pid);
    if (!process)
        return refuse(Tag::PROC_GRAB, spec,
                      "failed to grab process " + std::to_string(pid) + ": " +
                          process.error().text);
    Outcome outcome;
    outcome.mine = true;
    outcome.provided.retained = true; // libpthread may be loaded later
    const std::vector<const Module*> modules = lock_modules(**process, spec.module);
    ProbeSpec its = spec;
    its.provider = std::string(prefix) + std::to_string(pid);
    for (const Module* module : modules)
        for (const Row* row : wanted)
            add(its, *row, *module, **process, over, outcome.provided.ids);
    sort_ids(outcome.provided.ids);
    if (!modules.empty() || over == Over::not_searched || zdefs)
        return outcome;
    if (!spec.module.empty())
        return refuse(Tag::PROC_LIB, spec,
                      "no module '" + spec.module + "' of process " +
                          std::to_string(pid) +
                          " implements pthread_mutex_lock(); -Z waits for it to be "
                          "loaded");
    if (has_libraries(**process))
        return refuse(Tag::PROC_LIB, spec,
                      "process " + std::to_string(pid) +
                          " has no pthread_mutex_lock(): it has no symbols, or does "
                          "not use POSIX threads");
    return outcome;
}

} // namespace dt
