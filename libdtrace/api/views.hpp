// SPDX-License-Identifier: MIT
// The C API's descriptions of probes and records. view_of() keeps the EcbView of an
// ECB, because callbacks may keep pointers to it. When a probe is renamed, all EcbViews
// are discarded.
#pragma once

#include "libdtrace/api/handle.hpp"

#include <vector>

struct EcbView {
    dtrace_probedesc_t probe{};
    dtrace_eprobedesc_t edesc{};
    std::vector<dtrace_recdesc_t> all;
    const dt::EcbInfo* ecb = nullptr;
};

// The C API's view of one entry of an aggregation. It is valid while the entry exists.
// Each dtrd_offset in records_ is relative to words_.
//
//   words_           variable's id | key, padded | value
//   records_ (index)       0       |  1 ... n    | n + 1
class AggView {
public:
    AggView(dtrace_hdl& session, const dt::AggEntry& entry);
    AggView(const AggView&) = delete;
    AggView& operator=(const AggView&) = delete;
    dtrace_aggdata_t data{};

private:
    std::vector<dtrace_recdesc_t> keys_, records_;
    std::vector<std::int64_t> words_;
    std::vector<char*> places_; // pointers into the entry
    dtrace_aggdesc_t desc_{};
};

EcbView& view_of(dtrace_hdl& session, const dt::EcbInfo& ecb);
dtrace_probedata_t probedata_of(dtrace_hdl& session, const dt::ProbeData& data);
void copy_probe_spec(dtrace_probedesc_t& to, const dt::ProbeSpec& from);
dtrace_attribute_t attribute_of(const dt::Attributes& from);
void copy_probe_name(dtrace_probedesc_t& to, const dt::ProbeInfo& from);
