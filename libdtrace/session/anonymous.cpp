// SPDX-License-Identifier: MIT
#include "libdtrace/session/anonymous.hpp"

#include "libdtrace/providers/stable_provider.hpp"
#include "libdtrace/session/backends/kernel_backend.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

namespace dt {

namespace {

template <class T> void append(std::string& to, const T* from, std::size_t n)
{
    to.append(reinterpret_cast<const char*>(from), n * sizeof *from);
}

void append_text(std::string& to, std::string_view text)
{
    to.append(text).push_back('\0');
}

// Reads a sequence of NUL-terminated strings.
class Texts {
public:
    explicit Texts(std::string_view all) : left_(all) {}
    bool any() const { return !left_.empty(); }
    std::string next()
    {
        std::size_t end = std::min(left_.find('\0'), left_.size());
        std::string text(left_.substr(0, end));
        left_.remove_prefix(std::min(end + 1, left_.size()));
        return text;
    }
    unsigned long number() { return std::strtoul(next().c_str(), nullptr, 10); }

private:
    std::string_view left_;
};

std::string source_of(const dtrace_prog& prog)
{
    const dtrace_prog::Source& source = prog.source;
    std::string to;
    append_text(to, std::to_string(source.spec));
    append_text(to, std::to_string(source.cflags));
    append_text(to, std::to_string(source.is_string));
    append_text(to, source.name);
    append_text(to, source.text);
    append_text(to, std::to_string(source.arguments.size()));
    for (const std::string& argument : source.arguments)
        append_text(to, argument);
    return to;
}

struct Saved {
    // Maps the ids of probes in this session to their ids in the file.
    std::map<std::uint32_t, std::uint32_t> ids;
    std::string names, sites, texts;
    dtk_anonymous head{};
};

void save_probe(Saved& to, const ProbeInfo& probe, std::uint32_t id)
{
    if (!to.ids.try_emplace(id, to.head.n_probes + 1).second)
        return;
    to.head.n_probes++;
    for (std::string_view part :
         {probe.provider, probe.module, probe.function, probe.name})
        append_text(to.names, part);
}

} // namespace

int save_anonymous(SessionState& state, FILE* file)
{
    Saved to;
    std::string ecbs, programs, rest;
    for (std::uint32_t id : {probe_begin, probe_end, probe_error})
        save_probe(to, state.registry.at(id), id);
    std::uint32_t first_clause = 0;
    for (const Enabling& each : state.enabled) {
        auto dof = write_dof(*each.prog->program, 0);
        const dt_u64 n_bytes = dof.size();
        append(programs, &n_bytes, 1);
        append(programs, dof.data(), dof.size());
        programs.resize((programs.size() + 7) & ~std::size_t{7});
        rest += source_of(*each.prog);
        for (const auto& ids : each.prog->matched) {
            for (std::uint32_t id : ids) {
                if (state.probes.probe(id) != nullptr)
                    return state.fail(ENOTSUP,
                                      "probes in processes cannot be anonymous: no "
                                      "processes exist when anonymous tracing starts");
                save_probe(to, state.registry.at(id), id);
                const dtk_ecb ecb{to.ids[id], first_clause};
                append(ecbs, &ecb, 1);
            }
            first_clause++;
        }
    }
    auto save_site = [&](std::uint32_t id, const KernelSite& site) {
        dtk_site saved{};
        saved.probe = to.ids[id];
        saved.kind = site.kind;
        std::string name = site.name;
        const bool is_function =
            site.kind == DTK_FBT_ENTRY || site.kind == DTK_FBT_RETURN;
        const std::uint64_t addr = is_function                   ? site.where
                                   : site.kind == DTK_STABLE_ROW ? site.more
                                                                 : 0;
        if (addr != 0) {
            auto at = state.processes.kernel().at(addr);
            name = at ? at->name : std::string_view();
        } else {
            saved.more = site.more;
        }
        saved.where = is_function ? 0 : site.where;
        append(to.sites, &saved, 1);
        append_text(to.texts, name);
        to.head.n_sites++;
    };
    for (const auto& [id, saved] : to.ids)
        if (KernelProvider* owner = state.providers.of_kernel(id))
            for (const KernelSite& site : owner->sites(state.registry.at(id)))
                save_site(id, site);
    for (const auto& [id, timer] : state.providers.profile.timers())
        if (to.ids.count(id) != 0)
            save_site(
                id, {static_cast<std::uint32_t>(timer.per_cpu ? DTK_PROFILE : DTK_TICK),
                     timer.interval_ns, "", 0});

    dtk_anonymous& head = to.head;
    head.magic = DTK_ANONYMOUS_MAGIC;
    head.abi = DTK_ABI;
    head.arena_version = DT_ARENA_VERSION;
    head.n_rows = static_cast<dt_u32>(n_stable_rows());
    head.n_programs = static_cast<dt_u32>(state.enabled.size());
    head.n_ecbs = static_cast<dt_u32>(ecbs.size() / sizeof(dtk_ecb));
    head.programs_bytes = programs.size();
    head.names_bytes = to.names.size();
    head.texts_bytes = to.texts.size();
    head.rest_bytes = rest.size();
    head.config = kernel_arena_config(state);
    std::string all;
    append(all, &head, 1);
    all += ecbs + to.sites + programs + to.names + to.texts + rest;
    if (std::fwrite(all.data(), 1, all.size(), file) != all.size())
        return state.fail(errno, "write the anonymous enabling");
    return 0;
}

// Compiles the saved sources. `programs` contains the saved DOF of each program. Fails
// if the new DOF is different.
static int recompile(SessionState& state, ProgramCompiler& compiler,
                     std::string_view programs, std::string_view sources)
{
    std::uint32_t first_clause = 0;
    for (Texts texts(sources); texts.any();) {
        const auto spec = static_cast<dtrace_probespec_t>(texts.number());
        const auto cflags = static_cast<uint_t>(texts.number()) | DTRACE_C_ZDEFS;
        const bool is_string = texts.number() != 0;
        const std::string name = texts.next(), text = texts.next();
        std::vector<std::string> arguments(std::min(texts.number(), 4096ul));
        std::vector<char*> argv;
        for (std::string& argument : arguments) {
            argument = texts.next();
            argv.push_back(argument.data());
        }
        dtrace_prog* prog =
            compiler.compile(text, name, spec, cflags, static_cast<int>(argv.size()),
                             argv.data(), is_string);
        if (prog == nullptr)
            return -1;
        auto dof = write_dof(*prog->program, 0);
        dt_u64 n_bytes = 0;
        if (programs.size() >= sizeof n_bytes)
            std::memcpy(&n_bytes, programs.data(), sizeof n_bytes);
        programs.remove_prefix(std::min(sizeof n_bytes, programs.size()));
        if (n_bytes != dof.size() || programs.size() < n_bytes ||
            std::memcmp(programs.data(), dof.data(), dof.size()) != 0)
            return state.fail(EDT_DIFINVAL,
                              "the saved anonymous enabling cannot be claimed, because "
                              "its D program now compiles differently; run dtrace -A "
                              "again, and do not use kernel variables, because their "
                              "addresses change");
        programs.remove_prefix(
            std::min<std::size_t>((n_bytes + 7) & ~dt_u64{7}, programs.size()));
        state.enabled.push_back({prog, first_clause, true});
        state.consumer->add_program(prog->program, first_clause);
        first_clause += static_cast<std::uint32_t>(prog->program->clauses.size());
    }
    return 0;
}

int restore_anonymous(SessionState& state, ProgramCompiler& compiler,
                      std::span<const std::byte> from)
{
    // The kernel module has checked the sizes.
    dtk_anonymous head{};
    std::string_view file(reinterpret_cast<const char*>(from.data()), from.size());
    std::memcpy(&head, file.data(), sizeof head);
    for (int i = 0; i < DTRACEOPT_N; i++)
        if (i != DTRACEOPT_grabanon && !state.options.by_user(i))
            state.options.adjust(i, head.config.options[i]);
    file.remove_prefix(sizeof head + head.n_ecbs * sizeof(dtk_ecb) +
                       head.n_sites * sizeof(dtk_site));
    return recompile(state, compiler, file.substr(0, head.programs_bytes),
                     file.substr(file.size() - head.rest_bytes));
}

} // namespace dt
