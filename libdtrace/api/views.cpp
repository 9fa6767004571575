// SPDX-License-Identifier: MIT
// Converts descriptions of probes, records and aggregations to the structures of the C
// API.
#include "libdtrace/api/views.hpp"

#include "dif/actions.h"

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

static dtrace_recdesc_t recdesc_of(const dt::RecordDesc& from)
{
    dtrace_recdesc_t to{};
    to.dtrd_action = static_cast<dtrace_actkind_t>(from.action);
    to.dtrd_size = from.size;
    to.dtrd_offset = from.offset;
    to.dtrd_alignment =
        static_cast<std::uint16_t>(from.size >= 8 || from.size == 0 ? 8 : from.size);
    to.dtrd_arg = from.arg;
    to.dtrd_uarg = from.uarg;
    return to;
}

AggView::AggView(dtrace_hdl& session, const dt::AggEntry& entry)
{
    const dt::AggDesc& agg = *entry.agg;
    const std::size_t key_at = 1, value_at = key_at + (agg.key_bytes + 7) / 8;
    words_.resize(value_at + entry.n_words());
    auto id = static_cast<std::int32_t>(agg.id);
    std::memcpy(words_.data(), &id, sizeof id);
    std::memcpy(&words_[key_at], entry.key().data(), agg.key_bytes);
    for (std::size_t i = 0; i < entry.n_words(); i++)
        words_[value_at + i] = entry.word(i);

    dtrace_recdesc_t variable{};
    variable.dtrd_action = DTRACEACT_DIFEXPR;
    variable.dtrd_size = variable.dtrd_alignment = sizeof id;
    records_.push_back(variable);
    for (const dt::RecordDesc& part : agg.parts) {
        keys_.push_back(recdesc_of(part));
        records_.push_back(keys_.back());
        records_.back().dtrd_offset += static_cast<std::uint32_t>(8 * key_at);
    }
    dtrace_recdesc_t value{};
    value.dtrd_action = static_cast<dtrace_actkind_t>(agg.function);
    value.dtrd_size = agg.value_bytes;
    value.dtrd_offset = static_cast<std::uint32_t>(8 * value_at);
    value.dtrd_alignment = 8;
    value.dtrd_arg = agg.arg;
    records_.push_back(value);

    desc_.dtagd_name = agg.name.c_str();
    desc_.dtagd_varid = agg.id;
    desc_.dtagd_epid = agg.epid;
    desc_.dtagd_size = static_cast<std::uint32_t>(8 * words_.size());
    desc_.dtagd_nrecs = static_cast<int>(records_.size());
    desc_.dtagd_rec = records_.data();

    data.dtada_handle = &session;
    data.dtada_name = desc_.dtagd_name;
    data.dtada_varid = agg.id;
    data.dtada_function = agg.function;
    data.dtada_keys = keys_.data();
    data.dtada_nkeys = static_cast<int>(keys_.size());
    data.dtada_key = reinterpret_cast<const char*>(&words_[key_at]);
    data.dtada_keysize = agg.key_bytes;
    data.dtada_value = words_.data() + value_at;
    data.dtada_valuesize = agg.value_bytes;
    data.dtada_normal = static_cast<std::int64_t>(entry.normal);
    data.dtada_desc = &desc_;
    data.dtada_data = reinterpret_cast<char*>(words_.data());
    data.dtada_size = 8 * words_.size();
    if (const dt::EcbInfo* ecb = session.state().consumer->ecb(agg.epid)) {
        EcbView& view = view_of(session, *ecb);
        data.dtada_edesc = &view.edesc;
        data.dtada_pdesc = &view.probe;
    }
    if (entry.places.empty())
        return;
    for (std::size_t at = 0; at < entry.places.size(); at += agg.value_bytes)
        places_.push_back(
            reinterpret_cast<char*>(const_cast<std::byte*>(entry.places.data() + at)));
    data.dtada_percpu = places_.data();
    data.dtada_npercpu = static_cast<int>(places_.size());
}

EcbView& view_of(dtrace_hdl& session, const dt::EcbInfo& ecb)
{
    auto& view = session.views[ecb.epid];
    if (view)
        return *view;
    view = std::make_shared<EcbView>();
    view->ecb = &ecb;
    // The names come from the arena, not from the registry. In a claimed anonymous
    // enabling, probes have other ids than in the registry.
    dt::ProbeInfo probe;
    probe.id = ecb.probe->id;
    probe.provider = ecb.probe->provider;
    probe.module = ecb.probe->module;
    probe.function = ecb.probe->function;
    probe.name = ecb.probe->name;
    copy_probe_name(view->probe, probe);
    for (const dt::RecordDesc& record : ecb.records)
        view->all.push_back(recdesc_of(record));
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
    // The prefix is a string literal in the consumer, so it ends with a NUL.
    to.dtpda_prefix = data.prefix.data();
    to.dtpda_indent = data.indent;
    to.dtpda_timestamp = data.timestamp;
    return to;
}
