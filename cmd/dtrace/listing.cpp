// SPDX-License-Identifier: MIT
// Prints the list of dtrace -l in the same columns as DTrace on other systems, because
// scripts parse it.
#include "listing.hpp"

#include "report.hpp"

#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

void print_attributes(FILE* out, const char* title, dtrace_attribute_t attribute)
{
    std::fprintf(out, "\t%s\n", title);
    std::fprintf(out, "\t\tIdentifier Names: %s\n",
                 dtrace_stability_name(attribute.dtat_name));
    std::fprintf(out, "\t\tData Semantics:   %s\n",
                 dtrace_stability_name(attribute.dtat_data));
    std::fprintf(out, "\t\tDependency Class: %s\n",
                 dtrace_class_name(attribute.dtat_class));
}

// Splits the text at commas, and removes the spaces around each part.
static std::vector<std::string> split_descriptions(const std::string& text)
{
    std::vector<std::string> parts;
    std::size_t from = 0;
    for (;;) {
        std::size_t comma = text.find(',', from);
        std::string part = text.substr(from, comma - from);
        std::size_t first = part.find_first_not_of(" \t\n");
        std::size_t last = part.find_last_not_of(" \t\n");
        parts.push_back(
            first == std::string::npos ? "" : part.substr(first, last - first + 1));
        if (comma == std::string::npos)
            return parts;
        from = comma + 1;
    }
}

Listing::Listing(dtrace_hdl_t* session, FILE* out, bool verbose)
    : session_(session), out_(out), verbose_(verbose)
{
}

void Listing::header()
{
    if (!std::exchange(has_header_, true))
        std::fprintf(out_, "%5s %10s %17s %33s %s\n", "ID", "PROVIDER", "MODULE",
                     "FUNCTION", "NAME");
}

// Prints one line for each site of a probe in a process: its mechanism, or the reason
// why the site is refused. Prints nothing for other probes.
static void print_mechanism(dtrace_hdl_t* session, const dtrace_probedesc_t* probe,
                            FILE* out)
{
    struct Lines {
        FILE* out;
        bool any;
    } lines{out, false};
    auto line = [](dtrace_hdl_t*, const dtrace_sitedesc_t* site, void* arg) {
        auto* lines = static_cast<Lines*>(arg);
        if (!std::exchange(lines->any, true))
            std::fputs("\n\tMechanism\n", lines->out);
        // The offset is negative if the site is in a split-off part of the function,
        // which the compiler put before the function.
        bool before = site->dtsi_offset < 0;
        std::fprintf(
            lines->out, "\t\t%c0x%" PRIx64 ": %s\n", before ? '-' : '+',
            static_cast<uint64_t>(before ? -site->dtsi_offset : site->dtsi_offset),
            site->dtsi_text);
        return 0;
    };
    if (dtrace_site_iter(session, probe, line, &lines) != 0)
        std::fprintf(out, "\n\tMechanism\n\t\tUnknown: %s\n",
                     dtrace_errmsg(session, dtrace_errno(session)));
}

int Listing::print_probe(dtrace_hdl_t* session, const dtrace_probedesc_t* probe,
                         void* arg)
{
    auto* self = static_cast<Listing*>(arg);
    FILE* out = self->out_;
    std::fprintf(
        out, "%5u %10s %17s %33s %s\n", probe->dtpd_id,
        name_text(probe->dtpd_provider).c_str(), name_text(probe->dtpd_mod).c_str(),
        name_text(probe->dtpd_func).c_str(), name_text(probe->dtpd_name).c_str());
    dtrace_probeinfo_t info{};
    if (!self->verbose_ || dtrace_probe_info(session, probe, &info) != 0)
        return 0;
    std::fputc('\n', out);
    print_attributes(out, "Probe Description Attributes", info.dtp_attr);
    std::fputc('\n', out);
    print_attributes(out, "Argument Attributes", info.dtp_arga);
    std::fputs("\n\tArgument Types\n", out);
    for (int i = 0; i < info.dtp_argc; i++)
        std::fprintf(out, "\t\targs[%d]: %s\n", i, name_text(info.dtp_argt[i]).c_str());
    if (info.dtp_why != nullptr)
        std::fprintf(out, "\t\tUnknown: %s\n", name_text(info.dtp_why).c_str());
    else if (info.dtp_argc == 0)
        std::fputs("\t\tNone\n", out);
    print_mechanism(session, probe, out);
    std::fputc('\n', out);
    return 0;
}

void Listing::matching(const dtrace_probedesc_t& pattern)
{
    header();
    if (dtrace_probe_iter(session_, &pattern, print_probe, this) == 0)
        return;
    std::fflush(out_); // so that the list so far appears before the message
    const char* why = dtrace_errmsg(session_, dtrace_errno(session_));
    if (pattern.dtpd_id != 0)
        say("%s", why);
    else
        say("failed to match %s:%s:%s:%s: %s", pattern.dtpd_provider, pattern.dtpd_mod,
            pattern.dtpd_func, pattern.dtpd_name, why);
}

void Listing::all()
{
    header();
    dtrace_probe_iter(session_, nullptr, print_probe, this);
}

void Listing::descriptions(const Piece& piece, const std::vector<std::string>& operands)
{
    std::string self = "dtrace";
    std::vector<char*> words{self.data()};
    for (const std::string& operand : operands)
        words.push_back(const_cast<char*>(operand.c_str()));
    for (const std::string& text : split_descriptions(piece.text)) {
        dtrace_probedesc_t pattern{};
        if (piece.flag == 'i') {
            errno = 0;
            char* end = nullptr;
            unsigned long id = std::strtoul(text.c_str(), &end, 10);
            pattern.dtpd_id = static_cast<dtrace_id_t>(id);
            if (errno != 0 || *end != '\0' || id == 0 || id > UINT32_MAX) {
                header();
                std::fflush(out_);
                say("invalid probe identifier %s: Unknown probe identifier",
                    text.c_str());
                continue;
            }
        } else if (dtrace_xstr2desc(session_, piece.spec, text.c_str(),
                                    static_cast<int>(words.size()), words.data(),
                                    &pattern) != 0) {
            std::fflush(out_);
            die(session_, "invalid probe description \"%s\"", text.c_str());
        }
        matching(pattern);
    }
}

void Listing::program(dtrace_prog_t* prog)
{
    dtrace_stmt_iter(
        session_, prog,
        [](dtrace_hdl_t*, dtrace_prog_t*, dtrace_stmtdesc_t* stmt, void* arg) {
            static_cast<Listing*>(arg)->matching(stmt->dtsd_ecbdesc->dted_probe);
            return 0;
        },
        this);
}

int Listing::finish()
{
    header();
    if (std::fflush(out_) == 0 && std::ferror(out_) == 0)
        return 0;
    say("failed to write the list: %s", std::strerror(errno));
    return 1;
}
