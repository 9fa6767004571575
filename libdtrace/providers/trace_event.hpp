// SPDX-License-Identifier: MIT
// A tracepoint of the kernel, as tracefs describes it (Documentation/trace/events.rst).
// perf_event_open(2) opens tracepoints by their numbers. Each record contains fields.
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

struct TraceField {
    std::string name;
    std::size_t offset = 0, bytes = 0; // in a record
    bool is_signed = false;
};

struct TraceEvent {
    std::uint64_t number = 0;
    std::vector<TraceField> fields;

    // Returns null if there is no such field.
    const TraceField* field(std::string_view name) const;
};

// Finds the fields in the text of a tracepoint's file `format`.
std::vector<TraceField> trace_fields_in(std::string_view format);

// Returns a tracepoint, for example "sched/sched_switch". Errors: those of
// read_tracefs(), and Code::not_found if the kernel does not have the tracepoint.
Result<TraceEvent> trace_event(const std::string& name);

// Returns the value of an integer in a record, or 0 if the field is null or not in the
// record.
std::uint64_t number_in(std::span<const std::byte> record, const TraceField* field);

} // namespace dt
