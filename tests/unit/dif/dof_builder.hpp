// SPDX-License-Identifier: MIT
// Builders of DIF and DOF for tests.
//
//   Difo d; d.ldgs(DIF_VAR_arg0, 1).ret(1).returns_int(8);
//   DofBuilder dof;
//   dof.clause("p:m:f:n").trace(d);
//   std::vector<char> image = dof.build();
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "dif/actions.h"
#include "dif/dof.h"
#include "dif/ops.h"
#include "dif/subrs.h"
#include "dif/vars.h"

namespace dif_test {

struct Variable {
    std::string name;
    std::uint32_t id;
    std::uint8_t kind, scope;
    dif_type type;
};

inline dif_type int_type(std::uint32_t size)
{
    return {DIF_TYPE_CTF, DIF_CKIND_INTEGER, 0, 0, size};
}
inline dif_type string_type()
{
    return {DIF_TYPE_STRING, DIF_CKIND_UNKNOWN, DIF_TF_BYREF, 0, 256};
}
inline dif_type bytes_type(std::uint32_t size)
{
    return {DIF_TYPE_CTF, DIF_CKIND_STRUCT, DIF_TF_BYREF, 0, size};
}

class Difo {
public:
    std::vector<std::uint32_t> text;
    std::vector<std::uint64_t> ints;
    std::string strings = std::string(1, '\0');
    std::vector<Variable> variables;
    dif_type rtype = int_type(8);

    Difo& word(std::uint32_t insn)
    {
        text.push_back(insn);
        return *this;
    }
    Difo& op(dif_op op, unsigned r1 = 0, unsigned r2 = 0, unsigned rd = 0)
    {
        return word(DIF_INSTR(op, r1, r2, rd));
    }
    Difo& indexed(dif_op op, unsigned index, unsigned rd)
    {
        return word(DIF_INSTR_WITH_IDX(op, index, rd));
    }
    Difo& branch(dif_op op, unsigned label)
    {
        return word(DIF_INSTR_WITH_LABEL(op, label));
    }
    Difo& setx(std::uint64_t value, unsigned rd)
    {
        ints.push_back(value);
        return indexed(DIF_OP_SETX, ints.size() - 1, rd);
    }
    Difo& sets(const std::string& text, unsigned rd)
    {
        unsigned at = strings.size();
        strings += text;
        strings += '\0';
        return indexed(DIF_OP_SETS, at, rd);
    }
    Difo& ldgs(unsigned id, unsigned rd) { return indexed(DIF_OP_LDGS, id, rd); }
    Difo& ret(unsigned rd) { return op(DIF_OP_RET, 0, 0, rd); }
    // Pushes a register as an argument or as an integer in a key.
    Difo& push(unsigned reg) { return op(DIF_OP_PUSHTV, DIF_TYPE_CTF, 0, reg); }
    Difo& push_string(unsigned reg)
    {
        return op(DIF_OP_PUSHTR, DIF_TYPE_STRING, 0, reg);
    }
    Difo& call(dif_subr subr, unsigned rd) { return indexed(DIF_OP_CALL, subr, rd); }
    Difo& flush() { return op(DIF_OP_FLUSHTS); }
    Difo& variable(const std::string& name, unsigned id, unsigned scope,
                   dif_type type = int_type(8), unsigned kind = DIFV_KIND_SCALAR)
    {
        variables.push_back({name, id, static_cast<std::uint8_t>(kind),
                             static_cast<std::uint8_t>(scope), type});
        return *this;
    }
    Difo& returns(dif_type type)
    {
        rtype = type;
        return *this;
    }
    Difo& returns_int(unsigned size) { return returns(int_type(size)); }
    Difo& returns_string() { return returns(string_type()); }
    Difo& returns_nothing() { return returns({0, 0, 0, 0, 0}); }
};

// Creates a DIFO that returns a constant.
inline Difo constant(std::uint64_t value, unsigned size = 8)
{
    return Difo().setx(value, 1).ret(1).returns_int(size);
}
inline Difo literal(const std::string& text)
{
    return Difo().sets(text, 1).ret(1).returns_string();
}
inline Difo builtin(unsigned id, unsigned size = 8)
{
    return Difo().ldgs(id, 1).ret(1).returns_int(size);
}

struct Action {
    std::uint32_t kind;
    std::optional<Difo> difo;
    std::uint32_t ntuple = 0;
    std::uint64_t arg = 0, uarg = 0;
    std::optional<std::string> format = {};
};

class Clause {
public:
    std::string provider, mod, func, name;
    std::optional<Difo> predicate;
    std::vector<Action> actions;
    std::uint32_t line = 1;

    Clause& when(Difo d)
    {
        predicate = std::move(d);
        return *this;
    }
    Clause& action(Action a)
    {
        actions.push_back(std::move(a));
        return *this;
    }
    Clause& trace(Difo d) { return action({DTRACEACT_DIFEXPR, std::move(d), 1}); }
    Clause& run(Difo d)
    {
        d.returns_nothing();
        return action({DTRACEACT_DIFEXPR, std::move(d)});
    }
    Clause& key(Difo d) { return action({DTRACEACT_DIFEXPR, std::move(d)}); }
    Clause& aggregate(dif_agg kind, unsigned id, unsigned keys,
                      std::optional<Difo> value = {}, std::uint64_t arg = 0)
    {
        return action(
            {static_cast<std::uint32_t>(kind), std::move(value), keys, arg, id});
    }
};

class DofBuilder {
public:
    // Adds a clause. `probe` has the form "provider:module:function:name".
    Clause& clause(const std::string& probe)
    {
        Clause c;
        std::string* fields[] = {&c.provider, &c.mod, &c.func, &c.name};
        unsigned n = 0;
        for (char ch : probe) {
            if (ch == ':')
                n++;
            else
                *fields[n] += ch;
        }
        clauses_.push_back(std::move(c));
        return clauses_.back();
    }

    std::vector<char> build()
    {
        sections_.clear();
        std::uint64_t number = 1;
        for (const Clause& c : clauses_)
            add_clause(c, number++);
        return image();
    }

    struct Section {
        dof_sec head;
        std::string bytes;
    };
    // Returns the sections, which a test can change to build invalid DOF.
    std::vector<Section>& sections() { return sections_; }

    std::vector<char> image()
    {
        dof_hdr h{};
        const std::uint8_t ident[] = {
            0x7f,           'D',         'O',         'F',           DOF_MODEL_LP64,
            DOF_ENCODE_LSB, DOF_VERSION, DIF_VERSION, DIF_DIR_NREGS, DIF_DTR_NREGS,
            DOF_ABI_LINUX};
        std::memcpy(h.ident, ident, sizeof(ident));
        h.hdrsize = sizeof(h);
        h.secsize = sizeof(dof_sec);
        h.secnum = sections_.size();
        h.secoff = sizeof(h);
        std::uint64_t at = sizeof(h) + sections_.size() * sizeof(dof_sec);
        for (Section& s : sections_) {
            at = (at + s.head.align - 1) / s.head.align * s.head.align;
            s.head.offset = at;
            s.head.size = s.bytes.size();
            at += s.bytes.size();
        }
        h.loadsz = h.filesz = at;
        std::vector<char> out(at);
        std::memcpy(out.data(), &h, sizeof(h));
        for (std::size_t i = 0; i < sections_.size(); i++) {
            std::memcpy(out.data() + sizeof(h) + i * sizeof(dof_sec),
                        &sections_[i].head, sizeof(dof_sec));
            std::memcpy(out.data() + sections_[i].head.offset,
                        sections_[i].bytes.data(), sections_[i].bytes.size());
        }
        return out;
    }

private:
    std::vector<Clause> clauses_;
    std::vector<Section> sections_;

    std::uint32_t add(std::uint32_t type, std::uint32_t align, std::uint32_t entsize,
                      std::string bytes)
    {
        sections_.push_back(
            {{type, align, DOF_SECF_LOAD, entsize, 0, 0}, std::move(bytes)});
        return sections_.size() - 1;
    }
    template <typename T> static std::string raw(const T* data, std::size_t n)
    {
        return std::string(reinterpret_cast<const char*>(data), n * sizeof(T));
    }

    std::uint32_t add_difo(Difo d)
    {
        std::vector<dif_varinfo> vars;
        for (const Variable& v : d.variables) {
            dif_varinfo info{};
            info.name = d.strings.size();
            info.id = v.id;
            info.kind = v.kind;
            info.scope = v.scope;
            info.flags = DIFV_F_REF | DIFV_F_MOD;
            info.type = v.type;
            d.strings += v.name + '\0';
            vars.push_back(info);
        }
        std::uint32_t links[4];
        links[0] = add(DOF_SECT_DIF, 4, 4, raw(d.text.data(), d.text.size()));
        links[1] = add(DOF_SECT_INTTAB, 8, 8, raw(d.ints.data(), d.ints.size()));
        links[2] = add(DOF_SECT_STRTAB, 1, 0, d.strings);
        links[3] =
            add(DOF_SECT_VARTAB, 4, sizeof(dif_varinfo), raw(vars.data(), vars.size()));
        return add(DOF_SECT_DIFOHDR, 4, 0, raw(&d.rtype, 1) + raw(links, 4));
    }

    void add_clause(const Clause& c, std::uint64_t number)
    {
        dof_ecbdesc ecb{};
        std::string strings(1, '\0');
        auto put = [&](const std::string& s) {
            std::uint32_t at = strings.size();
            strings += s + '\0';
            return at;
        };
        dof_probedesc p{};
        p.provider = put(c.provider);
        p.mod = put(c.mod);
        p.func = put(c.func);
        p.name = put(c.name);
        std::vector<dof_actdesc> actions;
        for (const Action& a : c.actions) {
            dof_actdesc d{};
            d.difo = a.difo ? add_difo(*a.difo) : DOF_SECIDX_NONE;
            d.strtab = DOF_SECIDX_NONE;
            d.kind = a.kind;
            d.ntuple = a.ntuple;
            d.arg = a.format ? put(*a.format) : a.arg;
            d.uarg = a.uarg;
            actions.push_back(d);
        }
        std::uint32_t strtab = add(DOF_SECT_STRTAB, 1, 0, strings);
        p.strtab = strtab;
        for (std::size_t i = 0; i < actions.size(); i++) {
            if (c.actions[i].format)
                actions[i].strtab = strtab;
        }
        ecb.pred = c.predicate ? add_difo(*c.predicate) : DOF_SECIDX_NONE;
        ecb.actions = actions.empty() ? DOF_SECIDX_NONE
                                      : add(DOF_SECT_ACTDESC, 8, sizeof(dof_actdesc),
                                            raw(actions.data(), actions.size()));
        ecb.probes = add(DOF_SECT_PROBEDESC, 4, 0, raw(&p, 1));
        ecb.line = c.line;
        ecb.uarg = number;
        add(DOF_SECT_ECBDESC, 8, sizeof(ecb), raw(&ecb, 1));
    }
};

} // namespace dif_test
