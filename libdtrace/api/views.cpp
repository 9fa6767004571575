// SPDX-License-Identifier: MIT
// Our records in the C API's clothes.
#include "libdtrace/api/views.hpp"

#include <cstring>
#include <string_view>

static void copy_text(char* to, std::size_t max, std::string_view from)
{
    std::size_t n = from.size() < max - 1 ? from.size() : max - 1;
    std::memcpy(to, from.data(), n);
    to[n] = '\0';
}

void copy_probe_name(dtrace_probedesc_t& to, const dt::ProbeInfo& from)
{
    to.dtpd_id = from.id;
    copy_text(to.dtpd_provider, sizeof to.dtpd_provider, from.provider);
    copy_text(to.dtpd_mod, sizeof to.dtpd_mod, from.module);
    copy_text(to.dtpd_func, sizeof to.dtpd_func, from.function);
    copy_text(to.dtpd_name, sizeof to.dtpd_name, from.name);
}

void copy_probe_spec(dtrace_probedesc_t& to, const dt::ProbeSpec& from)
{
    to.dtpd_id = static_cast<dtrace_id_t>(from.id);
    copy_text(to.dtpd_provider, sizeof to.dtpd_provider, from.provider);
    copy_text(to.dtpd_mod, sizeof to.dtpd_mod, from.module);
    copy_text(to.dtpd_func, sizeof to.dtpd_func, from.function);
    copy_text(to.dtpd_name, sizeof to.dtpd_name, from.name);
}

EcbView& view_of(dtrace_hdl& session, const dt::EcbInfo& ecb)
{
    auto& view = session.views[ecb.epid];
    if (view)
        return *view;
    view = std::make_shared<EcbView>();
    view->ecb = &ecb;
    if (session.registry.has(ecb.probe->id))
        copy_probe_name(view->probe, session.registry.at(ecb.probe->id));
    for (const dt::RecordDesc& record : ecb.records) {
        dtrace_recdesc_t desc{};
        desc.dtrd_action = static_cast<dtrace_actkind_t>(record.action);
        desc.dtrd_size = record.size;
        desc.dtrd_offset = record.offset;
        desc.dtrd_alignment = static_cast<std::uint16_t>(
            record.size >= 8 || record.size == 0 ? 8 : record.size);
        desc.dtrd_arg = record.arg;
        desc.dtrd_uarg = record.uarg;
        view->all.push_back(desc);
    }
    view->edesc.dtepd_epid = ecb.epid;
    view->edesc.dtepd_probeid = ecb.probe->id;
    view->edesc.dtepd_size = ecb.record_bytes;
    view->edesc.dtepd_nrecs = static_cast<int>(view->all.size());
    view->edesc.dtepd_rec = view->all.data();
    return *view;
}

dtrace_probedata_t probedata_of(dtrace_hdl& session, const dt::ProbeData& data)
{
    EcbView& view = view_of(session, *data.ecb);
    dtrace_probedata_t to{};
    to.dtpda_handle = &session;
    to.dtpda_edesc = &view.edesc;
    to.dtpda_pdesc = &view.probe;
    to.dtpda_cpu = static_cast<processorid_t>(data.cpu);
    to.dtpda_data = reinterpret_cast<const char*>(data.record.data());
    to.dtpda_flow = data.flow == dt::Flow::Entry    ? DTRACEFLOW_ENTRY
                    : data.flow == dt::Flow::Return ? DTRACEFLOW_RETURN
                                                    : DTRACEFLOW_NONE;
    // A prefix is a literal of the consumer.
    to.dtpda_prefix = data.prefix.data();
    to.dtpda_indent = data.indent;
    to.dtpda_timestamp = data.timestamp;
    return to;
}
