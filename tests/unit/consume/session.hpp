// SPDX-License-Identifier: MIT
// A session that a test builds step by step. The test writes records to shards as the
// engine would.
#pragma once

#include "dif/engine.h"
#include "dif/ops.h"
#include "libdtrace/consume/constants.hpp"
#include "libdtrace/consume/consumer.hpp"

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

template <class T> std::string bytes_of(T value)
{
    return {reinterpret_cast<const char*>(&value), sizeof value};
}
// Returns text in a field of fixed width, padded with NULs.
std::string field(std::string_view text, std::size_t bytes);
template <class... T> std::string words(T... values)
{
    return (bytes_of(static_cast<std::uint64_t>(values)) + ...);
}

struct Entry {
    std::uint32_t kind = DTRACEACT_DIFEXPR;
    std::uint32_t bytes = 0;
    const Type* type = nullptr;
    std::string format;
    std::uint32_t ntuple = 1;
    std::uint64_t arg = 0, uarg = 0;
    bool in_key = false;
    bool is_print = false;
    std::optional<ConstantValue>
        constant; // a constant of the program; nullopt if the value is computed
};

// A sink that lets the consumer print every record.
struct PrintAll : RecordSink {
    Verdict probe(const ProbeData&) override { return Verdict::This; }
    Verdict record(const ProbeData&, const RecordDesc*) override
    {
        return Verdict::This;
    }
};

// Collects one line per record, as flowindent prints it: indentation, prefix and
// function.
struct FlowLines : PrintAll {
    std::string text;
    Verdict probe(const ProbeData& data) override
    {
        text.append(static_cast<std::size_t>(data.indent), ' ').append(data.prefix);
        text += data.probe->function;
        if (data.flow == Flow::None)
            text += ":" + data.probe->name;
        text += "\n";
        return Verdict::This;
    }
};

class Session : public Events {
public:
    explicit Session(std::uint32_t n_shards = 2);

    TypeTable types;
    std::string out; // the output so far
    std::vector<FaultEvent> faults;
    std::vector<std::string> drops;
    std::vector<std::string> complaints;
    std::vector<std::pair<std::string, std::string>> options_set;

    // Adds a clause with these actions to a probe. Returns the EPID.
    std::uint32_t clause(std::vector<Entry> entries, const char* provider = "dtrace",
                         const char* module = "", const char* function = "",
                         const char* name = "BEGIN");
    std::uint32_t clause_on(std::uint32_t probe, std::vector<Entry> entries);
    std::uint32_t printf(const std::string& format, std::vector<const Type*> values);

    // Writes a record. `values` contains the bytes of its values.
    void record(std::uint32_t epid, std::string values, std::uint64_t time = 0,
                std::uint32_t shard = 0, std::uint16_t cpu = 0,
                std::uint16_t flags = 0);
    void raw(std::uint32_t shard, std::string_view bytes);
    void aggregate(std::uint32_t epid, std::string key, std::string value,
                   std::uint32_t shard = 0);
    void raw_aggregations(std::uint32_t shard, std::string_view bytes);
    dt_shard* shard(std::uint32_t n);
    // Returns the arena that use_arena() selected.
    dt_arena* arena() { return static_cast<dt_arena*>(memory_.at(current_).get()); }
    // Adds an arena with the same program part. Returns its number for use_arena(). All
    // clauses must be added before this call.
    std::size_t add_arena();
    void use_arena(std::size_t n) { current_ = n; }

    // Creates the consumer on first use. All clauses must be added before this call.
    Consumer& consumer();
    // Runs one round of the consumer. Returns the output of that round.
    std::string drain(DrainKind kind = DrainKind::Final, RecordSink* sink = nullptr);
    // Prints all aggregations.
    std::string dump();

    std::uint64_t now = 1u << 30; // the consumer's clock
    Symbolizer* symbols = nullptr;
    bool per_cpu = false;

    bool fault(const FaultEvent& event) override;
    bool drop(const DropEvent& event) override;
    std::optional<std::string> setopt(std::string_view name,
                                      std::string_view value) override;
    void complain(std::string_view text) override;

private:
    struct Unmap {
        std::size_t bytes;
        void operator()(void* memory) const;
    };
    std::uint64_t heap(std::size_t bytes);

    using Memory = std::unique_ptr<void, Unmap>;
    static Memory zeroed(std::size_t bytes);

    std::vector<Memory> memory_;
    std::size_t current_ = 0; // index in memory_
    std::uint64_t heap_at_ = 0;
    std::shared_ptr<Program> program_ = std::make_shared<Program>();
    std::unique_ptr<Consumer> consumer_;
    StringOutput output_;
    PrintAll print_all_;
};

} // namespace dt
