// SPDX-License-Identifier: MIT
// A record's statements in a form for programs (structured.hpp). What they do besides is
// done as always; no sink is asked.
#include "libdtrace/consume/numbers.hpp"
#include "libdtrace/consume/runner.hpp"
#include "libdtrace/consume/structured.hpp"

#include <optional>

namespace dt {

Result<Ok> Runner::run_structured(EcbState& ecb, const ProbeData& data, Output& out)
{
    std::optional<StructuredRecord> part(std::in_place, data, context());
    bool any_part = false;
    const auto& records = ecb.info.records;
    for (std::size_t i = 0; i < records.size(); i += records[i].n_values) {
        const RecordDesc& desc = records[i];
        StructuredRecord& record = *part;
        switch (desc.action) {
        case DTRACEACT_LIBACT:
            if (auto done = library_action(ecb, data, i, out); !done)
                return done;
            break;
        case DTRACEACT_EXIT:
            exit_status = static_cast<int>(load_signed(data.bytes(desc)));
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
            // What was recorded before is printed before, as a record of its own.
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
                auto id =
                    static_cast<std::uint32_t>(load_unsigned(data.bytes(records[i + n])));
                if (AggDesc* agg = aggregates.find(id))
                    agg->printed = true;
                record.aggregations(aggregates.entries(id, AggOrder::ByOption, display));
            }
            break;
        case DTRACEACT_TRACEMEM:
            record.memory(traced_memory(ecb, data, i));
            break;
        default:
            record.value(desc, data.bytes(desc));
            break;
        }
    }
    if (!any_part || !part->empty())
        part->finish(out.text());
    return out.wants_pieces() || out.text().size() >= enough_text ? out.commit({&data})
                                                                  : Result<Ok>(Ok{});
}

} // namespace dt
