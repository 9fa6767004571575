// SPDX-License-Identifier: MIT
// Formats a fault record as the default ERROR report.
#include "libdtrace/consume/faults.hpp"

#include "libdtrace/consume/numbers.hpp"

namespace dt {

namespace {

struct FaultRow {
    std::uint32_t number;
    const char* text;
    bool shows_address;
};

constexpr FaultRow rows[] = {
#define X(name, number, text, address) {number, text, address != 0},
    DIF_FAULTS(X)
#undef X
};

const FaultRow& row_of(std::uint32_t fault)
{
    for (const FaultRow& row : rows)
        if (row.number == fault)
            return row;
    return rows[0]; // the row for unknown faults
}

// Returns the source of the action with this number, which is counted from 1. The
// number 0 means the predicate. If that source is unknown, returns the source of the
// clause.
const Source& source_of(const CompiledClause& clause, std::uint32_t action)
{
    if (action == 0 && clause.predicate_source.at.line > 0)
        return clause.predicate_source;
    if (action > 0 && action <= clause.actions.size())
        return clause.actions[action - 1].source;
    return clause.source;
}

} // namespace

std::string fault_text(std::uint32_t fault)
{
    return row_of(fault).text;
}

bool shows_address(std::uint32_t fault)
{
    return row_of(fault).shows_address;
}

FaultEvent fault_event(const EcbInfo& ecb, std::uint32_t cpu, const dt_rec_error& error)
{
    FaultEvent event;
    event.ecb = &ecb;
    event.cpu = cpu;
    event.action = error.action;
    event.offset = error.offset;
    event.fault = error.fault;
    event.value = error.value;
    const Source& source = source_of(*ecb.clause, error.action);
    event.line = source.at.line;
    event.source = source.line;

    const ProbeName& probe = *ecb.probe;
    std::string& text = event.text;
    text = "error on enabled probe ID " + std::to_string(ecb.epid) + " (ID " +
           std::to_string(probe.id) + ": " + probe.provider + ":" + probe.module + ":" +
           probe.function + ":" + probe.name + "): " + fault_text(error.fault);
    if (shows_address(error.fault)) {
        text += " (0x";
        put_hex(text, error.value);
        text += ")";
    }
    text += error.action == 0 ? " in predicate"
                              : " in action #" + std::to_string(error.action);
    text += " at DIF offset " + std::to_string(error.offset);
    return event;
}

} // namespace dt
