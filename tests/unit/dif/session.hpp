// SPDX-License-Identifier: MIT
// A session for tests: an arena, a host with a small target, and decoded records and
// aggregations.
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "dif/distribution.h"
#include "dif/engine.h"
#include "tests/unit/dif/dof_builder.hpp"

namespace dif_test {

// A host for the engine. A test sets the values that the host returns.
struct FakeHost {
    dt_host host{};
    std::uint64_t clock = 1000, step = 10, wall = 1700000000000000000;
    std::uint64_t target_at = 0x10000; // address of the target's memory
    std::vector<char> target;
    std::map<unsigned, std::uint64_t> numbers;
    std::map<unsigned, std::string> strings;
    std::vector<std::uint64_t> frames;
    std::vector<int> raised;
    int stopped = 0;

    FakeHost()
    {
        host.ops = &ops();
        host.owner = 77;
        host.thread_key = 5;
        host.self = this;
        host.has_target = 1;
    }
    FakeHost(const FakeHost&) = delete;

    static FakeHost& of(dt_host* h) { return *static_cast<FakeHost*>(h->self); }
    static const dt_host_ops& ops();
};

struct Record {
    std::uint32_t epid;
    std::uint16_t cpu, flags;
    std::uint64_t timestamp;
    std::string payload; // the bytes after the header
    std::uint64_t u64(std::size_t at = 0) const
    {
        std::uint64_t v;
        std::memcpy(&v, payload.data() + at, 8);
        return v;
    }
    std::string text(std::size_t at = 0) const { return payload.c_str() + at; }
    dt_rec_error error() const
    {
        dt_rec_error e;
        std::memcpy(&e, payload.data(), sizeof(e));
        return e;
    }
};

struct AggEntry {
    std::uint32_t aggvar, epid;
    std::string key;
    std::vector<std::uint64_t> value;
};

class Session {
public:
    dt_arena_config config{};
    FakeHost host;

    Session()
    {
        for (auto& option : config.options)
            option = DT_OPT_UNSET;
        config.options[DTRACEOPT_bufsize] = 64 << 10;
        config.options[DTRACEOPT_aggsize] = 64 << 10;
        // Without quiet, a clause that only stores variables would record an empty row.
        config.options[DTRACEOPT_quiet] = 1;
        config.n_shards = 2;
        config.walltime = 1;
        config.has_float = 1;
        config.max_clauses = 256;
        config.heap_bytes = 4 << 20;
    }
    ~Session()
    {
        if (memory_)
            munmap(memory_, total_);
    }
    Session(const Session&) = delete;

    // Lays out the arena, and adds BEGIN, END and ERROR.
    void start()
    {
        std::uint64_t program;
        dt_arena_layout(&config, &program, &total_);
        memory_ = mmap(nullptr, total_, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory_ == MAP_FAILED)
            throw std::runtime_error("mmap");
        dt_arena_init(memory_, &config);
        host.host.arena = memory_;
        for (const char* name : {"BEGIN", "END", "ERROR"})
            dt_probe_add(memory_, "dtrace", "", "", name);
        dt_activity_advance(memory_, DT_ACTIVITY_INACTIVE, DT_ACTIVITY_ACTIVE);
    }
    void* memory() { return memory_; }
    std::uint64_t total_bytes() const { return total_; }
    dt_arena& arena() { return *static_cast<dt_arena*>(memory_); }
    dt_session& session()
    {
        return *static_cast<dt_session*>(dt_at(memory_, arena().session));
    }
    dt_shard& shard(unsigned n)
    {
        return *static_cast<dt_shard*>(
            dt_at(memory_, arena().shards + n * arena().shard_bytes));
    }

    // Loads the program, and enables its clauses. Creates probes that do not exist.
    // Returns "", or the reason for a refusal.
    std::string load(DofBuilder& dof) { return load(dof.build()); }
    std::string load(const std::vector<char>& image)
    {
        std::uint32_t first = 0, n = 0, before = memory_ ? arena().enablings.n : 0;
        if (!memory_)
            start();
        error = {};
        if (dt_load(memory_, image.data(), image.size(), &first, &n, &error) != 0)
            return error.text;
        auto* enablings =
            static_cast<dt_enabling*>(dt_at(memory_, arena().enablings.at));
        for (std::uint32_t i = before; i < arena().enablings.n; i++)
            dt_ecb_add(memory_, probe_named(enablings[i]), enablings[i].clause);
        return "";
    }
    dt_load_error error{};

    std::uint32_t probe(const std::string& name)
    {
        for (std::uint32_t id = 1; id <= arena().probes.n; id++) {
            if (text(probes()[id - 1].name) == name)
                return id;
        }
        return 0;
    }
    // Returns the id of provider:module:function:name. Adds the probe if it does not
    // exist.
    std::uint32_t probe_named(const std::string& full);
    void fire(const std::string& name, std::vector<std::uint64_t> args = {})
    {
        dt_fire(&host.host, probe(name), args.data(), args.size());
    }

    static int nobody_lives(std::uint32_t) { return 0; }
    static int all_live(std::uint32_t) { return 1; }

    std::vector<Record> records()
    {
        std::vector<Record> out;
        for (unsigned n = 0; n < arena().n_shards; n++) {
            for (;;) {
                std::vector<char> copy(arena().plan.principal_bytes);
                std::int64_t got = dt_drain_principal(memory_, n, 1, copy.data(),
                                                      copy.size(), all_live, nullptr);
                if (got <= 0)
                    break;
                decode(copy.data(), got, out);
            }
        }
        return out;
    }
    std::vector<AggEntry> aggregations()
    {
        std::vector<AggEntry> out;
        for (unsigned n = 0; n < arena().n_shards; n++) {
            std::vector<char> copy(arena().plan.agg_bytes);
            std::int64_t got = dt_drain_agg(memory_, n, 1, copy.data(), copy.size(),
                                            all_live, nullptr);
            decode_entries(copy.data(), got, out);
        }
        for (auto& entry : counters())
            out.push_back(std::move(entry));
        return out;
    }
    // Drains the counters that native code updates. Returns their entries.
    std::vector<AggEntry> counters()
    {
        std::vector<AggEntry> out;
        std::vector<char> copy(2 * DT_COUNTERS_BYTES);
        for (unsigned set = 0; set <= arena().counters.n_cpus; set++)
            for (dt_u64 from = 0; from != DT_COUNTERS_DONE;)
                decode_entries(
                    copy.data(),
                    dt_drain_counters(memory_, set, &from, copy.data(), copy.size()),
                    out);
        return out;
    }
    std::uint64_t drops(dif_drop kind)
    {
        std::uint64_t sum = session().drops[kind];
        for (unsigned n = 0; n < arena().n_shards; n++)
            sum += shard(n).drops[kind];
        return sum;
    }
    std::string text(dt_off at) { return static_cast<char*>(dt_at(memory_, at)); }
    dt_probe* probes()
    {
        return static_cast<dt_probe*>(dt_at(memory_, arena().probes.at));
    }
    dt_clause& clause(unsigned n)
    {
        return static_cast<dt_clause*>(dt_at(memory_, arena().clauses.at))[n];
    }

private:
    void* memory_ = nullptr;
    std::uint64_t total_ = 0;

    std::uint32_t probe_named(const dt_enabling& e)
    {
        for (std::uint32_t id = 1; id <= arena().probes.n; id++) {
            const dt_probe& p = probes()[id - 1];
            if (text(p.provider) == text(e.provider) && text(p.mod) == text(e.mod) &&
                text(p.func) == text(e.func) && text(p.name) == text(e.name))
                return id;
        }
        return dt_probe_add(memory_, text(e.provider).c_str(), text(e.mod).c_str(),
                            text(e.func).c_str(), text(e.name).c_str());
    }
    // Appends the entries of one buffer to `out`. Adds up entries with the same key.
    void decode_entries(const char* data, std::int64_t bytes,
                        std::vector<AggEntry>& out)
    {
        auto* ecbs = static_cast<dt_ecb*>(dt_at(memory_, arena().ecbs.at));
        const std::size_t first = out.size();
        for (std::int64_t at = 0; at < bytes;) {
            dt_aggent e;
            std::memcpy(&e, data + at, sizeof(e));
            AggEntry entry{e.aggvar, e.epid,
                           std::string(data + at + sizeof(e), e.key_bytes),
                           std::vector<std::uint64_t>(e.value_bytes / 8)};
            std::memcpy(entry.value.data(), data + at + sizeof(e) + e.key_bytes,
                        e.value_bytes);
            at += e.bytes;
            const auto& action = static_cast<dt_action*>(
                dt_at(memory_, clause(ecbs[e.epid - 1].clause).actions))[e.action];
            if (dt_agg_is_distribution(action.kind))
                merge_distribution(action, std::move(entry), out, first);
            else
                out.push_back(std::move(entry));
        }
    }
    static void merge_distribution(const dt_action& action, AggEntry entry,
                                   std::vector<AggEntry>& out, std::size_t first)
    {
        std::vector<std::uint64_t> words(action.value_bytes / 8);
        if (entry.value.size() == words.size())
            words = entry.value;
        else
            words.at(entry.value.at(0)) = entry.value.at(1);
        const bool has_arg = action.kind != DTRACEAGG_quantize;
        if (has_arg)
            words[0] = action.arg;
        for (std::size_t i = first; i < out.size(); i++)
            if (out[i].aggvar == entry.aggvar && out[i].key == entry.key) {
                for (std::size_t w = has_arg ? 1 : 0; w < words.size(); w++)
                    out[i].value.at(w) += words[w];
                return;
            }
        entry.value = std::move(words);
        out.push_back(std::move(entry));
    }
    void decode(const char* data, std::int64_t bytes, std::vector<Record>& out)
    {
        auto* ecbs = static_cast<dt_ecb*>(dt_at(memory_, arena().ecbs.at));
        for (std::int64_t at = 0; at < bytes;) {
            dt_rechdr h;
            std::memcpy(&h, data + at, sizeof(h));
            if (h.epid == 0 || h.epid > arena().ecbs.n)
                throw std::runtime_error("no such EPID in a record");
            std::uint32_t size = h.flags & DT_REC_ERROR
                                     ? sizeof(h) + sizeof(dt_rec_error)
                                     : clause(ecbs[h.epid - 1].clause).rec_bytes;
            out.push_back({h.epid, h.cpu, h.flags, h.timestamp,
                           std::string(data + at + sizeof(h), size - sizeof(h))});
            at += size;
        }
    }
};

} // namespace dif_test
