// SPDX-License-Identifier: MIT
// Prints the values of a record in a machine-readable format (structured.hpp). The
// record's line is printed after the sink has been called for all actions. Actions that
// the sink skipped are omitted.
#include "libdtrace/consume/numbers.hpp"
#include "libdtrace/consume/runner.hpp"
#include "libdtrace/consume/structured.hpp"

#include <optional>

namespace dt {

Result<Ok> Runner::run_structured(EcbState& ecb, const ProbeData& data, Output& out,
                                  RecordSink& sink)
{
    Verdict verdict = sink.probe(data);
    if (verdict == Verdict::Next)
        return Ok{};
    if (verdict != Verdict::This)
        return stopped("the probe callback");
    std::optional<StructuredRecord> part(std::in_place, data, context());
    bool any_part = false;
    const auto& records = ecb.info.records;
    for (std::size_t i = 0; i < records.size();) {
        const RecordDesc& desc = records[i];
        StructuredRecord& record = *part;
        if (desc.action == DTRACEACT_LIBACT) {
            if (auto done = library_action(ecb, data, i, out); !done)
                return done;
            i += desc.n_values;
            continue;
        }
        if (desc.action == DTRACEACT_EXIT)
            exit_status = static_cast<int>(load_signed(data.bytes(desc)));
        verdict = sink.record(data, &desc);
        if (verdict == Verdict::Next) {
            i++;
            continue;
        }
        if (verdict != Verdict::This)
            return stopped("the record callback");
        switch (desc.action) {
        case DTRACEACT_EXIT:
            record.exit(*exit_status);
            break;
        case DTRACEACT_PRINTF:
            if (const FormatPlan* plan = ecb.plans[i].get()) {
                std::string text;
                plan->print(text, context(), data.record);
                record.text("printf", text);
            }
            break;
        case DTRACEACT_SYSTEM:
        case DTRACEACT_FREOPEN:
            // The values before this action are printed first, as a separate record.
            if (!record.empty()) {
                record.finish(out.text());
                part.emplace(data, context());
                any_part = true;
            }
            if (auto done = formatted(ecb, data, i, out); !done)
                return done;
            break;
        case DTRACEACT_PRINTA:
            for (std::size_t n = 0; n < desc.n_values; n++) {
                auto id = static_cast<std::uint32_t>(
                    load_unsigned(data.bytes(records[i + n])));
                if (AggDesc* agg = aggregates.find(id))
                    agg->printed = true;
                record.aggregations(
                    aggregates.entries(id, AggOrder::ByOption, display));
            }
            break;
        case DTRACEACT_TRACEMEM:
            record.memory(traced_memory(ecb, data, i));
            break;
        default:
            record.value(desc, data.bytes(desc));
            break;
        }
        i += desc.n_values;
    }
    if (!any_part || !part->empty())
        part->finish(out.text());
    if (auto committed = out.commit({&data}); !committed)
        return committed;
    verdict = sink.record(data, nullptr);
    return verdict == Verdict::This || verdict == Verdict::Next
               ? Result<Ok>(Ok{})
               : stopped("the record callback");
}

} // namespace dt
