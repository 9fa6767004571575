// SPDX-License-Identifier: MIT
// C API: parses probe descriptions, lists probes and returns their attributes.
#include "libdtrace/api/views.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

dtrace_attribute_t attribute_of(const dt::Attributes& from)
{
    return {static_cast<std::uint8_t>(from.name), static_cast<std::uint8_t>(from.data),
            static_cast<std::uint8_t>(from.dependency)};
}

namespace {

template <std::size_t N> bool put(char (&to)[N], std::string_view from)
{
    if (from.size() >= N)
        return false;
    from.copy(to, from.size());
    to[from.size()] = '\0';
    return true;
}

// Replaces macros such as "$target" and "$1" in a description. Returns nullopt if a
// macro is unknown or an argument is missing.
std::optional<std::string> expand_macros(dtrace_hdl& session, std::string_view text,
                                         int argc, char* const argv[])
{
    std::string result;
    for (std::size_t i = 0; i < text.size();) {
        if (text[i] != '$') {
            result += text[i++];
            continue;
        }
        std::size_t end = i + 1;
        while (
            end < text.size() &&
            (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_'))
            end++;
        std::string_view name = text.substr(i + 1, end - i - 1);
        unsigned n = 0;
        auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), n);
        if (error == std::errc{} && stop == name.data() + name.size()) {
            if (argc < 0 || n >= static_cast<unsigned>(argc))
                return std::nullopt;
            result += argv[n];
        } else if (name == "target") {
            result += std::to_string(session.state().processes.target());
        } else if (name == "pid") {
            result += std::to_string(::getpid());
        } else {
            return std::nullopt;
        }
        i = end;
    }
    return result;
}

// Removes the probe description from an error message, because callers print the
// description before the message.
std::string without(const std::string& text, const dt::ProbeSpec& spec)
{
    std::string name =
        spec.provider + ":" + spec.module + ":" + spec.function + ":" + spec.name;
    std::string none = "probe description " + name + " does not match any probes";
    if (text.compare(0, none.size(), none) == 0)
        return "No probe matches description" + text.substr(none.size());
    std::string failed = "failed to create probe " + name + ": ";
    if (text.compare(0, failed.size(), failed) == 0)
        return text.substr(failed.size());
    return text;
}

} // namespace

extern "C" {

int dtrace_xstr2desc(dtrace_hdl_t* dtp, dtrace_probespec_t spec, const char* text,
                     int argc, char* const argv[], dtrace_probedesc_t* desc)
{
    std::memset(desc, 0, sizeof *desc);
    auto expanded = expand_macros(*dtp, text, argc, argv);
    if (!expanded)
        return dtp->fail(EDT_BADSPCV);
    std::vector<std::string_view> parts;
    std::string_view rest = *expanded;
    if (rest.starts_with(':')) // a colon at the start adds no field
        rest.remove_prefix(1);
    for (;;) {
        std::size_t colon = rest.find(':');
        parts.push_back(rest.substr(0, colon));
        if (colon == std::string_view::npos)
            break;
        rest = rest.substr(colon + 1);
    }
    auto last = static_cast<std::size_t>(
        spec == DTRACE_PROBESPEC_NONE ? DTRACE_PROBESPEC_NAME : spec);
    if (parts.size() > last + 1)
        return dtp->fail(EDT_BADSPEC);
    std::array<std::string_view, 4> fields{};
    for (std::size_t i = 0; i < parts.size(); i++)
        fields[last + 1 - parts.size() + i] = parts[i];
    if (!put(desc->dtpd_provider, fields[0]) || !put(desc->dtpd_mod, fields[1]) ||
        !put(desc->dtpd_func, fields[2]) || !put(desc->dtpd_name, fields[3]))
        return dtp->fail(ENAMETOOLONG);
    return 0;
}

int dtrace_str2desc(dtrace_hdl_t* dtp, dtrace_probespec_t spec, const char* text,
                    dtrace_probedesc_t* desc)
{
    return dtrace_xstr2desc(dtp, spec, text, 0, nullptr, desc);
}

int dtrace_provider_modules(dtrace_hdl_t* dtp, const char** names, int n_names)
{
    int n = 0;
    for (const dt::Provider* provider : dtp->state().providers.list()) {
        if (n < n_names)
            names[n] = dtp->keep(provider->name());
        n++;
    }
    return n;
}

int dtrace_id2desc(dtrace_hdl_t* dtp, dtrace_id_t id, dtrace_probedesc_t* desc)
{
    if (!dtp->state().registry.has(id))
        return dtp->fail(EDT_BADID);
    copy_probe_name(*desc, dtp->state().registry.at(id));
    return 0;
}

char* dtrace_desc2str(const dtrace_probedesc_t* desc, char* to, size_t len)
{
    if (desc->dtpd_id == 0)
        std::snprintf(to, len, "%s:%s:%s:%s", desc->dtpd_provider, desc->dtpd_mod,
                      desc->dtpd_func, desc->dtpd_name);
    else
        std::snprintf(to, len, "%u", desc->dtpd_id);
    return to;
}

int dtrace_probe_iter(dtrace_hdl_t* dtp, const dtrace_probedesc_t* pattern,
                      dtrace_probe_f* func, void* arg)
{
    std::vector<std::uint32_t> ids;
    if (pattern == nullptr) {
        dtp->state().providers.provide_all_of_kernel();
        for (std::uint32_t id = 1; id <= dtp->state().registry.size(); id++)
            ids.push_back(id);
    } else {
        dt::ProbeSpec spec;
        spec.provider = pattern->dtpd_provider;
        spec.module = pattern->dtpd_mod;
        spec.function = pattern->dtpd_func;
        spec.name = pattern->dtpd_name;
        spec.id = pattern->dtpd_id;
        // Without zdefs, a description that matches no probes is an error.
        dtp->state().providers.pid.zdefs = false;
        dtp->state().providers.plockstat.zdefs = false;
        dtp->state().providers.pid.plants = nullptr;
        auto found = dtp->session.compiler().matcher().match(spec);
        if (auto* diagnostic = std::get_if<dt::Diagnostic>(&found)) {
            return dtp->fail(EDT_NOPROBE, without(diagnostic->text, spec));
        } else {
            ids = std::get<dt::ProbeMatch>(found).ids;
        }
    }
    if (ids.empty())
        return dtp->fail(EDT_NOPROBE, "No probe matches description");
    dtp->listed = ids;
    dtp->plans.clear();
    int n_called = 0;
    for (std::uint32_t id : ids) {
        dtrace_probedesc_t desc{};
        copy_probe_name(desc, dtp->state().registry.at(id));
        n_called++;
        if (int stop = func(dtp, &desc, arg); stop != 0)
            return stop;
    }
    return n_called > 0 ? 0 : -1;
}

int dtrace_probe_info(dtrace_hdl_t* dtp, const dtrace_probedesc_t* probe,
                      dtrace_probeinfo_t* info)
{
    std::memset(info, 0, sizeof *info);
    if (!dtp->state().registry.has(probe->dtpd_id))
        return dtp->fail(EDT_NOPROBE);
    const dt::ProbeInfo& known = dtp->state().registry.at(probe->dtpd_id);
    dt::ProviderAttributes parts =
        dtp->session.compiler().attributes_of_provider(known);
    info->dtp_attr = attribute_of(dt::attributes_of(known, parts));
    info->dtp_arga = attribute_of(parts.args);
    dtp->argument_texts.clear();
    dtp->argument_words.clear();
    dtp->why_no_arguments.clear();
    auto probed = dtp->names().probed_function(probe->dtpd_id);
    if (dtp->session.compiler().load_kernel_libraries(""))
        probed = dtp->names().probed_function(probe->dtpd_id);
    if (const auto* function = std::get_if<dt::ProbedFunction>(&probed))
        dtp->argument_texts = dtp->compiler().argument_texts(*function);
    if (const auto* said = std::get_if<dt::ArgumentTypes>(&probed)) {
        dtp->argument_texts = dtp->compiler().argument_texts(*said);
        dtp->why_no_arguments = said->why_none;
    }
    if (const auto* why = std::get_if<std::string>(&probed))
        dtp->why_no_arguments = *why;
    for (std::string& text : dtp->argument_texts)
        dtp->argument_words.push_back(text.data());
    info->dtp_argt = dtp->argument_words.data();
    info->dtp_argc = static_cast<int>(dtp->argument_words.size());
    if (!dtp->why_no_arguments.empty())
        info->dtp_why = dtp->why_no_arguments.c_str();
    return 0;
}

const char* dtrace_stability_name(uint8_t stability)
{
    return stability > static_cast<uint8_t>(dt::Stability::Standard)
               ? nullptr
               : dt::stability_name(static_cast<dt::Stability>(stability));
}

const char* dtrace_class_name(uint8_t dependency)
{
    return dependency > static_cast<uint8_t>(dt::DependencyClass::Common)
               ? nullptr
               : dt::class_name(static_cast<dt::DependencyClass>(dependency));
}

dtrace_attribute_t dtrace_attr_min(dtrace_attribute_t a, dtrace_attribute_t b)
{
    return {std::min(a.dtat_name, b.dtat_name), std::min(a.dtat_data, b.dtat_data),
            std::min(a.dtat_class, b.dtat_class)};
}

dtrace_attribute_t dtrace_attr_max(dtrace_attribute_t a, dtrace_attribute_t b)
{
    return {std::max(a.dtat_name, b.dtat_name), std::max(a.dtat_data, b.dtat_data),
            std::max(a.dtat_class, b.dtat_class)};
}

char* dtrace_attr2str(dtrace_attribute_t attribute, char* to, size_t len)
{
    const char* name = dtrace_stability_name(attribute.dtat_name);
    const char* data = dtrace_stability_name(attribute.dtat_data);
    const char* dependency = dtrace_class_name(attribute.dtat_class);
    if (name == nullptr || data == nullptr || dependency == nullptr)
        return nullptr;
    std::snprintf(to, len, "%s/%s/%s", name, data, dependency);
    return to;
}

int dtrace_str2attr(const char* text, dtrace_attribute_t* attribute)
{
    auto parsed = dt::parse_attributes(text);
    if (!parsed)
        return -1;
    *attribute = attribute_of(*parsed);
    return 0;
}

} // extern "C"
