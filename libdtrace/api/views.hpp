// SPDX-License-Identifier: MIT
// The C API's descriptions of probes and records, made from ours when first needed and
// kept for the session: callbacks may keep pointers to them.
#pragma once

#include "libdtrace/api/session.hpp"

#include <vector>

struct EcbView {
    dtrace_probedesc_t probe{};
    dtrace_eprobedesc_t edesc{};
    std::vector<dtrace_recdesc_t> all;
    const dt::EcbInfo* ecb = nullptr;
};

EcbView& view_of(dtrace_hdl& session, const dt::EcbInfo& ecb);
dtrace_probedata_t probedata_of(dtrace_hdl& session, const dt::ProbeData& data);
void copy_probe_spec(dtrace_probedesc_t& to, const dt::ProbeSpec& from);
void copy_probe_name(dtrace_probedesc_t& to, const dt::ProbeInfo& from);
