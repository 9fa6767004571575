// SPDX-License-Identifier: MIT
// Output for programs: -x format=json and format=folded.
//
// json: one object per line. Its "type" is one of:
//
//   record       "time" (monotonic ns), "cpu", "probe", and the array "values", which
//                has one object for each statement that records data:
//                {"action": "trace", "value": ...}, {"action": "printf", "text": ...},
//                {"action": "printa", "aggregations": [...]}, ...
//   aggregation  "name", "function", "keys", and "value"; a distribution has "buckets"
//                instead of "value"
//   drop         "kind", "count", "total", "message"; for some kinds "cpu"
//   error        "cpu", "probe", "action" (0: the predicate), "fault", "message";
//                "address" and "source" if they are known
//
// Stacks are arrays of frames, innermost first. Bytes that are not text are
// {"bytes": "0a1b.."}. Future versions may add fields.
//
// folded: the input of flame graphs. A line is "outermost;...;innermost N". For an
// aggregation, the parts are the keys, or the name if there are no keys. N is the
// value, or the sum of a distribution's buckets. For a record, only stacks (N = 1) and
// printa() actions are printed.
#pragma once

#include "libdtrace/consume/aggregates.hpp"
#include "libdtrace/consume/values.hpp"

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

namespace dt {

class StructuredRecord {
public:
    StructuredRecord(const ProbeData& data, const PrintContext& context);
    ~StructuredRecord();
    StructuredRecord(const StructuredRecord&) = delete;
    StructuredRecord& operator=(const StructuredRecord&) = delete;

    void value(const RecordDesc& desc, std::span<const std::byte> bytes);
    void text(std::string_view action, std::string_view text);
    void memory(std::span<const std::byte> bytes);
    void aggregations(std::span<AggEntry* const> entries);
    void exit(int status);
    bool empty() const { return !any_; }
    void finish(std::string& out); // appends the lines of the record

private:
    void add(std::string_view action, std::string_view field,
             nlohmann::ordered_json what);

    const ProbeData& data_;
    const PrintContext context_;
    const OutputForm form_; // not changed by a setopt() in this record
    std::unique_ptr<nlohmann::ordered_json> values_;
    std::string folded_;
    bool any_ = false;
};

void put_structured(std::string& out, const PrintContext& context, OutputForm form,
                    const AggEntry& entry);
void put_json(std::string& out, const FaultEvent& event);
void put_json(std::string& out, const DropEvent& event);

// Converts a value according to its type, or to bytes if the type is null.
nlohmann::ordered_json typed_json(const Type* type, std::span<const std::byte> bytes);
// Returns a number, or "inf", "-inf" or "nan".
nlohmann::ordered_json double_json(double value);
nlohmann::ordered_json bytes_json(std::span<const std::byte> bytes);

} // namespace dt
