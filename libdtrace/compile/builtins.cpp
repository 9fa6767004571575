// SPDX-License-Identifier: MIT
// The names that D defines. Each table of dif/ becomes an array.
//
// Each member of curpsinfo and curlwpsinfo is a builtin variable of its own, so that
// reading one member computes no other members. The two tables below map members to
// variables. Each member of fds[n] is a builtin array (DIF_VAR_FILES in dif/vars.h).
#include "libdtrace/compile/builtins.hpp"

#include "dif/actions.h"
#include "dif/subrs.h"
#include "dif/vars.h"

#include <algorithm>
#include <iterator>

namespace dt {

namespace {

// clang-format off
constexpr VariableRow variable_rows[] = {
#define X(name, number, type, source) {#name, number, type, VariableRow::Source::source, true},
    DIF_VAR_ARRAYS(X)
#undef X
#define X(name, number, type, source) {#name, number, type, VariableRow::Source::source, false},
    DIF_VAR_SCALARS(X)
#undef X
};

constexpr SubroutineRow subroutine_rows[] = {
#define X(name, number, prototype, where) {#name, number, prototype, #where},
    DIF_SUBRS(X)
#undef X
};

constexpr ActionRow action_rows[] = {
#define X(name, kind, libact, prototype, flags) {#name, kind, libact, prototype, flags},
    DIF_ACTIONS(X)
#undef X
};

constexpr AggRow agg_rows[] = {
#define X(name, kind, prototype) {#name, kind, prototype},
    DIF_AGGS(X)
#undef X
};

struct UregRow {
    const char* name;
    std::uint64_t index;
};

constexpr UregRow ureg_rows[] = {
#define X(name, index) {#name, index},
    DIF_UREGS_AMD64(X) DIF_UREG_ALIASES_AMD64(X)
#undef X
};

using Kind = PsinfoRow::Kind;

constexpr PsinfoRow psinfo_rows[] = {
    {"pr_pid",    Kind::Variable, "pid",       0},
    {"pr_ppid",   Kind::Variable, "ppid",      0},
    {"pr_pgid",   Kind::Variable, "pr_pgid",   0},
    {"pr_sid",    Kind::Variable, "pr_sid",    0},
    {"pr_uid",    Kind::Variable, "uid",       0},
    {"pr_gid",    Kind::Variable, "gid",       0},
    {"pr_euid",   Kind::Variable, "pr_euid",   0},
    {"pr_egid",   Kind::Variable, "pr_egid",   0},
    {"pr_fname",  Kind::Variable, "execname",  0},
    {"pr_psargs", Kind::Variable, "pr_psargs", 0},
    {"pr_dmodel", Kind::Number,   nullptr,     2},  // PR_MODEL_LP64
    {"pr_projid", Kind::Number,   nullptr,     0},  // Linux has no projects
    {"pr_taskid", Kind::Number,   nullptr,     0},  // Linux has no task ids
    {"pr_zoneid", Kind::Number,   nullptr,     0},  // Linux has no zones
    {"pr_poolid", Kind::Number,   nullptr,     0},  // Linux has no processor pools
    {"pr_addr",   Kind::Kernel,   nullptr,     0},
    {"pr_argc",   Kind::Kernel,   nullptr,     0},
    {"pr_argv",   Kind::Kernel,   nullptr,     0},
    {"pr_envp",   Kind::Kernel,   nullptr,     0},
    {"pr_start",  Kind::Kernel,   nullptr,     0},
    {"pr_nlwp",   Kind::Kernel,   nullptr,     0},
};

constexpr PsinfoRow lwpsinfo_rows[] = {
    {"pr_lwpid",   Kind::Variable, "tid", 0},
    {"pr_onpro",   Kind::Variable, "cpu", 0},
    {"pr_flag",    Kind::Kernel,   nullptr, 0},
    {"pr_addr",    Kind::Kernel,   nullptr, 0},
    {"pr_wchan",   Kind::Kernel,   nullptr, 0},
    {"pr_stype",   Kind::Kernel,   nullptr, 0},
    {"pr_state",   Kind::Kernel,   nullptr, 0},
    {"pr_sname",   Kind::Kernel,   nullptr, 0},
    {"pr_nice",    Kind::Kernel,   nullptr, 0},
    {"pr_syscall", Kind::Kernel,   nullptr, 0},
    {"pr_pri",     Kind::Kernel,   nullptr, 0},
    {"pr_clname",  Kind::Kernel,   nullptr, 0},
    {"pr_name",    Kind::Kernel,   nullptr, 0},
    {"pr_cpu",     Kind::Variable, "cpu", 0},
};
// clang-format on

bool is_member(std::string_view name)
{
    std::string_view begin = name.substr(0, 3);
    return begin == "pr_" || begin == "fi_";
}

constexpr std::string_view structures[] = {"curpsinfo", "curlwpsinfo", "fds"};

template <class Row, std::size_t n>
const Row* find_row(const Row (&rows)[n], std::string_view name)
{
    for (const Row& row : rows)
        if (name == row.name)
            return &row;
    return nullptr;
}

template <std::size_t n>
const PsinfoRow* find_member(const PsinfoRow (&rows)[n], std::string_view member)
{
    for (const PsinfoRow& row : rows)
        if (member == row.member)
            return &row;
    return nullptr;
}

} // namespace

const VariableRow* find_variable_row(std::string_view name)
{
    return is_member(name) ? nullptr : find_row(variable_rows, name);
}

const VariableRow* find_member_row(std::string_view name)
{
    return is_member(name) ? find_row(variable_rows, name) : nullptr;
}

bool is_structure(std::string_view name)
{
    return std::find(std::begin(structures), std::end(structures), name) !=
           std::end(structures);
}

const SubroutineRow* find_subroutine_row(std::string_view name)
{
    return find_row(subroutine_rows, name);
}

const ActionRow* find_action_row(std::string_view name)
{
    return find_row(action_rows, name);
}

const AggRow* find_agg_row(std::string_view name)
{
    return find_row(agg_rows, name);
}

std::optional<std::uint64_t> find_ureg(std::string_view name)
{
    const UregRow* row = find_row(ureg_rows, name);
    return row ? std::optional(row->index) : std::nullopt;
}

std::uint64_t n_uregs()
{
    return DIF_UREGS_AMD64_N;
}

const PsinfoRow* find_psinfo_row(std::string_view structure, std::string_view member)
{
    if (structure == "curpsinfo")
        return find_member(psinfo_rows, member);
    if (structure == "curlwpsinfo")
        return find_member(lwpsinfo_rows, member);
    return nullptr;
}

std::vector<std::string_view> variable_names()
{
    std::vector<std::string_view> names(std::begin(structures), std::end(structures));
    for (const VariableRow& row : variable_rows)
        if (!is_member(row.name))
            names.emplace_back(row.name);
    return names;
}

std::vector<std::string_view> function_names()
{
    std::vector<std::string_view> names;
    for (const SubroutineRow& row : subroutine_rows)
        names.emplace_back(row.name);
    for (const ActionRow& row : action_rows)
        names.emplace_back(row.name);
    for (const AggRow& row : agg_rows)
        names.emplace_back(row.name);
    return names;
}

} // namespace dt
