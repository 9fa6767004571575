// SPDX-License-Identifier: MIT
// Runs each case as one clause, which traces the DIFO's result. Compares the outcome
// with the expected outcome.
#include "tests/dif/runner.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tests/dif/dif_text.hpp"
#include "tests/unit/dif/session.hpp"

namespace dif_test {
namespace {

// clang-format off
const std::map<std::string, unsigned>& fault_names()
{
    static const std::map<std::string, unsigned> table = {
#define X(name, number, text, address) {#name, number},
        DIF_FAULTS(X)
#undef X
    };
    return table;
}
const std::map<std::string, unsigned>& option_names()
{
    static const std::map<std::string, unsigned> table = {
#define X(name, number, kind, value, dynamic) {#name, number},
        DIF_OPTIONS(X)
#undef X
    };
    return table;
}
const std::map<std::string, unsigned>& variable_names()
{
    static const std::map<std::string, unsigned> table = {
#define X(name, number, type, source) {#name, number},
        DIF_VAR_ARRAYS(X) DIF_VAR_SCALARS(X)
#undef X
    };
    return table;
}
// clang-format on

std::uint64_t number(const std::string& word)
{
    return word[0] == '-' ? -std::stoull(word.substr(1), nullptr, 0)
                          : std::stoull(word, nullptr, 0);
}

dif_type type_of(std::istringstream& in)
{
    std::string kind;
    unsigned size = 8;
    in >> kind;
    if (kind == "string")
        return string_type();
    in >> size;
    if (kind == "int")
        return int_type(size);
    if (kind == "bytes")
        return bytes_type(size);
    if (kind == "ubytes") {
        dif_type type = bytes_type(size);
        type.flags = DIF_TF_BYUREF;
        return type;
    }
    throw std::runtime_error("unknown type " + kind);
}

unsigned scope_of(const std::string& word)
{
    static const std::map<std::string, unsigned> scopes = {
        {"global", DIFV_SCOPE_GLOBAL},
        {"thread", DIFV_SCOPE_THREAD},
        {"local", DIFV_SCOPE_LOCAL}};
    return scopes.at(word);
}

std::string rest_string(std::istringstream& in)
{
    std::string rest;
    std::getline(in, rest);
    std::size_t at = rest.find('"');
    if (at == std::string::npos)
        throw std::runtime_error("expected a string");
    return quoted(rest, at);
}

void expect(Case& c, std::istringstream& in)
{
    std::string word, rest;
    in >> std::ws;
    if (in.peek() == '"') {
        c.text = rest_string(in);
        return;
    }
    in >> word;
    if (word == "fault") {
        in >> word;
        c.fault = fault_names().at(word);
        if (in >> word)
            c.fault_value = number(word);
    } else if (word == "refused") {
        std::getline(in, rest);
        std::size_t at = rest.find('"');
        c.refused = quoted(rest, at);
        at = rest.find("at ", at);
        if (at != std::string::npos)
            c.refused_at = number(rest.substr(at + 3));
    } else {
        c.value = number(word);
    }
}

void directive(Case& c, const std::string& line, bool& in_text)
{
    std::istringstream in(line);
    std::string word, name;
    std::uint32_t id;
    in >> word;
    if (word == "text") {
        in_text = true;
    } else if (word == "without") { // "without float": the host has no floating point
        c.has_float = false;
    } else if (word == "args" || word == "frames") {
        auto& list = word == "args" ? c.args : c.frames;
        while (in >> name)
            list.push_back(number(name));
    } else if (word == "target") {
        c.target = rest_string(in);
        c.has_target = true;
    } else if (word == "after") {
        in >> name;
        c.after_target = rest_string(in);
    } else if (word == "var" || word == "array") {
        std::string scope, hex;
        in >> scope >> hex >> name;
        id = number(hex);
        dif_type type = type_of(in);
        c.difo.variable(name, id, scope_of(scope), type,
                        word == "array" ? DIFV_KIND_ARRAY : DIFV_KIND_SCALAR);
    } else if (word == "number") {
        std::string value;
        in >> name >> value;
        c.numbers[std::isdigit(name[0]) ? number(name) : variable_names().at(name)] =
            number(value);
    } else if (word == "string") {
        in >> name;
        c.strings[std::isdigit(name[0]) ? number(name) : variable_names().at(name)] =
            rest_string(in);
    } else if (word == "option") {
        std::string value;
        in >> name >> value;
        c.options[option_names().at(name)] = number(value);
    } else if (word == "returns") {
        c.difo.returns(type_of(in));
    } else if (word == "expect") {
        expect(c, in);
    } else {
        throw std::runtime_error("unknown directive " + word);
    }
}

std::string quote(const std::string& s)
{
    return "\"" + s + "\"";
}

std::string describe_fault(const Record& r)
{
    return "fault " + std::to_string(r.error().fault) + " value " +
           std::to_string(r.error().value) + " at offset " +
           std::to_string(r.error().offset);
}

std::string check_record(const Case& c, const Record& r, unsigned size)
{
    if (r.flags & DT_REC_ERROR) {
        if (!c.fault)
            return "unexpected " + describe_fault(r);
        if (r.error().fault != *c.fault ||
            (c.fault_value && r.error().value != *c.fault_value))
            return "wrong " + describe_fault(r);
        return "";
    }
    if (c.fault)
        return "no fault";
    if (c.text) {
        std::string got = c.difo.rtype.kind == DIF_TYPE_STRING
                              ? r.text()
                              : r.payload.substr(0, c.text->size());
        return got == *c.text ? "" : "got " + quote(got);
    }
    std::uint64_t got = 0;
    std::memcpy(&got, r.payload.data(), size);
    return c.value && got == *c.value ? "" : "got " + std::to_string(got);
}

} // namespace

std::vector<Case> read_cases(const std::string& path)
{
    std::ifstream in(path);
    std::vector<Case> cases;
    std::string line;
    bool in_text = false;
    unsigned number = 0;

    while (std::getline(in, line)) {
        number++;
        std::size_t first = line.find_first_not_of(" \t");
        if (first == std::string::npos || line[first] == '#')
            continue;
        try {
            if (line.rfind("case ", 0) == 0) {
                cases.emplace_back();
                cases.back().file = path.substr(path.rfind('/') + 1);
                cases.back().title = line.substr(5);
                cases.back().line = number;
                in_text = false;
            } else if (cases.empty()) {
                throw std::runtime_error("no case yet");
            } else if (in_text && first > 0) {
                assemble(cases.back().difo, line.substr(first));
            } else {
                in_text = false;
                directive(cases.back(), line, in_text);
            }
        } catch (const std::exception& e) {
            throw std::runtime_error(path + ":" + std::to_string(number) + ": " +
                                     e.what());
        }
    }
    return cases;
}

std::string run_case(const Case& c)
{
    Session s;
    for (auto [option, value] : c.options)
        s.config.options[option] = value;
    s.config.has_float = c.has_float;
    s.host.numbers = c.numbers;
    s.host.strings = c.strings;
    s.host.frames = c.frames;
    s.host.target.assign(c.target.begin(), c.target.end());
    s.host.host.has_target = c.has_target || !c.numbers.empty() || !c.frames.empty();
    DofBuilder dof;
    dof.clause("pid1:mod:func:probe").trace(c.difo);
    std::string refused = s.load(dof);
    if (c.refused) {
        if (refused != *c.refused)
            return refused.empty() ? "was accepted" : "refused as " + quote(refused);
        if (c.refused_at && s.error.where != *c.refused_at)
            return "refused at " + std::to_string(s.error.where);
        return "";
    }
    if (!refused.empty())
        return "refused: " + refused + " at " + std::to_string(s.error.where);
    s.fire("probe", c.args);
    auto records = s.records();
    if (records.size() != 1)
        return std::to_string(records.size()) + " records";
    std::string wrong = check_record(c, records[0], c.difo.rtype.size);
    if (wrong.empty() && c.after_target &&
        std::string(s.host.target.begin(), s.host.target.end()) != *c.after_target)
        wrong = "the target's memory differs";
    return wrong;
}

} // namespace dif_test
