// SPDX-License-Identifier: MIT
// Runs the consumer's actions, in the order of the records.
//
// Each entry of an action list is a RecordDesc. The first entry of a statement contains
// the number of the statement's entries. If the sink returns This, the entire statement
// is printed. If the sink returns Next, the sink is called for the next entry.
//
// With -x format=json and format=folded, the output of system() goes to stderr.
#include "libdtrace/consume/runner.hpp"

#include "libdtrace/consume/numbers.hpp"
#include "libdtrace/consume/typed.hpp"

#include <algorithm>
#include <cstdlib>

namespace dt {

Error Runner::stopped(const char* who)
{
    return Error{Code::invalid, std::string(who) + " stopped the consumer"};
}

Result<Ok> Runner::run(EcbState& ecb, const ProbeData& data, Output& out,
                       RecordSink& sink)
{
    if (display.form != OutputForm::text)
        return run_structured(ecb, data, out, sink);
    Verdict verdict = sink.probe(data);
    if (verdict == Verdict::Next)
        return Ok{};
    if (verdict != Verdict::This)
        return stopped("the probe callback");
    if (out.wants_pieces())
        if (auto committed = out.commit({&data}); !committed)
            return committed;
    const auto& records = ecb.info.records;
    for (std::size_t i = 0; i < records.size();) {
        const RecordDesc& desc = records[i];
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
        if (auto printed = print(ecb, data, i, out); !printed)
            return printed;
        i += desc.n_values;
    }
    verdict = sink.record(data, nullptr);
    if (verdict != Verdict::This && verdict != Verdict::Next)
        return stopped("the record callback");
    return out.commit({&data});
}

Result<Ok> Runner::print(EcbState& ecb, const ProbeData& data, std::size_t index,
                         Output& out)
{
    if (auto printed = print_statement(ecb, data, index, out); !printed)
        return printed;
    return out.commit({&data, &ecb.info.records[index]});
}

Result<Ok> Runner::print_statement(EcbState& ecb, const ProbeData& data,
                                   std::size_t index, Output& out)
{
    const RecordDesc& desc = ecb.info.records[index];
    switch (desc.action) {
    case DTRACEACT_PRINTF:
    case DTRACEACT_SYSTEM:
    case DTRACEACT_FREOPEN:
        return formatted(ecb, data, index, out);
    case DTRACEACT_PRINTA:
        return printa(ecb, data, index, out);
    case DTRACEACT_EXIT:
    case DTRACEACT_LIBACT:
        return Ok{};
    case DTRACEACT_TRACEMEM:
        tracemem(ecb, data, index, out);
        return Ok{};
    default:
        if (desc.compiled->is_print)
            put_typed(out.text(), desc.compiled->type, data.bytes(desc));
        else
            put_value(out.text(), context(), desc, data.bytes(desc), Column::Trace);
        return Ok{};
    }
}

Result<Ok> Runner::formatted(EcbState& ecb, const ProbeData& data, std::size_t index,
                             Output& out)
{
    const RecordDesc& desc = ecb.info.records[index];
    const FormatPlan* plan = ecb.plans[index].get();
    // Only the first value of a statement has a plan. freopen("") has no values and no
    // plan.
    if (!plan && !(desc.action == DTRACEACT_FREOPEN && desc.size == 0))
        return Ok{};
    if (desc.action == DTRACEACT_PRINTF) {
        if (out.wants_pieces())
            return plan->print_pieces(out, context(), data.record, {&data, &desc}, {});
        plan->print(out.text(), context(), data.record);
        return Ok{};
    }
    std::string text;
    if (plan)
        plan->print(text, context(), data.record);
    if (desc.action == DTRACEACT_SYSTEM)
        return run_program(text, out);
    if (auto committed = out.commit({&data}); !committed)
        return committed;
    if (auto opened = out.reopen(text); !opened)
        complain(opened.error().text);
    display.terminal = out.to_terminal();
    return Ok{};
}

Result<Ok> Runner::run_program(const std::string& command, Output& out)
{
    if (auto flushed = out.commit(); !flushed)
        return flushed;
    if (auto flushed = out.flush(); !flushed)
        return flushed;
    const char* prefix = display.form != OutputForm::text ? "exec 1>&2\n" : "";
    const std::string line = prefix + command;
    if ((events_ ? events_->run_command(line) : std::system(line.c_str())) == -1)
        complain(errno_error("system(\"" + command + "\")").text);
    return Ok{};
}

std::span<const std::byte> Runner::traced_memory(EcbState& ecb, const ProbeData& data,
                                                 std::size_t index)
{
    const RecordDesc& desc = ecb.info.records[index];
    auto bytes = data.bytes(desc);
    if (desc.n_values > 1) {
        std::int64_t wanted = load_signed(data.bytes(ecb.info.records[index + 1]));
        if (wanted >= 0 && static_cast<std::uint64_t>(wanted) < bytes.size())
            bytes = bytes.first(static_cast<std::size_t>(wanted));
    }
    return bytes;
}

void Runner::tracemem(EcbState& ecb, const ProbeData& data, std::size_t index,
                      Output& out)
{
    if (auto bytes = traced_memory(ecb, data, index); !bytes.empty())
        put_hex_dump(out.text(), bytes);
}

Result<Ok> Runner::printa(EcbState& ecb, const ProbeData& data, std::size_t index,
                          Output& out)
{
    const RecordDesc& desc = ecb.info.records[index];
    std::vector<std::uint32_t> ids;
    for (std::size_t i = 0; i < desc.n_values; i++) {
        auto id = static_cast<std::uint32_t>(
            load_unsigned(data.bytes(ecb.info.records[index + i])));
        ids.push_back(id);
        if (AggDesc* agg = aggregates.find(id))
            agg->printed = true;
    }
    const Action& action = *desc.compiled;
    std::optional<Format> parsed;
    if (action.has_format && !action.parsed)
        parsed = parse_format(action.format);
    const Format* format = action.parsed ? action.parsed.get()
                           : parsed      ? &*parsed
                                         : nullptr;
    return print_joined(out, context(), aggregates, ids, format, {&data, &desc});
}

Result<Ok> Runner::library_action(EcbState& ecb, const ProbeData& data,
                                  std::size_t index, Output& out)
{
    const RecordDesc& desc = ecb.info.records[index];
    auto value = [&](std::size_t n) { return data.bytes(ecb.info.records[index + n]); };
    auto id = static_cast<std::uint32_t>(load_unsigned(value(0)));
    switch (desc.arg) {
    case DT_LIBACT_CLEAR:
        aggregates.clear(id);
        break;
    case DT_LIBACT_TRUNC:
        if (desc.n_values > 1)
            aggregates.trunc(id, load_signed(value(1)));
        else
            aggregates.trunc(id);
        break;
    case DT_LIBACT_NORMALIZE:
        if (desc.n_values > 1 && load_unsigned(value(1)) != 0)
            aggregates.normalize(id, load_unsigned(value(1)));
        else
            complain("normalize() by zero: the aggregation is unchanged");
        break;
    case DT_LIBACT_DENORMALIZE:
        aggregates.denormalize(id);
        break;
    case DT_LIBACT_SETOPT:
        return setopt(ecb, data, std::string(load_string(value(0))),
                      desc.n_values > 1 ? std::string(load_string(value(1)))
                                        : std::string());
    case DT_LIBACT_FTRUNCATE:
        if (auto committed = out.commit({&data}); !committed)
            return committed;
        if (auto truncated = out.truncate(); !truncated)
            complain(truncated.error().text);
        break;
    default:
        break;
    }
    return Ok{};
}

// Implements setopt(). Reports a fault if the new value is refused.
Result<Ok> Runner::setopt(const EcbState& ecb, const ProbeData& data,
                          const std::string& name, const std::string& value)
{
    if (!events_) {
        (void)static_cast<bool>(display.set(name, value));
        return Ok{};
    }
    auto refused = events_->setopt(name, value);
    if (!refused)
        return Ok{};
    FaultEvent event;
    event.ecb = &ecb.info;
    event.cpu = data.cpu;
    event.fault = DTRACEFLT_LIBRARY;
    event.text =
        "couldn't set option \"" + name + "\" to \"" + value + "\": " + *refused;
    if (!events_->fault(event))
        return stopped("the error callback");
    return Ok{};
}

void Runner::complain(const std::string& text)
{
    if (events_)
        events_->complain(text);
}

} // namespace dt
