// SPDX-License-Identifier: MIT
// The names that D defines: builtin variables, subroutines, actions and aggregating
// functions. They are expanded from the tables of dif/. Names that begin with pr_ or
// fi_ are members of curpsinfo, curlwpsinfo and fds[n]; programs cannot use them as
// variables.
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
    const char* where; // "ANY", "WRITE", "KERNEL" or "NONE", as in dif/subrs.h
};

struct ActionRow {
    const char* name;
    std::uint32_t kind;
    int libact;
    const char* prototype;
    const char* flags; // some of the letters D, W, K, N, as in dif/actions.h
};

struct AggRow {
    const char* name;
    std::uint32_t kind;
    const char* prototype;
};

// Return null if there is no such name. Only find_member_row() finds members of
// structures.
const VariableRow* find_variable_row(std::string_view name);
const VariableRow* find_member_row(std::string_view name);
const SubroutineRow* find_subroutine_row(std::string_view name);
const ActionRow* find_action_row(std::string_view name);
const AggRow* find_agg_row(std::string_view name);

// Returns the index into uregs[] of a register name such as R_RIP. Returns nullopt if
// there is no such register.
std::optional<std::uint64_t> find_ureg(std::string_view name);
// Returns the number of elements of uregs[].
std::uint64_t n_uregs();

// Returns whether the name is curpsinfo, curlwpsinfo or fds. Programs can use only
// their members.
bool is_structure(std::string_view name);

// A member of curpsinfo or curlwpsinfo, and the builtin variable or the constant that
// replaces it. A member of Kind::Kernel is translated from the kernel's task_struct.
struct PsinfoRow {
    enum class Kind { Variable, Number, Kernel };
    const char* member;
    Kind kind;
    const char* variable; // for Kind::Variable
    std::uint64_t number; // for Kind::Number
};
const PsinfoRow* find_psinfo_row(std::string_view structure, std::string_view member);

// The stability of a name that D defines, and the D version that introduced it.
struct BuiltinFacts {
    Attributes attributes = stable_attributes;
    Version since = first_version;
};
BuiltinFacts facts_of(std::string_view name);

// Return names for "did you mean" suggestions: names of variables and structures, and
// names of functions that can be called.
std::vector<std::string_view> variable_names();
std::vector<std::string_view> function_names();

} // namespace dt
