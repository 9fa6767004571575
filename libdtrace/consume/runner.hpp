// SPDX-License-Identifier: MIT
// Runs the actions of one record: prints text and performs other actions.
#pragma once

#include "libdtrace/consume/agg_print.hpp"
#include "libdtrace/consume/consumer.hpp"
#include "libdtrace/consume/ecb_table.hpp"

#include <optional>

namespace dt {

class Runner {
public:
    Runner(Symbolizer& symbols, Events* events) : symbols_(symbols), events_(events) {}

    Display display;
    Aggregates aggregates;
    std::optional<int> exit_status;

    // Calls the sink before each action.
    Result<Ok> run(EcbState& ecb, const ProbeData& data, Output& out, RecordSink& sink);
    // Prints the statement that starts at index `index` of EcbInfo::records.
    Result<Ok> print(EcbState& ecb, const ProbeData& data, std::size_t index,
                     Output& out);
    PrintContext context() { return {symbols_, display}; }

private:
    Result<Ok> run_structured(EcbState& ecb, const ProbeData& data, Output& out,
                              RecordSink& sink);
    Result<Ok> print_statement(EcbState& ecb, const ProbeData& data, std::size_t index,
                               Output& out);
    Result<Ok> formatted(EcbState& ecb, const ProbeData& data, std::size_t index,
                         Output& out);
    Result<Ok> run_program(const std::string& command, Output& out);
    Result<Ok> library_action(EcbState& ecb, const ProbeData& data, std::size_t index,
                              Output& out);
    Result<Ok> printa(EcbState& ecb, const ProbeData& data, std::size_t index,
                      Output& out);
    std::span<const std::byte> traced_memory(EcbState& ecb, const ProbeData& data,
                                             std::size_t index);
    void tracemem(EcbState& ecb, const ProbeData& data, std::size_t index, Output& out);
    Result<Ok> setopt(const EcbState& ecb, const ProbeData& data,
                      const std::string& name, const std::string& value);
    void complain(const std::string& text);
    static Error stopped(const char* who);

    Symbolizer& symbols_;
    Events* events_;
};

} // namespace dt
