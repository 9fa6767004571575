// SPDX-License-Identifier: MIT
// Output for programs: -x format=json and format=folded.
//
// json: one object a line. What they are is said by "type":
//
//   record       "time" (monotonic ns), "cpu", "probe", "values": one for each statement
//                that records, {"action": "trace", "value": ...}, {"action": "printf",
//                "text": ...}, {"action": "printa", "aggregations": [...]}, ...
//   aggregation  "name", "function", "keys", "value"; of a distribution "buckets"
//   drop         "kind", "count", "total", "message", with some kinds "cpu"
//   error        "cpu", "probe", "fault", "message"; "action" (0: the predicate), "address",
//                "source" where they are known
//
// Integers are numbers, by the sign of their type; strings text; stacks arrays of frames, the
// innermost first; structures objects; bytes that are no text {"bytes": "0a1b.."}. A
// field that is not listed here may come to be.
//
// folded: what flame graphs are made of. A line is "outermost;...;innermost N"; keys of an
// aggregation that are no stacks stand before it. Of records only stacks are shown, each
// counts for 1.
#pragma once

#include "libdtrace/consume/aggregates.hpp"
#include "libdtrace/consume/values.hpp"

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

namespace dt {

// A record, statement by statement.
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
    void finish(std::string& out); // its lines

private:
    void add(std::string_view action, std::string_view field,
             nlohmann::ordered_json what);

    const ProbeData& data_;
    const PrintContext context_;
    const OutputForm form_; // setopt() changes that of the next record
    std::unique_ptr<nlohmann::ordered_json> values_;
    std::string folded_;
    bool any_ = false;
};

void put_structured(std::string& out, const PrintContext& context, OutputForm form,
                    const AggEntry& entry);
void put_json(std::string& out, const FaultEvent& event);
void put_json(std::string& out, const DropEvent& event);

// typed_json.cpp
nlohmann::ordered_json typed_json(const Type* type, std::span<const std::byte> bytes);
// What is no number in JSON is text: "inf", "-inf", "nan".
nlohmann::ordered_json double_json(double value);
nlohmann::ordered_json bytes_json(std::span<const std::byte> bytes);

} // namespace dt
