// SPDX-License-Identifier: MIT
// D's own names, expanded from the tables of dif/: builtin variables, subroutines,
// actions, aggregating functions. Names that begin with pr_ or fi_ are members of
// curpsinfo and of fds[n], not variables of their own.
#pragma once

#include "libdtrace/compile/attributes.hpp"
#include "libdtrace/compile/version.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace dt {

struct VariableRow {
    enum class Source { ENGINE, ARG, NUMBER, STRING, KERNEL, TYPED };
    const char* name;
    std::uint32_t id;
    const char* type;
    Source source;
    bool array;
};

struct SubroutineRow {
    const char* name;
    std::uint32_t id;
    const char* prototype;
    const char* where; // "ANY", "WRITE", "KERNEL", "NONE"
};

struct ActionRow {
    const char* name;
    std::uint32_t kind;
    int libact;
    const char* prototype;
    const char* flags; // of "D", "W", "K", "N"
};

struct AggRow {
    const char* name;
    std::uint32_t kind;
    const char* prototype;
};

// Null when there is no such name.
const VariableRow* find_variable_row(std::string_view name); // no members
const VariableRow* find_member_row(std::string_view name);   // only these
const SubroutineRow* find_subroutine_row(std::string_view name);
const ActionRow* find_action_row(std::string_view name);
const AggRow* find_agg_row(std::string_view name);

// The index into uregs[] that R_RIP and the like name; nothing when there is none.
std::optional<std::uint64_t> find_ureg(std::string_view name);
// How many there are.
std::uint64_t n_uregs();

// curpsinfo, curlwpsinfo, fds: only their members can be requested.
bool is_structure(std::string_view name);

// A member of curpsinfo or curlwpsinfo, and the builtin or the number it stands for.
struct PsinfoRow {
    enum class Kind { Variable, Number, Kernel };
    const char* member;
    Kind kind;
    const char* variable; // Variable
    std::uint64_t number; // Number
};
const PsinfoRow* find_psinfo_row(std::string_view structure, std::string_view member);

// How stable a name of these is, and since when it is there.
struct BuiltinFacts {
    Attributes attributes = stable_attributes;
    Version since = first_version;
};
BuiltinFacts facts_of(std::string_view name);

// Names for "did you mean": variables and their like, or what can be called.
std::vector<std::string_view> variable_names();
std::vector<std::string_view> function_names();

} // namespace dt
