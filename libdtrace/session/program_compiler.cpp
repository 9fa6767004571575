// SPDX-License-Identifier: MIT
#include "libdtrace/session/program_compiler.hpp"

#include "base/printable.hpp"
#include "libdtrace/session/debug.hpp"
#include "libdtrace/session/option_changes.hpp"
#include "libdtrace/session/sources/libraries.hpp"
#include "libdtrace/session/sources/preprocess.hpp"

#include <algorithm>
#include <iterator>
#include <unistd.h>
#include <unordered_set>
#include <utility>

namespace dt {

std::optional<std::uint64_t> ProgramCompiler::macro_value(std::string_view name)
{
    auto number = [](auto n) { return static_cast<std::uint64_t>(n); };
    if (name == "target")
        return s_.processes.target();
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

// Returns whether an option takes effect before a pragma in the program can set it.
static bool is_past(std::string_view option)
{
    static constexpr std::string_view before[] = {
        "cpp",    "cppargs", "cpphdrs", "cpppath",   "define", "undef",
        "incdir", "stdc",    "libdir",  "syslibdir", "nolibs"};
    return std::find(std::begin(before), std::end(before), option) != std::end(before);
}

std::optional<std::string> ProgramCompiler::set_option(std::string_view name,
                                                       std::string_view value)
{
    if (is_past(name))
        return "it has no effect in a program: use -x " + std::string(name) +
               " on the command line";
    auto refused = change_option(s_, name, value);
    if (refused == Options::Refused::none)
        return std::nullopt;
    return refusal_text(refused, name);
}

bool ProgramCompiler::has_provider(std::string_view name)
{
    if (s_.providers.has(name))
        return true;
    for (std::uint32_t id = 1; s_.registry.has(id); id++)
        if (s_.registry.at(id).provider == name)
            return true;
    return false;
}

bool ProgramCompiler::has_dependency(std::string_view kind, std::string_view name)
{
    if (kind == "member")
        return kernel_.has_member(name);
    if (kind == "symbol")
        return kernel_.has_symbol(name);
    if (kind == "library")
        return kernel_.has_tried(name) ||
               std::find(libraries_.begin(), libraries_.end(), name) !=
                   libraries_.end();
    if (kind == "provider")
        return has_provider(name);
    for (std::uint32_t id = 1; s_.registry.has(id); id++)
        if (kind == "module" && s_.registry.at(id).module == name)
            return true;
    return false;
}

std::optional<Environment::Match> ProgramCompiler::match(const ProbeSpec& spec)
{
    return matcher_.match(spec);
}

bool ProgramCompiler::has_recorded_stack(const ProbeSpec& spec)
{
    if (spec.name.starts_with("profile-"))
        return s_.can_sample_machine();
    const bool fires_in_targets =
        prefers_targets(spec.provider) && s_.has_own_targets();
    return is_recorded_provider(spec.provider) && !fires_in_targets &&
           s_.can_record_events();
}

std::string_view ProgramCompiler::derived_probes(std::string_view provider)
{
    return PlockstatProvider::may_mean(provider) ? PlockstatProvider::definition() : "";
}

std::optional<Environment::Probed> ProgramCompiler::probed_function(std::uint32_t id)
{
    return names_.probed_function(id);
}

std::optional<std::uint64_t> ProgramCompiler::symbol(std::string_view object,
                                                     std::string_view name)
{
    return names_.symbol_address(object, name);
}

Environment::Modules ProgramCompiler::modules(std::string_view scope)
{
    return names_.modules_of(scope);
}

bool ProgramCompiler::is_kernel_module(std::string_view scope)
{
    return kernel_.is_module(scope);
}

Result<std::vector<TargetModule>>
ProgramCompiler::kernel_modules(std::string_view scope)
{
    return kernel_.modules(scope);
}

Result<KernelSymbol> ProgramCompiler::kernel_symbol(std::string_view module,
                                                    std::string_view name)
{
    return kernel_.symbol(module, name);
}

CompileOptions ProgramCompiler::compile_options(uint_t cflags)
{
    CompileOptions to;
    to.strsize = s_.options.run_time(DTRACEOPT_strsize);
    to.n_registers = s_.options.iregs;
    to.n_tuple_registers = s_.options.tregs;
    to.zdefs = (cflags & DTRACE_C_ZDEFS) != 0 || s_.options.flags.zdefs;
    to.empty = (cflags & DTRACE_C_EMPTY) != 0 || s_.options.flags.empty;
    to.argref = (cflags & DTRACE_C_ARGREF) != 0 || s_.options.flags.argref;
    to.defaultargs = (cflags & DTRACE_C_DEFARG) != 0 || s_.options.flags.defaultargs;
    to.pspec = (cflags & DTRACE_C_PSPEC) != 0 || s_.options.flags.pspec;
    to.version = s_.options.version();
    to.amin = s_.options.amin();
    to.ustackframes =
        static_cast<std::uint32_t>(s_.options.run_time(DTRACEOPT_ustackframes));
    to.stackframes =
        static_cast<std::uint32_t>(s_.options.run_time(DTRACEOPT_stackframes));
    to.jstackframes =
        static_cast<std::uint32_t>(s_.options.run_time(DTRACEOPT_jstackframes));
    to.jstackstrsize =
        static_cast<std::uint32_t>(s_.options.run_time(DTRACEOPT_jstackstrsize));
    if (s_.options.is_set(DTRACEOPT_maxframes))
        to.maxframes =
            static_cast<std::uint32_t>(s_.options.run_time(DTRACEOPT_maxframes));
    to.environment = this;
    to.kernel = s_.kernel.has_value();
    return to;
}

// Returns whether the error is most likely a defect of the compiler.
static bool is_internal(Tag tag)
{
    return tag == Tag::UNKNOWN || tag == Tag::ASRELO;
}

static std::string text_of(const Diagnostic& diagnostic, bool with_tag, bool one_line)
{
    std::string text =
        with_tag ? std::string("[") + tag_name(diagnostic.tag) + "] " : "";
    if (!diagnostic.source.empty())
        text += "\"" + diagnostic.source + "\", ";
    // Text of one line, as with -n, needs no line number.
    if (diagnostic.at.line > 0 && !(one_line && diagnostic.source.empty()))
        text += "line " + std::to_string(diagnostic.at.line) + ": ";
    else if (diagnostic.tag == Tag::EMPTY && !one_line)
        text += "line : ";
    return text + diagnostic.text;
}

// Compiles the D libraries in the system's directory and the -L directories, once.
// Skips libraries that depend on missing modules or providers. Returns 0. If a library
// has an error, stores the error and returns -1, and the next program tries again.
int ProgramCompiler::load_libraries(uint_t cflags)
{
    if (s_.options.flags.nolibs || (cflags & DTRACE_C_NOLIBS) != 0)
        return 0;
    std::vector<std::string> folders = s_.options.libdir;
    if (auto system = s_.options.text.find("syslibdir");
        system != s_.options.text.end())
        folders.insert(folders.begin(), system->second);
    if (folders == library_folders_)
        return 0;
    auto found = libraries_in(folders);
    if (!found) {
        bool tagged = s_.options.flags.errtags && found.error().code == Code::invalid;
        return s_.fail(EDT_COMPILER,
                       (tagged ? "[D_PRAGMA_DEPEND] " : "") + found.error().text);
    }
    for (const Library& library : *found) {
        if (std::find(libraries_.begin(), libraries_.end(), library.name()) !=
            libraries_.end())
            continue;
        CompileOptions to = compile_options(cflags);
        to.library = to.empty = true;
        to.amin.reset(); // -x amin is checked only for programs
        to.source_name = library.path;
        auto compiled = compiler_->compile(library.text, to);
        auto* diagnostic = std::get_if<Diagnostic>(&compiled);
        if (diagnostic != nullptr && diagnostic->tag == Tag::PRAGMA_DEPEND) {
            debug("library %s: skipped: %s", library.path.c_str(),
                  diagnostic->text.c_str());
            continue;
        }
        if (diagnostic != nullptr)
            return s_.fail(EDT_COMPILER,
                           text_of(*diagnostic, s_.options.flags.errtags, false));
        libraries_.push_back(library.name());
        debug("library %s: compiled", library.path.c_str());
    }
    library_folders_ = std::move(folders);
    return 0;
}

bool ProgramCompiler::load_kernel_libraries(std::string_view refused)
{
    return kernel_.load_libraries(
        refused, [this](std::string_view text, const std::string& name) {
            CompileOptions to = compile_options(0);
            to.library = to.empty = true;
            to.amin.reset(); // -x amin is checked only for programs
            to.source_name = name;
            return compiler().compile(text, to);
        });
}

static Preprocessor preprocessor_of(const Options& options)
{
    auto text_of = [&options](std::string_view name, std::string otherwise) {
        auto set = options.text.find(name);
        return set != options.text.end() ? set->second : std::move(otherwise);
    };
    Preprocessor by;
    by.path = text_of("cpppath", by.path);
    by.define = options.define;
    by.undef = options.undef;
    by.incdir = options.incdir;
    by.arguments = text_of("cppargs", "");
    by.list_headers = options.flags.cpphdrs;
    const Version version = options.version();
    by.version = std::uint32_t{version.major} << 24 |
                 std::uint32_t{version.minor} << 12 | version.micro;
    by.dialect = text_of("stdc", "a")[0];
    return by;
}

Compiler& ProgramCompiler::compiler()
{
    if (!compiler_)
        compiler_ = std::make_unique<Compiler>(s_.options.run_time(DTRACEOPT_strsize));
    return *compiler_;
}

void ProgramCompiler::announce_sites(std::size_t n_sites, unsigned n_threads)
{
    if (n_sites <=
        std::exchange(n_announced_sites_, std::max(n_sites, n_announced_sites_)))
        return;
    if (AgentClient* agent = s_.processes.agents().at(0);
        agent != nullptr && n_sites >= many_sites)
        agent->expect(n_sites, 1 + n_threads);
}

dtrace_prog* ProgramCompiler::compile(std::string_view text,
                                      const std::string& source_name,
                                      dtrace_probespec_t spec, uint_t cflags, int argc,
                                      char* const argv[], bool string_program)
{
    dtrace_prog::Source source{std::string(text), source_name, spec, cflags,
                               string_program,    {}};
    source.arguments.assign(argv, argv + argc);
    std::string preprocessed;
    if ((cflags & DTRACE_C_CPP) != 0 || s_.options.flags.cpp) {
        auto done = preprocess(preprocessor_of(s_.options), text, source_name);
        if (!done) {
            const Error& error = done.error();
            s_.fail(error.code == Code::not_found ? EDT_CPPENT
                    : error.code == Code::invalid ? EDT_CPPERR
                                                  : EDT_CPPEXEC,
                    error.text);
            return nullptr;
        }
        preprocessed = std::move(*done);
        text = preprocessed;
    }
    compiler();
    if (load_libraries(cflags) != 0)
        return nullptr;
    CompileOptions to = compile_options(cflags);
    to.string_program = string_program;
    to.keep_text = (cflags & DTRACE_C_SUGAR) != 0;
    switch (spec) {
    case DTRACE_PROBESPEC_PROVIDER:
        to.field = SpecField::Provider;
        break;
    case DTRACE_PROBESPEC_MOD:
        to.field = SpecField::Module;
        break;
    case DTRACE_PROBESPEC_FUNC:
        to.field = SpecField::Function;
        break;
    default:
        to.field = SpecField::Name;
        break;
    }
    to.source_name = source_name;
    for (int i = 0; i < argc; i++)
        to.macro_args.emplace_back(argv[i]);

    matcher_.clear();
    s_.providers.pid.zdefs = s_.providers.plockstat.zdefs = to.zdefs;
    s_.providers.pid.plants = nullptr;
    if ((cflags & DTRACE_C_NOENABLE) == 0)
        s_.providers.pid.plants = [this](std::size_t n_sites, unsigned n_threads) {
            announce_sites(n_sites, n_threads);
        };
    auto compiled = compiler_->compile(text, to);
    while (std::holds_alternative<Diagnostic>(compiled) && load_kernel_libraries(text))
        compiled = compiler_->compile(text, to);
    if (auto* diagnostic = std::get_if<Diagnostic>(&compiled)) {
        if (is_internal(diagnostic->tag))
            s_.internal_error(text_of(*diagnostic, true, false));
        s_.error_quote =
            diagnostic->source.empty() ? quote_source(text, diagnostic->at) : "";
        std::string why =
            text_of(*diagnostic, s_.options.flags.errtags, string_program);
        // A name may be unknown because a table was truncated.
        constexpr std::size_t most = 3;
        const std::vector<std::string> cuts = s_.processes.take_cuts();
        for (std::size_t i = 0; i < std::min(most, cuts.size()); i++)
            why += "; " + printable(cuts[i], Escaping::Names);
        s_.fail(EDT_COMPILER, std::move(why));
        return nullptr;
    }
    auto prog = std::make_unique<dtrace_prog>();
    prog->source = std::move(source);
    prog->program = std::make_shared<Program>(std::get<Program>(std::move(compiled)));
    for (const CompiledClause& clause : prog->program->clauses) {
        // A firing runs a clause once, even if several descriptions match the probe.
        std::vector<std::uint32_t> ids;
        std::unordered_set<std::uint32_t> known;
        for (const ProbeSpec& probe : clause.probes) {
            auto found = matcher_.match(probe);
            auto* hit = std::get_if<ProbeMatch>(&found);
            if (hit == nullptr)
                continue;
            if (clause.probes.size() == 1)
                ids = std::move(hit->ids);
            else
                std::copy_if(hit->ids.begin(), hit->ids.end(), std::back_inserter(ids),
                             [&](std::uint32_t id) { return known.insert(id).second; });
        }
        prog->matched.push_back(std::move(ids));
    }
    debug("compiled %s: %zu clauses, %zu probes known",
          source_name.empty() ? "a program" : source_name.c_str(),
          prog->program->clauses.size(), s_.registry.size());
    s_.programs.push_back(std::move(prog));
    return s_.programs.back().get();
}

ProviderAttributes ProgramCompiler::attributes_of_provider(const ProbeInfo& probe)
{
    ProviderAttributes parts = probe.owner->probe_attributes(probe);
    if (compiler_)
        compiler_->set_attributes(probe.provider, parts);
    return parts;
}

ProbeStability ProgramCompiler::stability(std::span<const std::uint32_t> ids)
{
    ProbeStability weak;
    // the previous probe, which usually has the same attributes
    const ProbeInfo* before = nullptr;
    for (std::uint32_t id : ids) {
        const ProbeInfo& probe = s_.registry.at(id);
        if (before == nullptr || !same_attributes(*before, probe)) {
            ProviderAttributes parts = attributes_of_provider(probe);
            weak.descriptions = weakest(weak.descriptions, attributes_of(probe, parts));
            weak.arguments = weakest(weak.arguments, parts.args);
        }
        before = &probe;
    }
    return weak;
}

} // namespace dt
