// SPDX-License-Identifier: MIT
// Runs random clauses twice, compiled and interpreted. Both runs must leave the same
// registers, records, aggregations, variables and drops.
#include "tests/unit/runtime/native_places.hpp"
#include "tests/unit/runtime/native_support.hpp"

#include <gtest/gtest.h>
#include <map>
#include <sys/rseq.h>

using namespace runtime_test;

namespace {

class Generator : public Random {
public:
    using Random::Random;

    std::string clause(dt_rt_kind kind)
    {
        n_args_ = kind == DT_RT_RETURN ? 2 : kind == DT_RT_STATIC ? 10 : 6;
        std::string out =
            kind == DT_RT_RETURN ? "pid1:a.out:work:return " : "pid1:a.out:work:entry ";
        bool conditional = one_in(2);
        has_predicate |= conditional;
        if (conditional)
            out += "/" + (one_in(3) ? "self->x" : expression(one_in(2) ? 1 : 2)) + "/ ";
        out += "{ ";
        unsigned n = 1 + below(3);
        for (unsigned i = 0; i < n; i++)
            out += action(i);
        return out + "}";
    }
    // Set if a generated clause records data, or has a predicate.
    bool records = false, has_predicate = false;

private:
    std::string action(unsigned n)
    {
        std::string name = "@a" + std::to_string(n) + "_" + std::to_string(n_names_++);
        if (one_in(3))
            return record();
        if (one_in(2))
            name += "[" + key() + (one_in(2) ? ", " + key() : "") +
                    (one_in(4) ? ", " + key() : "") + "]";
        switch (below(6)) {
        case 0:
            return name + " = count(); ";
        case 1:
            return name + " = sum(" + expression(2) + "); ";
        case 2:
        case 3:
            return name + " = quantize(" + expression(2) + "); ";
        default:
            return std::string(one_in(3) ? "self->y" : "self->x") + " = " +
                   expression(2) + "; ";
        }
    }
    // Returns an expression for a key. Most keys have only a few different values. Some
    // keys are shorter than eight bytes.
    std::string key()
    {
        static const char* const names[] = {"probeprov", "probemod", "probefunc",
                                            "probename"};
        if (one_in(4))
            return names[below(4)];
        static const char* const casts[] = {"(char)", "(short)", "(int)", "(int64_t)"};
        std::string value = expression(1 + below(2));
        if (!one_in(3))
            value = "(" + value + " & " + std::to_string(below(8)) + ")";
        return (one_in(3) ? casts[below(4)] : "") + value;
    }
    std::string record()
    {
        records = true;
        if (one_in(2))
            return "trace(" + std::string(one_in(2) ? "(char)" : "") + expression(2) +
                   "); ";
        std::string format = one_in(8) ? "x" : "", values;
        for (unsigned i = below(3) + format.empty(); i > 0; i--) {
            static const char* const casts[] = {"(char)", "(short)", "(int)",
                                                "(int64_t)"};
            format += " %d";
            values += std::string(", ") + casts[below(4)] + expression(1);
        }
        return "printf(\"" + format + "\"" + values + "); ";
    }
    std::string leaf()
    {
        switch (below(9)) {
        case 8:
            return one_in(2) ? "tid" : "pid";
        case 0:
            return "timestamp";
        case 1:
        case 2:
            return one_in(4) ? "self->y" : "self->x";
        case 3:
            return std::to_string(below(100));
        case 4:
            return "(int64_t)0x" + hex(number());
        default:
            return "arg" + std::to_string(below(n_args_));
        }
    }
    static std::string hex(std::uint64_t n)
    {
        char text[20];
        std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(n));
        return text;
    }
    std::string expression(unsigned depth)
    {
        static const char* const binary[] = {
            "+", "-", "*", "&", "|", "^", "==", "!=", "<", ">", "<=", ">=", "&&", "||"};
        if (depth == 0)
            return leaf();
        switch (below(8)) {
        case 0:
            return leaf();
        case 1:
            return "(~" + expression(depth - 1) + ")";
        case 2:
            return "(" + expression(depth - 1) + (one_in(2) ? " << " : " >> ") +
                   std::to_string(below(64)) + ")";
        case 3: {
            static const char* const casts[] = {"int", "unsigned char", "short",
                                                "uint64_t"};
            return "((" + std::string(casts[below(4)]) + ")" + expression(depth - 1) +
                   ")";
        }
        case 4:
            return "(" + expression(depth - 1) + " ? " + expression(depth - 1) + " : " +
                   expression(depth - 1) + ")";
        default:
            return "(" + expression(depth - 1) + " " + binary[below(14)] + " " +
                   expression(depth - 1) + ")";
        }
    }

    unsigned n_args_ = 6, n_names_ = 0;
};

// Changes the conditions of a firing at random. If the clause needs no shard, the shard
// stays free and the lease stays valid, because compiled code checks neither of them.
void disturb(Generator& random, InProcess& runtime, bool shard_is_needed)
{
    dt_session& session = runtime.session.session();
    runtime.config().alive = random.one_in(20) ? 0x40000000 : 1;
    runtime.config().rseq = !random.one_in(5) && __rseq_size != 0;
    session.activity = random.one_in(20) ? random.below(7) : 0u + DT_ACTIVITY_ACTIVE;
    session.clock.mono_ns += random.below(1000);
    bool busy = random.one_in(20), over = random.one_in(20);
    runtime.session.shard(0).lock = shard_is_needed && busy;
    session.lease_until = shard_is_needed && over ? 1 : 0;
}

struct Outcome {
    std::map<std::pair<std::uint32_t, std::string>, std::vector<std::uint64_t>>
        aggregations;
    std::vector<std::string> records;
    std::vector<std::uint64_t> slots;
    std::uint64_t drops = 0;
    std::uint64_t fired = 0; // number of firings that the engine ran
    bool counted = false;    // whether compiled code has updated counters
};

std::string hex(const std::string& bytes)
{
    std::string out;
    for (unsigned char byte : bytes) {
        char text[4];
        std::snprintf(text, sizeof text, "%02x", byte);
        out += text;
    }
    return out;
}

std::string shown(const Outcome& outcome)
{
    std::string out = "drops " + std::to_string(outcome.drops) + "\n";
    for (const auto& [id, words] : outcome.aggregations) {
        out += "@" + std::to_string(id.first) + "[" + hex(id.second) + "]:";
        for (std::size_t i = 0; i < words.size(); i++)
            if (words[i] != 0)
                out += " " + std::to_string(i) + "=" + std::to_string(words[i]);
        out += "\n";
    }
    for (const std::string& record : outcome.records)
        out += record + "\n";
    for (std::uint64_t word : outcome.slots)
        out += " " + std::to_string(word);
    return out;
}

// Returns a record as text. Omits the bytes between the values, which are undefined.
std::string shown(InProcess& runtime, const dif_test::Record& record)
{
    const auto* ecbs = static_cast<dt_ecb*>(
        dt_at(runtime.session.memory(), runtime.session.arena().ecbs.at));
    const dt_clause& clause = runtime.session.clause(ecbs[record.epid - 1].clause);
    const auto* actions =
        static_cast<dt_action*>(dt_at(runtime.session.memory(), clause.actions));
    std::string out = std::to_string(record.epid) + " flags " +
                      std::to_string(record.flags) + " at " +
                      std::to_string(record.timestamp);
    if ((record.flags & DT_REC_ERROR) != 0)
        return out + " fault " + hex(record.payload);
    for (std::uint32_t i = 0; i < clause.n_actions; i++)
        if (actions[i].rec_size != 0 && actions[i].in_key == 0)
            out += " " +
                   hex(record.payload.substr(actions[i].rec_offset - sizeof(dt_rechdr),
                                             actions[i].rec_size));
    return out;
}

Outcome outcome_of(InProcess& runtime)
{
    Outcome out;
    runtime.session.shard(0).lock = 0;
    auto entries = runtime.session.counters();
    out.counted = !entries.empty();
    for (auto& each : runtime.session.aggregations())
        entries.push_back(std::move(each));
    for (const auto& each : entries) {
        auto& words = out.aggregations[{each.aggvar, each.key}];
        words.resize(each.value.size());
        for (std::size_t i = 0; i < words.size(); i++)
            words[i] += each.value[i];
    }
    for (const auto& record : runtime.session.records())
        out.records.push_back(shown(runtime, record));
    const dt_dyn_plan& plan = runtime.session.arena().dyn;
    const auto* slots =
        static_cast<std::uint64_t*>(dt_at(runtime.session.memory(), plan.slots));
    for (std::uint32_t i = 0; i < 2 * plan.n_slots; i++)
        if (slots[i] != 0)
            out.slots.push_back(slots[i]);
    for (auto kind : {DTRACEDROP_NOSHARD, DTRACEDROP_DYNAMIC, DTRACEDROP_LEASE,
                      DTRACEDROP_AGGREGATION, DTRACEDROP_PRINCIPAL})
        out.drops += runtime.session.drops(kind) << (8 * (kind % 8));
    out.drops += std::uint64_t{runtime.session.session().filled} << 63;
    out.fired = runtime.session.shard(0).fired;
    return out;
}

TEST(NativeRandom, ClausesDoWhatTheEngineDoes)
{
#ifdef __SANITIZE_ADDRESS__ // builds without the sanitizer run more programs
    constexpr unsigned n_programs = 600, n_firings = 50;
#else
    constexpr unsigned n_programs = 1500, n_firings = 50;
#endif
    const Places places;
    std::uint64_t frame[64];
    for (unsigned i = 0; i < std::size(frame); i++)
        frame[i] = i * 0x0123456789abcdef;
    unsigned n_counting = 0, n_recording = 0, n_cases = 0, n_of_static = 0;
    std::map<std::string, unsigned> refused;
    for (unsigned seed = 0; seed < n_programs && !testing::Test::HasFailure(); seed++) {
        const dt_rt_kind kind = seed % 4 == 3   ? DT_RT_STATIC
                                : seed % 3 == 2 ? DT_RT_RETURN
                                                : DT_RT_ENTRY;
        Generator program(seed);
        std::string text = "pid1:a.out:other:entry"
                           "{ self->x = (int64_t)0; self->y = (int64_t)0; } " +
                           program.clause(kind);
        unsigned n_clauses = 1;
        for (; seed % 6 > 3 && n_clauses < 2 + seed % 2; n_clauses++)
            text += program.clause(kind);
        std::vector<dt_operand> operands;
        for (unsigned n = program.below(12); kind == DT_RT_STATIC && n > 0; n--)
            operands.push_back(places.operand(program));
        bool shard_is_needed =
            program.records && !program.has_predicate && n_clauses == 1;
        Outcome outcomes[2];
        bool compiled = false;
        for (int native = 0; native < 2; native++) {
            InProcess runtime(text, 1, [seed](dt_arena_config& config) {
                if (seed % 5 == 0)
                    config.options[DTRACEOPT_bufsize] = 1024;
                if (seed % 4 == 0)
                    config.options[DTRACEOPT_bufpolicy] = DT_BUFPOLICY_FILL;
            });
            dt_clock& clock = runtime.session.session().clock;
            // An even seq that is not 0 makes the clock valid. Only disturb() advances
            // the clock.
            clock.seq = 2;
            clock.shift = 32;
            clock.mono_ns = 1000000;
            if (seed % 7 != 0)
                runtime.add_thread();
            places.show(runtime);
            InProcess::Probe probe = kind == DT_RT_RETURN ? ret : entry;
            probe.kind = kind;
            if (kind == DT_RT_STATIC)
                probe.arg0 = runtime.add_operands(operands);
            Function work =
                runtime.probed({probe}, reinterpret_cast<const void*>(probed_work));
            if (native != 0) {
                std::string why = runtime.compile(work);
                compiled = why.empty();
                refused[why]++;
            }
            Generator random(seed + 1000000);
            for (unsigned i = 0; i < n_firings; i++) {
                Registers before;
                auto* words = reinterpret_cast<std::uint64_t*>(&before);
                for (unsigned n = 0; n < sizeof before / 8; n++)
                    words[n] = random.number();
                before.rflags = 0x202 | (random.number() & arithmetic);
                before.rflags |= random.one_in(5) ? direction : 0;
                before.rflags |= random.one_in(5) ? alignment : 0;
                if (kind == DT_RT_STATIC)
                    places.point(random, before, frame);
                for (std::uint64_t& word : vectors_before)
                    word = random.number();
                disturb(random, runtime, shard_is_needed);
                Registers after = before;
                with_registers(&after, work);
                ASSERT_EQ(std::memcmp(&before, &after, sizeof before), 0) << text;
                ASSERT_EQ(
                    std::memcmp(vectors_before, vectors_after, sizeof vectors_after), 0)
                    << text;
            }
            outcomes[native] = outcome_of(runtime);
            n_cases += native != 0 && compiled ? n_firings : 0;
        }
        n_counting += outcomes[1].counted;
        n_recording +=
            !outcomes[1].records.empty() && outcomes[1].fired < outcomes[0].fired;
        n_of_static +=
            kind == DT_RT_STATIC && outcomes[1].fired + 20 < outcomes[0].fired;
        EXPECT_FALSE(outcomes[0].counted);
        EXPECT_EQ(shown(outcomes[0]), shown(outcomes[1])) << text;
    }
    EXPECT_GE(n_cases, n_programs * 20);
    EXPECT_GE(n_counting, n_programs / 15);
    EXPECT_GE(n_recording, n_programs / 15);
    // Static probes of which compiled code handled more than 20 firings.
    EXPECT_GE(n_of_static, n_programs / 40);
    for (const auto& [why, n] : refused)
        std::printf("%6u %s\n", n, why.empty() ? "compiled" : why.c_str());
}

} // namespace
