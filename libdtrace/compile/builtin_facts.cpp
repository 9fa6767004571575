// SPDX-License-Identifier: MIT
// The stability of the names that D defines, and the D version that introduced each
// name. A name without a row here is Stable/Stable/Common and has existed since the
// first version.
#include "libdtrace/compile/builtins.hpp"

#include <algorithm>
#include <iterator>

namespace dt {

namespace {

constexpr Attributes stable = stable_attributes;
constexpr Attributes evolving{Stability::Evolving, Stability::Evolving,
                              DependencyClass::Common};
// The name is stable, but its data may change with every kernel.
constexpr Attributes private_data{Stability::Stable, Stability::Private,
                                  DependencyClass::Common};

struct FactsRow {
    std::string_view name;
    BuiltinFacts facts;
};

// clang-format off
constexpr FactsRow facts_rows[] = {
    {"curthread",           {private_data, first_version}},
    {"ddi_pathname",        {evolving, first_version}},
    {"getmajor",            {evolving, first_version}},
    {"getminor",            {evolving, first_version}},
    {"mutex_owned",         {evolving, first_version}},
    {"mutex_owner",         {evolving, first_version}},
    {"mutex_type_adaptive", {evolving, first_version}},
    {"mutex_type_spin",     {evolving, first_version}},
    {"rw_iswriter",         {evolving, first_version}},
    {"rw_read_held",        {evolving, first_version}},
    {"rw_write_held",       {evolving, first_version}},
    {"sx_exclusive_held",   {evolving, first_version}},
    {"sx_isexclusive",      {evolving, first_version}},
    {"sx_shared_held",      {evolving, first_version}},
    {"fds",                 {stable, {1, 1, 0}}},
    {"freopen",             {stable, {1, 1, 0}}},
    {"index",               {stable, {1, 1, 0}}},
    {"rindex",              {stable, {1, 1, 0}}},
    {"strchr",              {stable, {1, 1, 0}}},
    {"strrchr",             {stable, {1, 1, 0}}},
    {"strstr",              {stable, {1, 1, 0}}},
    {"strtok",              {stable, {1, 1, 0}}},
    {"substr",              {stable, {1, 1, 0}}},
    {"func",                {stable, {1, 2, 0}}},
    {"mod",                 {stable, {1, 2, 0}}},
    {"setopt",              {stable, {1, 2, 0}}},
    {"sym",                 {stable, {1, 2, 0}}},
    {"uaddr",               {stable, {1, 2, 0}}},
    {"ucaller",             {stable, {1, 2, 0}}},
    {"ufunc",               {stable, {1, 2, 0}}},
    {"umod",                {stable, {1, 2, 0}}},
    {"ustackdepth",         {stable, {1, 2, 0}}},
    {"usym",                {stable, {1, 2, 0}}},
    {"htonl",               {evolving, {1, 3, 0}}},
    {"htonll",              {evolving, {1, 3, 0}}},
    {"htons",               {evolving, {1, 3, 0}}},
    {"ntohl",               {evolving, {1, 3, 0}}},
    {"ntohll",              {evolving, {1, 3, 0}}},
    {"ntohs",               {evolving, {1, 3, 0}}},
    {"inet_ntoa",           {stable, {1, 5, 0}}},
    {"inet_ntoa6",          {stable, {1, 5, 0}}},
    {"inet_ntop",           {stable, {1, 5, 0}}},
    {"link_ntop",           {stable, {1, 5, 0}}},
    {"stddev",              {stable, {1, 6, 0}}},
    {"llquantize",          {stable, {1, 7, 0}}},
    {"tolower",             {stable, {1, 8, 0}}},
    {"toupper",             {stable, {1, 8, 0}}},
    {"print",               {stable, {1, 9, 0}}},
    {"getf",                {stable, {1, 10, 0}}},
    {"json",                {stable, {1, 11, 0}}},
    {"strtoll",             {stable, {1, 11, 0}}},
};
// clang-format on

} // namespace

BuiltinFacts facts_of(std::string_view name)
{
    const auto* row = std::find_if(std::begin(facts_rows), std::end(facts_rows),
                                   [&](const FactsRow& r) { return r.name == name; });
    return row == std::end(facts_rows) ? BuiltinFacts{} : row->facts;
}

} // namespace dt
