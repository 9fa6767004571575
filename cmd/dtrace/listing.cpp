// SPDX-License-Identifier: MIT
#include "listing.hpp"

#include "report.hpp"

#include <cstdlib>
#include <cstring>

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

namespace {

struct Listing {
    FILE* out;
    bool verbose;
};

int print_probe(dtrace_hdl_t* session, const dtrace_probedesc_t* probe, void* arg)
{
    auto* listing = static_cast<Listing*>(arg);
    std::fprintf(listing->out, "%5u %10s %17s %33s %s\n", probe->dtpd_id,
                 probe->dtpd_provider, probe->dtpd_mod, probe->dtpd_func,
                 probe->dtpd_name);
    dtrace_probeinfo_t info{};
    if (!listing->verbose || dtrace_probe_info(session, probe, &info) != 0)
        return 0;
    std::fputc('\n', listing->out);
    print_attributes(listing->out, "Probe Description Attributes", info.dtp_attr);
    std::fputc('\n', listing->out);
    print_attributes(listing->out, "Argument Attributes", info.dtp_arga);
    std::fputs("\n\tArgument Types\n", listing->out);
    for (int i = 0; i < info.dtp_argc; i++)
        std::fprintf(listing->out, "\t\targs[%d]: %s\n", i, info.dtp_argt[i]);
    if (info.dtp_argc == 0)
        std::fputs("\t\tNone\n", listing->out);
    std::fputc('\n', listing->out);
    return 0;
}

void list_matching(dtrace_hdl_t* session, dtrace_probedesc_t& pattern, Listing& listing)
{
    if (dtrace_probe_iter(session, &pattern, print_probe, &listing) == 0)
        return;
    if (pattern.dtpd_id != 0)
        say("failed to match %u: %s", pattern.dtpd_id,
            dtrace_errmsg(session, dtrace_errno(session)));
    else
        say("failed to match %s:%s:%s:%s: %s", pattern.dtpd_provider, pattern.dtpd_mod,
            pattern.dtpd_func, pattern.dtpd_name,
            dtrace_errmsg(session, dtrace_errno(session)));
}

// The description before a predicate or a clause, split at its commas.
std::vector<std::string> descriptions_of(const std::string& text)
{
    std::string head = text.substr(0, text.find_first_of("/{"));
    std::vector<std::string> parts;
    std::size_t from = 0;
    for (;;) {
        std::size_t comma = head.find(',', from);
        std::string part = head.substr(from, comma - from);
        std::size_t first = part.find_first_not_of(" \t\n");
        std::size_t last = part.find_last_not_of(" \t\n");
        parts.push_back(
            first == std::string::npos ? "" : part.substr(first, last - first + 1));
        if (comma == std::string::npos)
            return parts;
        from = comma + 1;
    }
}

void list_piece(dtrace_hdl_t* session, const Arguments& args, const Piece& piece,
                Listing& listing)
{
    if (piece.flag == 's') {
        say("-l lists probes of -P, -m, -f, -n and -i; the script %s is not looked at",
            piece.text.c_str());
        return;
    }
    std::vector<char*> words;
    std::string self = "dtrace";
    words.push_back(self.data());
    for (const std::string& operand : args.operands)
        words.push_back(const_cast<char*>(operand.c_str()));
    for (const std::string& text : descriptions_of(piece.text)) {
        dtrace_probedesc_t pattern{};
        if (piece.flag == 'i') {
            char* end = nullptr;
            pattern.dtpd_id =
                static_cast<dtrace_id_t>(std::strtoul(text.c_str(), &end, 10));
            if (*end != '\0' || pattern.dtpd_id == 0) {
                say("invalid probe identifier %s: Unknown probe identifier",
                    text.c_str());
                continue;
            }
        } else if (dtrace_xstr2desc(session, piece.spec, text.c_str(),
                                    static_cast<int>(words.size()), words.data(),
                                    &pattern) != 0) {
            say("invalid probe description \"%s\": %s", text.c_str(),
                dtrace_errmsg(session, dtrace_errno(session)));
            continue;
        }
        list_matching(session, pattern, listing);
    }
}

} // namespace

int list_probes(dtrace_hdl_t* session, const Arguments& args, FILE* out)
{
    Listing listing{out, args.verbose};
    std::fprintf(out, "%5s %10s %17s %33s %s\n", "ID", "PROVIDER", "MODULE", "FUNCTION",
                 "NAME");
    if (args.pieces.empty())
        dtrace_probe_iter(session, nullptr, print_probe, &listing);
    for (const Piece& piece : args.pieces)
        list_piece(session, args, piece, listing);
    if (std::fflush(out) != 0 || std::ferror(out) != 0) {
        say("failed to write the list: %s", std::strerror(errno));
        return 1;
    }
    return 0;
}
