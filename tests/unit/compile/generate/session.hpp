// SPDX-License-Identifier: MIT
// Runs a D program in an arena of the test process, which is both host and target. A
// read of an invalid address causes a fault.
#pragma once

#include "dif/actions.h"
#include "dif/engine.h"
#include "dif/vars.h"
#include "libdtrace/compile/compiler.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
#include <vector>

namespace dt::gen {

struct Value {
    std::uint32_t kind = 0;
    std::string bytes;

    // Returns the number that trace() would print, sign-extended.
    std::int64_t number() const
    {
        std::int64_t out = 0;
        std::memcpy(&out, bytes.data(), std::min(bytes.size(), sizeof out));
        unsigned unused_bits = 64 - 8 * static_cast<unsigned>(bytes.size());
        return bytes.size() >= 8
                   ? out
                   : std::int64_t(std::uint64_t(out) << unused_bits) >> unused_bits;
    }
    std::string text() const { return std::string(bytes.c_str()); }
};

struct Rec {
    std::uint32_t fault = 0; // 1000000 + DTRACEFLT_* if the clause faulted
    std::vector<Value> values;
};

class Session {
public:
    Session()
    {
        dt_arena_config config = {};
        for (dt_u64& option : config.options)
            option = DT_OPT_UNSET;
        config.options[DTRACEOPT_bufsize] = 1 << 20;
        config.n_shards = 1;
        dt_u64 program_bytes = 0;
        dt_arena_layout(&config, &program_bytes, &bytes_);
        arena_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        EXPECT_NE(arena_, MAP_FAILED);
        dt_arena_init(arena_, &config);
        for (const char* name : {"BEGIN", "END", "ERROR"})
            dt_probe_add(arena_, "dtrace", "", "", name);
        probe_ = dt_probe_add(arena_, "test", "mod", "func", "p");
        dt_activity_advance(arena_, DT_ACTIVITY_INACTIVE, DT_ACTIVITY_WARMUP);
        dt_activity_advance(arena_, DT_ACTIVITY_WARMUP, DT_ACTIVITY_ACTIVE);

        ops_.timestamp = [](dt_host* host) { return ++self(host).clock_; };
        ops_.walltime = [](dt_host*) { return dt_u64{1000000000}; };
        ops_.load = load_self;
        ops_.load_string = load_string_self;
        ops_.var = [](dt_host*, dt_u32 id, dt_u32 index, dt_u64* value) {
            *value = id == DIF_VAR_uregs ? 1000 + index : 42;
            return 0;
        };
        ops_.var_string = [](dt_host*, dt_u32, dt_u32, char* to, dt_u64 max) {
            return dt_u64(snprintf(to, max, "csh"));
        };
        host_.ops = &ops_;
        host_.arena = arena_;
        host_.owner = static_cast<dt_u32>(gettid());
        host_.has_target = 1;
        host_.thread_key = 7;
        host_.self = this;
        options.string_program = true;
    }
    ~Session() { munmap(arena_, bytes_); }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    // Loads a program. fire() runs all of its clauses, regardless of their probe
    // descriptions.
    testing::AssertionResult load(const std::string& text)
    {
        auto compiled = compiler.compile(text, options);
        if (auto* diagnostic = std::get_if<Diagnostic>(&compiled))
            return testing::AssertionFailure()
                   << tag_name(diagnostic->tag) << " line " << diagnostic->at.line
                   << ": " << diagnostic->text << "\n"
                   << text;
        program = std::move(std::get<Program>(compiled));
        auto dof = write_dof(program, 0);
        dt_load_error error = {};
        dt_u32 first = 0, n = 0;
        if (dt_load(arena_, dof.data(), dof.size(), &first, &n, &error) != 0)
            return testing::AssertionFailure()
                   << "dt_load: " << error.text << " at " << error.where << "\n"
                   << text << disassembly();
        for (dt_u32 i = first; i < first + n; i++)
            if (dt_ecb_add(arena_, probe_, i) == 0)
                return testing::AssertionFailure() << "no ECB";
        return testing::AssertionSuccess();
    }

    std::string disassembly() const
    {
        std::string out;
        for (const CompiledClause& clause : program.clauses) {
            if (clause.predicate)
                out += disassemble(*clause.predicate);
            for (const Action& action : clause.actions)
                if (action.difo)
                    out += disassemble(*action.difo);
        }
        return out;
    }

    void fire(std::vector<dt_u64> args = {})
    {
        dt_fire(&host_, probe_, args.data(), static_cast<dt_u32>(args.size()));
    }

    std::vector<Rec> records()
    {
        std::string buffer(1 << 20, '\0');
        dt_s64 n = dt_drain_principal(arena_, 0, host_.owner, buffer.data(),
                                      buffer.size(), nullptr, nullptr);
        EXPECT_GE(n, 0);
        std::vector<Rec> out;
        for (dt_s64 at = 0; at < n;) {
            dt_rechdr header;
            std::memcpy(&header, buffer.data() + at, sizeof header);
            if (header.epid == 0)
                break;
            out.push_back(record(buffer.data() + at, header, at));
        }
        return out;
    }

    std::vector<Value> run(const std::string& text)
    {
        auto loaded = load(text);
        EXPECT_TRUE(loaded);
        if (!loaded)
            return {};
        fire({11, 22});
        auto made = records();
        EXPECT_EQ(made.size(), 1u) << text;
        if (made.size() != 1)
            return {};
        EXPECT_EQ(made[0].fault, 0u) << text << disassembly();
        return made[0].values;
    }

    void* arena() { return arena_; }
    dt_host& host() { return host_; }

    Compiler compiler;
    CompileOptions options;
    Program program;

private:
    static Session& self(dt_host* host) { return *static_cast<Session*>(host->self); }

    static int load_self(dt_host*, dt_u64 addr, void* to, dt_u64 bytes, dt_u64* bad)
    {
        iovec local{to, bytes}, remote{reinterpret_cast<void*>(addr), bytes};
        *bad = addr;
        return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) ==
                       static_cast<ssize_t>(bytes)
                   ? 0
                   : -1;
    }

    static dt_s64 load_string_self(dt_host* host, dt_u64 addr, char* to, dt_u64 max,
                                   dt_u64* bad)
    {
        for (dt_u64 i = 0; i < max; i++) {
            if (load_self(host, addr + i, to + i, 1, bad) != 0)
                return -1;
            if (to[i] == '\0')
                return static_cast<dt_s64>(i);
        }
        return static_cast<dt_s64>(max);
    }

    Rec record(const char* at, const dt_rechdr& header, dt_s64& offset)
    {
        auto* arena = static_cast<dt_arena*>(arena_);
        auto* ecbs = static_cast<dt_ecb*>(dt_at(arena_, arena->ecbs.at));
        auto* clauses = static_cast<dt_clause*>(dt_at(arena_, arena->clauses.at));
        const dt_clause& clause = clauses[ecbs[header.epid - 1].clause];
        Rec out;
        if (header.flags & DT_REC_ERROR) {
            dt_rec_error error;
            std::memcpy(&error, at + sizeof header, sizeof error);
            out.fault = 1000000 + error.fault;
            offset += static_cast<dt_s64>(sizeof header + sizeof error);
            return out;
        }
        auto* actions = static_cast<dt_action*>(dt_at(arena_, clause.actions));
        for (dt_u32 i = 0; i < clause.n_actions; i++)
            if (actions[i].rec_size != 0 && !actions[i].in_key &&
                !DTRACEACT_ISAGG(actions[i].kind))
                out.values.push_back(
                    {actions[i].kind,
                     std::string(at + actions[i].rec_offset, actions[i].rec_size)});
        offset += clause.rec_bytes;
        return out;
    }

    void* arena_ = nullptr;
    dt_u64 bytes_ = 0;
    dt_u32 probe_ = 0;
    dt_u64 clock_ = 1000;
    dt_host_ops ops_ = {};
    dt_host host_ = {};
};

} // namespace dt::gen
