// SPDX-License-Identifier: MIT
// Text to a program of this session: options for the compiler, probes for its descriptions.
#include "libdtrace/session/session.hpp"

#include "libdtrace/session/debug.hpp"
#include "libdtrace/session/libraries.hpp"
#include "libdtrace/session/preprocess.hpp"
#include "libdtrace/symbols/debug/debug_folders.hpp"
#include "libdtrace/symbols/glob.hpp"
#include "libdtrace/symbols/suggest.hpp"

#include <algorithm>
#include <ranges>
#include <charconv>
#include <cstring>
#include <sys/resource.h>
#include <unistd.h>

using dt::Diagnostic;
using dt::ProbeMatch;
using dt::ProbeSpec;

static std::string key_of(const ProbeSpec& spec)
{
    return spec.provider + ":" + spec.module + ":" + spec.function + ":" + spec.name +
           "#" + std::to_string(spec.id);
}

std::variant<ProbeMatch, Diagnostic> dtrace_hdl::match(const ProbeSpec& spec)
{
    ProbeMatch match;
    if (spec.id != 0) {
        if (!registry.has(spec.id))
            return Diagnostic{dt::Tag::PDESC_INVAL, spec.at,
                              "invalid probe identifier " + std::to_string(spec.id) +
                                  ": Unknown probe identifier",
                              ""};
        match.ids.push_back(spec.id);
        return match;
    }
    auto known = matches.find(key_of(spec));
    if (known != matches.end())
        return known->second;

    bool mine = false;
    for (dt::Provider* provider : providers) {
        dt::Provider::Outcome outcome = provider->provide(spec);
        if (outcome.refused)
            return *outcome.refused;
        if (!outcome.mine)
            continue;
        mine = true;
        const std::vector<std::uint32_t>& ids = outcome.provided.ids;
        match.ids.insert(match.ids.end(), ids.begin(), ids.end());
        match.retained = match.retained || outcome.provided.retained;
        // p*d4711 matches the provider pid4711, and may also match static probes.
        if (provider != &pid_provider || !dt::is_glob(spec.provider))
            break;
    }
    if (mine && dt::is_glob(spec.provider))
        dt::sort_ids(match.ids);
    if (!mine)
        match.ids =
            registry.match(spec.provider, spec.module, spec.function, spec.name);
    if (match.ids.empty() && !match.retained) {
        std::string why = why_not_in_process(spec);
        if (why.empty())
            why = hint_for(spec) + looked_at(spec);
        return Diagnostic{dt::Tag::PDESC_ZERO, spec.at,
                          "probe description " + spec.provider + ":" + spec.module +
                              ":" + spec.function + ":" + spec.name +
                              " does not match any probes" + why,
                          ""};
    }
    matches[key_of(spec)] = match;
    return match;
}

// app4711: a process of that pid may have other probes, or may not be looked at.
std::string dtrace_hdl::why_not_in_process(const ProbeSpec& spec)
{
    std::size_t digits = spec.provider.find_last_not_of("0123456789") + 1;
    pid_t pid = 0;
    const char* end = spec.provider.data() + spec.provider.size();
    if (digits == 0 || !may_be_static(spec) ||
        std::from_chars(spec.provider.data() + digits, end, pid).ptr != end)
        return "";
    auto looked = processes.look_at(pid);
    if (looked || looked.error().code != dt::Code::permission)
        return "";
    return "; process " + std::to_string(pid) +
           " may not be looked at: that takes its user, or root";
}

std::string dtrace_hdl::hint_for(const ProbeSpec& spec)
{
    if (dt::is_kernel_provider(spec.provider))
        return kernel_hint(spec);
    if (std::string hint = usdt_provider.hint(spec); !hint.empty())
        return hint;
    dt::Suggestions near(spec.name);
    for (std::uint32_t id = 1; id <= registry.size(); id++)
        if (spec.provider.empty() || registry.at(id).provider == spec.provider)
            near.consider(registry.at(id).name);
    auto nearest = near.nearest(1);
    if (!spec.name.empty() && !nearest.empty() && nearest[0] != spec.name)
        return dt::did_you_mean(nearest);
    return "";
}

// Static probes of whom would have matched, where the session has no processes.
std::string dtrace_hdl::looked_at(const ProbeSpec& spec)
{
    const bool is_pattern = spec.provider.find_last_of("*?[") != std::string::npos;
    if (!may_be_static(spec) ||
        spec.provider.find_first_not_of('*') == std::string::npos ||
        !usdt_candidates(false).empty())
        return "";
    auto processes_text = [](std::size_t n) {
        return std::to_string(n) + (n == 1 ? " process" : " processes");
    };
    const auto all = processes.everybody();
    auto has_program = [](const dt::ProcessSymbols* p) {
        return !p->modules().empty();
    };
    const auto n =
        static_cast<std::size_t>(std::count_if(all.begin(), all.end(), has_program));
    std::string hidden;
    if (int n_hidden = processes.n_forbidden(); n_hidden != 0)
        hidden = processes_text(static_cast<std::size_t>(n_hidden)) +
                 " may not be: that takes their user, or root";
    if (!is_pattern) // any name at all, mistyped
        return hidden.empty() || ::geteuid() == 0
                   ? ""
                   : "; of the processes that run now, " + hidden;
    std::string text = "; " + processes_text(n) + " that run now were looked at";
    if (!hidden.empty())
        text += ", " + hidden;
    return text + "; name others with -p or -c";
}

static std::optional<std::uint64_t> macro_value(dtrace_hdl& session,
                                                std::string_view name)
{
    auto number = [](auto n) { return static_cast<std::uint64_t>(n); };
    if (name == "target")
        return session.processes.target();
    if (name == "pid")
        return number(::getpid());
    if (name == "ppid")
        return number(::getppid());
    if (name == "pgid")
        return number(::getpgid(0));
    if (name == "sid")
        return number(::getsid(0));
    if (name == "uid")
        return number(::getuid());
    if (name == "euid")
        return number(::geteuid());
    if (name == "gid")
        return number(::getgid());
    if (name == "egid")
        return number(::getegid());
    if (name == "projid" || name == "taskid")
        return 0;
    return std::nullopt;
}

static void allow_core()
{
    rlimit core{};
    if (::getrlimit(RLIMIT_CORE, &core) == 0) {
        core.rlim_cur = core.rlim_max;
        ::setrlimit(RLIMIT_CORE, &core);
    }
}

static std::string option_refusal(dt::Options::Refused refused, std::string_view name)
{
    switch (refused) {
    case dt::Options::Refused::name:
        return "Invalid option name" + dt::did_you_mean(dt::Options::suggest(name));
    case dt::Options::Refused::value:
        if (std::string choices = dt::Options::choices(name); !choices.empty())
            return "Invalid value for specified option: it is " + choices;
        return "Invalid value for specified option";
    case dt::Options::Refused::context:
        return "Operation illegal when tracing is active";
    case dt::Options::Refused::unsupported:
        return "Option is not supported";
    case dt::Options::Refused::version_malformed:
        return dtrace_errmsg(nullptr, EDT_VERSINVAL);
    case dt::Options::Refused::version_undefined:
        return dtrace_errmsg(nullptr, EDT_VERSUNDEF);
    case dt::Options::Refused::version_raised:
        return dtrace_errmsg(nullptr, EDT_VERSREDUCED);
    case dt::Options::Refused::none:
        break;
    }
    return "";
}

dt::Options::Refused dtrace_hdl::take_option(std::string_view name,
                                             std::string_view value)
{
    auto refused = options.set(name, value, active);
    if (refused == dt::Options::Refused::none) {
        if (name == "debug")
            _dtrace_debug = options.flags.debug;
        else if (name == "core" && options.flags.core)
            allow_core();
        else if (name == "debugdir")
            for (auto folder : std::views::split(value, ':'))
                dt::add_debug_folder({folder.begin(), folder.end()});
        else if (name == "pgmax")
            processes.keep_at_most(static_cast<std::size_t>(options.pgmax));
    }
    dt::debug("option %.*s=%.*s%s", static_cast<int>(name.size()), name.data(),
              static_cast<int>(value.size()), value.data(),
              refused == dt::Options::Refused::none ? "" : ": refused");
    return refused;
}

int dtrace_hdl::set_option(const char* name, const char* value)
{
    auto refused = take_option(name, value == nullptr ? "" : value);
    switch (refused) {
    case dt::Options::Refused::none:
        if (consumer)
            apply_display();
        return 0;
    case dt::Options::Refused::name:
        return fail(EDT_BADOPTNAME, option_refusal(refused, name));
    case dt::Options::Refused::value:
        return fail(EDT_BADOPTVAL, option_refusal(refused, name));
    case dt::Options::Refused::unsupported:
        return fail(ENOTSUP, option_refusal(refused, name));
    case dt::Options::Refused::version_malformed:
        return fail(EDT_VERSINVAL);
    case dt::Options::Refused::version_undefined:
        return fail(EDT_VERSUNDEF);
    case dt::Options::Refused::version_raised:
        return fail(EDT_VERSREDUCED);
    case dt::Options::Refused::context:
        return fail(EDT_ACTIVE);
    }
    return 0;
}

// What is done before a program is parsed: its own pragmas come too late for that.
static bool is_past(std::string_view option)
{
    static constexpr std::string_view before[] = {
        "cpp",    "cppargs", "cpphdrs", "cpppath",   "define", "undef",
        "incdir", "stdc",    "libdir",  "syslibdir", "nolibs"};
    return std::find(std::begin(before), std::end(before), option) != std::end(before);
}

// Those of the session, for a program or a library.
dt::CompileOptions dtrace_hdl::compile_options(uint_t cflags)
{
    dt::CompileOptions to;
    to.strsize = options.run_time(DTRACEOPT_strsize);
    to.n_registers = options.iregs;
    to.n_tuple_registers = options.tregs;
    to.zdefs = (cflags & DTRACE_C_ZDEFS) != 0 || options.flags.zdefs;
    to.empty = (cflags & DTRACE_C_EMPTY) != 0 || options.flags.empty;
    to.argref = (cflags & DTRACE_C_ARGREF) != 0 || options.flags.argref;
    to.defaultargs = (cflags & DTRACE_C_DEFARG) != 0 || options.flags.defaultargs;
    to.pspec = (cflags & DTRACE_C_PSPEC) != 0 || options.flags.pspec;
    to.version = options.version();
    to.amin = options.amin();
    to.ustackframes =
        static_cast<std::uint32_t>(options.run_time(DTRACEOPT_ustackframes));
    to.stackframes =
        static_cast<std::uint32_t>(options.run_time(DTRACEOPT_stackframes));
    to.jstackframes =
        static_cast<std::uint32_t>(options.run_time(DTRACEOPT_jstackframes));
    to.jstackstrsize =
        static_cast<std::uint32_t>(options.run_time(DTRACEOPT_jstackstrsize));
    if (options.is_set(DTRACEOPT_maxframes))
        to.maxframes =
            static_cast<std::uint32_t>(options.run_time(DTRACEOPT_maxframes));
    to.macro_value = [this](std::string_view name) { return macro_value(*this, name); };
    to.set_option = [this](std::string_view name,
                           std::string_view value) -> std::optional<std::string> {
        if (is_past(name))
            return "it comes too late in a program: -x " + std::string(name) +
                   " on the command line";
        auto refused = take_option(name, value);
        if (refused == dt::Options::Refused::none)
            return std::nullopt;
        return option_refusal(refused, name);
    };
    to.dependency = [this](std::string_view kind, std::string_view name) {
        if (kind == "member")
            return kernel_has_member(name);
        if (kind == "symbol")
            return bool(processes.kernel().find("", name));
        if (kind == "library")
            return kernel_libraries.tried.contains(name) ||
                   std::find(libraries.begin(), libraries.end(), name) !=
                       libraries.end();
        for (const dt::Provider* provider : providers)
            if (kind == "provider" && provider->name() == name)
                return true;
        for (std::uint32_t id = 1; registry.has(id); id++)
            if ((kind == "provider" && registry.at(id).provider == name) ||
                (kind == "module" && registry.at(id).module == name))
                return true;
        return false;
    };
    to.match = [this](const ProbeSpec& probe) { return match(probe); };
    to.stability = [this](std::span<const std::uint32_t> ids) {
        return stability_of(ids);
    };
    to.symbol = [this](std::string_view scope, std::string_view symbol) {
        return symbol_address(scope, symbol);
    };
    to.modules = [this](std::string_view scope) { return modules_of(scope); };
    know_kernel(to);
    to.probed_function = [this](std::uint32_t id) { return probed_function(id); };
    return to;
}

// No program can cause them: the checker lets nothing through of which they speak.
static bool is_internal(dt::Tag tag)
{
    return tag == dt::Tag::UNKNOWN || tag == dt::Tag::ASRELO || tag == dt::Tag::CG_DYN;
}

static std::string text_of(const Diagnostic& diagnostic, bool with_tag, bool one_line)
{
    std::string text =
        with_tag ? std::string("[") + dt::tag_name(diagnostic.tag) + "] " : "";
    if (!diagnostic.source.empty())
        text += "\"" + diagnostic.source + "\", ";
    // Text of -n has one line: its number would say nothing.
    if (diagnostic.at.line > 0 && !(one_line && diagnostic.source.empty()))
        text += "line " + std::to_string(diagnostic.at.line) + ": ";
    else if (diagnostic.tag == dt::Tag::EMPTY && !one_line)
        text += "line : ";
    return text + diagnostic.text;
}

// Once; what failed is tried again by the next program. One that depends on a module or
// provider that is not there is passed over.
int dtrace_hdl::load_libraries(uint_t cflags)
{
    if (options.flags.nolibs || (cflags & DTRACE_C_NOLIBS) != 0)
        return 0;
    std::vector<std::string> folders = options.libdir;
    if (auto system = options.text.find("syslibdir"); system != options.text.end())
        folders.insert(folders.begin(), system->second);
    if (folders == library_folders)
        return 0;
    auto found = dt::libraries_in(folders);
    if (!found) {
        bool tagged = options.flags.errtags && found.error().code == dt::Code::invalid;
        return fail(EDT_COMPILER,
                    (tagged ? "[D_PRAGMA_DEPEND] " : "") + found.error().text);
    }
    for (const dt::Library& library : *found) {
        if (std::find(libraries.begin(), libraries.end(), library.name()) !=
            libraries.end())
            continue;
        dt::CompileOptions to = compile_options(cflags);
        to.library = to.empty = true;
        to.amin.reset(); // it is what uses the library that is judged
        to.source_name = library.path;
        auto compiled = compiler->compile(library.text, to);
        auto* diagnostic = std::get_if<Diagnostic>(&compiled);
        if (diagnostic != nullptr && diagnostic->tag == dt::Tag::PRAGMA_DEPEND) {
            dt::debug("library %s: passed over: %s", library.path.c_str(),
                      diagnostic->text.c_str());
            continue;
        }
        if (diagnostic != nullptr)
            return fail(EDT_COMPILER,
                        text_of(*diagnostic, options.flags.errtags, false));
        libraries.push_back(library.name());
        dt::debug("library %s: compiled", library.path.c_str());
    }
    library_folders = std::move(folders);
    return 0;
}

static dt::Preprocessor preprocessor_of(const dt::Options& options)
{
    auto text_of = [&options](std::string_view name, std::string otherwise) {
        auto set = options.text.find(name);
        return set != options.text.end() ? set->second : std::move(otherwise);
    };
    dt::Preprocessor by;
    by.path = text_of("cpppath", by.path);
    by.define = options.define;
    by.undef = options.undef;
    by.incdir = options.incdir;
    by.arguments = text_of("cppargs", "");
    by.list_headers = options.flags.cpphdrs;
    const dt::Version version = options.version();
    by.version = std::uint32_t{version.major} << 24 |
                 std::uint32_t{version.minor} << 12 | version.micro;
    by.dialect = text_of("stdc", "a")[0];
    return by;
}

dt::Compiler& dtrace_hdl::the_compiler()
{
    if (!compiler)
        compiler = std::make_unique<dt::Compiler>(options.run_time(DTRACEOPT_strsize));
    return *compiler;
}

dtrace_prog* dtrace_hdl::compile(std::string_view text, const std::string& source_name,
                                 dtrace_probespec_t spec, uint_t cflags, int argc,
                                 char* const argv[], bool string_program)
{
    dtrace_prog::Source source{std::string(text), source_name, spec, cflags,
                               string_program,    {}};
    source.arguments.assign(argv, argv + argc);
    std::string preprocessed;
    if ((cflags & DTRACE_C_CPP) != 0 || options.flags.cpp) {
        auto done = dt::preprocess(preprocessor_of(options), text, source_name);
        if (!done) {
            const dt::Error& error = done.error();
            fail(error.code == dt::Code::not_found ? EDT_CPPENT
                 : error.code == dt::Code::invalid ? EDT_CPPERR
                                                   : EDT_CPPEXEC,
                 error.text);
            return nullptr;
        }
        preprocessed = std::move(*done);
        text = preprocessed;
    }
    the_compiler();
    if (load_libraries(cflags) != 0)
        return nullptr;
    dt::CompileOptions to = compile_options(cflags);
    to.string_program = string_program;
    to.keep_text = (cflags & DTRACE_C_SUGAR) != 0;
    switch (spec) {
    case DTRACE_PROBESPEC_PROVIDER:
        to.field = dt::SpecField::Provider;
        break;
    case DTRACE_PROBESPEC_MOD:
        to.field = dt::SpecField::Module;
        break;
    case DTRACE_PROBESPEC_FUNC:
        to.field = dt::SpecField::Function;
        break;
    default:
        to.field = dt::SpecField::Name;
        break;
    }
    to.source_name = source_name;
    for (int i = 0; i < argc; i++)
        to.macro_args.emplace_back(argv[i]);

    matches.clear();
    pid_provider.zdefs = to.zdefs;
    pid_provider.plants = nullptr;
    if ((cflags & DTRACE_C_NOENABLE) == 0)
        pid_provider.plants = [this](std::size_t n_sites, unsigned n_threads) {
            if (n_sites > std::exchange(n_foreseen, std::max(n_sites, n_foreseen)))
                expect(n_sites, 1 + n_threads);
        };
    auto compiled = compiler->compile(text, to);
    while (std::holds_alternative<Diagnostic>(compiled) && load_kernel_libraries(text))
        compiled = compiler->compile(text, to);
    if (auto* diagnostic = std::get_if<Diagnostic>(&compiled)) {
        if (is_internal(diagnostic->tag))
            internal_error(text_of(*diagnostic, true, false));
        error_quote =
            diagnostic->source.empty() ? dt::quote_source(text, diagnostic->at) : "";
        fail(EDT_COMPILER, text_of(*diagnostic, options.flags.errtags, string_program));
        return nullptr;
    }
    auto prog = std::make_unique<dtrace_prog>();
    prog->source = std::move(source);
    prog->program =
        std::make_shared<dt::Program>(std::get<dt::Program>(std::move(compiled)));
    for (const dt::CompiledClause& clause : prog->program->clauses) {
        std::vector<std::uint32_t> ids;
        for (const ProbeSpec& probe : clause.probes) {
            auto found = match(probe);
            if (auto* hit = std::get_if<ProbeMatch>(&found))
                ids.insert(ids.end(), hit->ids.begin(), hit->ids.end());
        }
        prog->matched.push_back(std::move(ids));
    }
    dt::debug("compiled %s: %zu clauses, %zu probes known",
              source_name.empty() ? "a program" : source_name.c_str(),
              prog->program->clauses.size(), registry.size());
    programs.push_back(std::move(prog));
    return programs.back().get();
}
