// SPDX-License-Identifier: MIT
// Builds sessions without the compiler and without the engine.
#include "session.hpp"

#include "dif/distribution.h"

#include <cstring>
#include <gtest/gtest.h>
#include <sys/mman.h>

namespace dt {

std::string field(std::string_view text, std::size_t bytes)
{
    std::string out(text);
    out.resize(bytes, '\0');
    return out;
}

void Session::Unmap::operator()(void* memory) const
{
    munmap(memory, bytes);
}

Session::Memory Session::zeroed(std::size_t bytes)
{
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return {memory, Unmap{bytes}};
}

std::size_t Session::add_arena()
{
    const auto* first = static_cast<dt_arena*>(memory_.front().get());
    memory_.push_back(zeroed(first->total_bytes));
    void* memory = memory_.back().get();
    std::memcpy(memory, first, first->total_bytes);
    const std::size_t number = memory_.size() - 1;
    consumer().add_arena(memory, static_cast<std::uint32_t>(number));
    return number;
}

Session::Session(std::uint32_t n_shards)
{
    dt_arena_config config{};
    for (dt_u64& option : config.options)
        option = DT_OPT_UNSET;
    config.options[DTRACEOPT_temporal] = 1;
    config.options[DTRACEOPT_bufsize] = 256 << 10;
    config.options[DTRACEOPT_aggsize] = 256 << 10;
    config.n_shards = n_shards;
    config.max_probes = config.max_ecbs = config.max_clauses = config.max_vars = 256;
    config.heap_bytes = 1 << 20;
    config.walltime = 1;
    dt_u64 program_bytes = 0, total_bytes = 0;
    dt_arena_layout(&config, &program_bytes, &total_bytes);
    memory_.push_back(zeroed(total_bytes));
    void* memory = memory_.back().get();
    dt_arena_init(memory, &config);
    heap_at_ = arena()->heap_used;
    for (const char* name : {"BEGIN", "END", "ERROR"})
        dt_probe_add(memory, "dtrace", "", "", name);
}

std::uint64_t Session::heap(std::size_t bytes)
{
    dt_arena* a = arena();
    std::uint64_t at = DT_ALIGN(a->heap_used, 8ull);
    a->heap_used = at + bytes;
    EXPECT_LE(a->heap_used, a->program_bytes);
    return at;
}

std::uint32_t Session::clause(std::vector<Entry> entries, const char* provider,
                              const char* module, const char* function,
                              const char* name)
{
    std::uint32_t probe = 0;
    const auto* probes = static_cast<dt_probe*>(dt_at(arena(), arena()->probes.at));
    auto same = [&](dt_off at, const char* text) {
        return std::string_view(at ? static_cast<char*>(dt_at(arena(), at)) : "") ==
               text;
    };
    for (std::uint32_t i = 0; i < arena()->probes.n; i++)
        if (same(probes[i].provider, provider) && same(probes[i].mod, module) &&
            same(probes[i].func, function) && same(probes[i].name, name))
            probe = i + 1;
    if (probe == 0)
        probe = dt_probe_add(arena(), provider, module, function, name);
    return clause_on(probe, std::move(entries));
}

// Returns the DIF object that the compiler generates for a constant.
static std::shared_ptr<Difo> difo_of(const ConstantValue& constant)
{
    auto difo = std::make_shared<Difo>();
    const auto* word = std::get_if<std::uint64_t>(&constant);
    if (word)
        difo->ints = {*word};
    else
        difo->strs = std::string(1, '\0') + std::get<std::string>(constant) + '\0';
    difo->text = {word ? DIF_INSTR_WITH_IDX(DIF_OP_SETX, 0, 1)
                       : DIF_INSTR_WITH_IDX(DIF_OP_SETS, 1, 1),
                  DIF_INSTR(DIF_OP_RET, 0, 0, 1)};
    difo->rtype.kind =
        static_cast<dt_u8>(word != nullptr ? DIF_TYPE_CTF : DIF_TYPE_STRING);
    return difo;
}

std::uint32_t Session::clause_on(std::uint32_t probe, std::vector<Entry> entries)
{
    dt_arena* a = arena();
    CompiledClause compiled;
    std::uint64_t at = heap(entries.size() * sizeof(dt_action));
    auto* actions = static_cast<dt_action*>(dt_at(a, at));
    std::uint32_t offset = sizeof(dt_rechdr), key_offset = 0;
    for (std::size_t i = 0; i < entries.size(); i++) {
        const Entry& entry = entries[i];
        dt_action& action = actions[i];
        std::uint32_t align = entry.bytes >= 8 ? 8 : entry.bytes < 2 ? 1 : entry.bytes;
        std::uint32_t& next = entry.in_key ? key_offset : offset;
        action.kind = entry.kind;
        action.ntuple = entry.ntuple;
        action.arg = entry.arg;
        action.uarg = entry.uarg;
        action.in_key = entry.in_key;
        if (entry.bytes != 0) {
            next = DT_ALIGN(next, align);
            action.rec_offset = next;
            action.rec_size = entry.bytes;
            next += entry.bytes;
        }
        if (DTRACEACT_ISAGG(entry.kind)) {
            action.key_bytes = DT_ALIGN(key_offset, 8u);
            action.value_bytes = dt_agg_value_bytes(entry.kind, entry.arg);
            key_offset = 0;
        }
        Action known;
        known.kind = entry.kind;
        known.type = entry.type;
        known.is_print = entry.is_print;
        known.difo = entry.constant ? difo_of(*entry.constant) : nullptr;
        int line = static_cast<int>(i) + 2;
        known.source = {{line}, "    action of line " + std::to_string(line) + ";"};
        if (!entry.format.empty()) {
            known.has_format = true;
            known.format = entry.format;
        }
        compiled.actions.push_back(known);
    }
    compiled.source = {{1}, "BEGIN {"};
    compiled.predicate_source = {{1}, "BEGIN /x/ {"};
    program_->clauses.push_back(compiled);
    auto* clauses = static_cast<dt_clause*>(dt_at(a, a->clauses.at));
    dt_clause& clause = clauses[a->clauses.n];
    clause.actions = at;
    clause.n_actions = static_cast<std::uint32_t>(entries.size());
    clause.rec_bytes = DT_ALIGN(offset, 8u);
    clause.flags = DT_CLAUSE_RECORDS;
    a->clauses.n++;
    return dt_ecb_add(a, probe, a->clauses.n - 1);
}

std::uint32_t Session::printf(const std::string& format,
                              std::vector<const Type*> values)
{
    std::vector<Entry> entries;
    for (const Type* type : values)
        entries.push_back({DTRACEACT_PRINTF,
                           static_cast<std::uint32_t>(type->resolve()->size), type});
    if (entries.empty())
        entries.push_back({DTRACEACT_PRINTF});
    entries[0].format = format;
    entries[0].ntuple = static_cast<std::uint32_t>(entries.size());
    return clause(entries);
}

dt_shard* Session::shard(std::uint32_t n)
{
    return static_cast<dt_shard*>(
        dt_at(arena(), arena()->shards + n * arena()->shard_bytes));
}

void Session::raw(std::uint32_t n, std::string_view bytes)
{
    dt_shard* s = shard(n);
    dt_buffer& buffer = s->principal[s->active];
    std::memcpy(static_cast<char*>(dt_at(arena(), buffer.at)) + buffer.used,
                bytes.data(), bytes.size());
    buffer.used += bytes.size();
}

void Session::record(std::uint32_t epid, std::string values, std::uint64_t time,
                     std::uint32_t n, std::uint16_t cpu, std::uint16_t flags)
{
    dt_rechdr header{epid, cpu, flags, time};
    std::string bytes = bytes_of(header) + values;
    bytes.resize(DT_ALIGN(bytes.size(), std::size_t{8}), '\0');
    raw(n, bytes);
}

void Session::raw_aggregations(std::uint32_t n, std::string_view bytes)
{
    dt_shard* s = shard(n);
    dt_buffer& buffer = s->agg[s->agg_active];
    if (buffer.used == 0)
        buffer.used = arena()->plan.agg_buckets * sizeof(dt_u32);
    std::memcpy(static_cast<char*>(dt_at(arena(), buffer.at)) + buffer.used,
                bytes.data(), bytes.size());
    buffer.used += bytes.size();
}

void Session::aggregate(std::uint32_t epid, std::string key, std::string value,
                        std::uint32_t n)
{
    const auto* ecb = static_cast<dt_ecb*>(dt_at(arena(), arena()->ecbs.at)) + epid - 1;
    const auto* clause =
        static_cast<dt_clause*>(dt_at(arena(), arena()->clauses.at)) + ecb->clause;
    const auto* actions = static_cast<dt_action*>(dt_at(arena(), clause->actions));
    key.resize(DT_ALIGN(key.size(), std::size_t{8}), '\0');
    dt_aggent entry{};
    for (std::uint32_t i = 0; i < clause->n_actions; i++)
        if (DTRACEACT_ISAGG(actions[i].kind)) {
            entry.action = i;
            entry.aggvar = static_cast<std::uint32_t>(actions[i].uarg);
        }
    entry.epid = epid;
    entry.key_bytes = static_cast<std::uint32_t>(key.size());
    entry.value_bytes = static_cast<std::uint32_t>(value.size());
    entry.bytes = static_cast<std::uint32_t>(sizeof entry + key.size() + value.size());
    raw_aggregations(n, bytes_of(entry) + key + value);
}

Consumer& Session::consumer()
{
    if (!consumer_) {
        Consumer::Config config;
        config.arena = memory_.front().get();
        config.symbols = symbols;
        config.events = this;
        config.clock = [this] { return now; };
        config.per_cpu = per_cpu;
        consumer_ = std::make_unique<Consumer>(config);
        consumer_->add_program(program_, 0);
    }
    return *consumer_;
}

std::string Session::drain(DrainKind kind, RecordSink* sink)
{
    auto drained =
        consumer().drain(kind, output_, sink != nullptr ? *sink : print_all_);
    EXPECT_TRUE(drained);
    return std::exchange(output_.taken, {});
}

std::string Session::dump()
{
    EXPECT_TRUE(consumer().print_aggregations(output_));
    return std::exchange(output_.taken, {});
}

bool Session::fault(const FaultEvent& event)
{
    faults.push_back(event);
    return true;
}

bool Session::drop(const DropEvent& event)
{
    drops.push_back(event.text);
    return true;
}

std::optional<std::string> Session::setopt(std::string_view name,
                                           std::string_view value)
{
    options_set.emplace_back(name, value);
    auto set = consumer().display().set(name, value);
    return set ? std::nullopt : std::optional(set.error().text);
}

void Session::complain(std::string_view text)
{
    complaints.emplace_back(text);
}

} // namespace dt
