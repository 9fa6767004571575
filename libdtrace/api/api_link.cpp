// SPDX-License-Identifier: MIT
// C API: writes the header and the object file for programs with static probes (dtrace
// -h and -G).
#include "libdtrace/api/handle.hpp"
#include "libdtrace/session/sources/provider_names.hpp"
#include "libdtrace/session/sources/provider_sources.hpp"

#include "base/fd.hpp"
#include "usdt/header.hpp"
#include "usdt/object.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using dt::usdt::ProviderSource;

static dt::Error as_error(const dt::Diagnostic& wrong, bool with_tag)
{
    return {dt::Code::invalid,
            (with_tag ? std::string("[") + dt::tag_name(wrong.tag) + "] " : "") +
                "line " + std::to_string(wrong.at.line) + ": " + wrong.text};
}

// Returns the providers of one program, or of all compiled programs.
static dt::Result<std::vector<ProviderSource>>
sources_of(dtrace_hdl& session, const dtrace_prog* only, dt::Definitions definitions)
{
    std::vector<ProviderSource> sources;
    dt::NamesInC names;
    for (const auto& prog : session.state().programs) {
        if (only != nullptr && prog.get() != only)
            continue;
        for (const dt::ProviderBlock& block : prog->program->providers) {
            auto same = [&](const auto& source) { return source.name == block.name; };
            if (std::any_of(sources.begin(), sources.end(), same))
                // The provider is already in the list. check_provider.cpp has checked
                // that all blocks of a provider are equal.
                continue;
            if (auto wrong = dt::wrong_name(block))
                return as_error(*wrong, session.state().options.flags.errtags);
            auto source =
                dt::provider_source(block, *prog->program->types, definitions, names);
            if (!source)
                return source.error();
            sources.push_back(std::move(*source));
        }
    }
    return sources;
}

static dt::Definitions definitions_of(const dtrace_hdl& session, bool strip)
{
    return strip || session.state().options.flags.strip ? dt::Definitions::Left
                                                        : dt::Definitions::Carried;
}

// Returns an error if the object uses a probe that its provider does not define. Checks
// only the probes of the providers in `sources`.
static dt::Result<dt::Ok> check_object(const std::string& path,
                                       const std::vector<ProviderSource>& sources)
{
    auto used = dt::usdt::probes_used(path);
    if (!used)
        return used.error();
    for (const dt::usdt::UsedProbe& probe : *used)
        for (const ProviderSource& source : sources) {
            auto same = [&](const auto& one) { return one.name == probe.name; };
            if (probe.provider == source.name &&
                std::none_of(source.probes.begin(), source.probes.end(), same))
                return dt::Error{
                    dt::Code::invalid,
                    path + " has the probe " + probe.provider + ":::" + probe.name +
                        ", which the provider does not define: recompile the object "
                        "with the provider's current header"};
        }
    return dt::Ok{};
}

// Writes a file. On failure, removes the incomplete file. Removes only regular files,
// so a pipe, for example, stays.
static dt::Result<dt::Ok> write_file(const std::string& path, const std::string& bytes)
{
    const std::string what = "failed to write " + path;
    dt::Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!fd)
        return dt::errno_error(what);
    for (std::size_t done = 0; done < bytes.size();) {
        ssize_t n = ::write(fd.get(), bytes.data() + done, bytes.size() - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            dt::Error error = dt::errno_error(what);
            struct stat status {};
            if (::fstat(fd.get(), &status) == 0 && S_ISREG(status.st_mode))
                ::unlink(path.c_str());
            return error;
        }
        done += static_cast<std::size_t>(n);
    }
    return dt::Ok{};
}

extern "C" {

int dtrace_program_header(dtrace_hdl_t* dtp, FILE* to, const char* source)
{
    auto sources = sources_of(*dtp, nullptr, definitions_of(*dtp, false));
    if (!sources)
        return dtp->fail(EDT_COMPILER, sources.error().text);
    if (sources->empty())
        return dtp->fail(EDT_NOPROV, "no provider is defined");
    std::string text = dt::usdt::header_text(*sources, source != nullptr ? source : "");
    if (std::fwrite(text.data(), 1, text.size(), to) != text.size() ||
        std::fflush(to) != 0)
        return dtp->fail(errno);
    return 0;
}

int dtrace_program_link(dtrace_hdl_t* dtp, dtrace_prog_t* prog, uint_t dflags,
                        const char* file, int objc, char* const objv[])
{
    auto type = dtp->state().options.text.find("linktype");
    if (type != dtp->state().options.text.end() && type->second == "dof")
        return dtp->fail(
            EDT_BADOPTVAL,
            "linktype=dof is not supported: probes are described by notes in "
            "ELF files, not by DOF");
    auto sources =
        sources_of(*dtp, prog, definitions_of(*dtp, (dflags & DTRACE_D_STRIP) != 0));
    if (!sources)
        return dtp->fail(EDT_COMPILER, sources.error().text);
    for (int i = 0; i < objc; i++)
        if (auto checked = check_object(objv[i], *sources); !checked)
            return dtp->fail(EDT_BADPROBE, checked.error().text);
    if (auto written = write_file(file, dt::usdt::object_text(*sources)); !written)
        return dtp->fail(EDT_FIO, written.error().text);
    return 0;
}

int dtrace_program_providers(dtrace_hdl_t*, dtrace_prog_t* prog)
{
    return static_cast<int>(prog->program->providers.size());
}

} // extern "C"
