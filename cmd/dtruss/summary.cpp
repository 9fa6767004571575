// SPDX-License-Identifier: MIT
#include "summary.hpp"

#include "report.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct Row {
    std::string call;
    std::int64_t calls = 0, errors = 0, ns = 0;
};

using Rows = std::map<std::string, Row>;

int on_aggregate(const dtrace_aggdata_t* data, void* rows)
{
    const std::string_view name = data->dtada_name;
    const char* key = data->dtada_key;
    const std::string call(key, strnlen(key, data->dtada_keysize));
    Row& row = (*static_cast<Rows*>(rows))[call];
    row.call = call;
    const auto value = static_cast<std::int64_t>(data->dtada_value[0]);
    (name == "calls" ? row.calls : name == "errors" ? row.errors : row.ns) += value;
    return DTRACE_AGGWALK_NEXT;
}

void print_row(const Row& row, std::int64_t all_ns)
{
    constexpr double percent = 100, ns_per_s = 1e9, ns_per_us = 1e3;
    const auto ns = static_cast<double>(row.ns);
    std::fprintf(stderr, "%6.2f %11.6f %11.0f %9lld ",
                 all_ns == 0 ? 0 : percent * ns / static_cast<double>(all_ns),
                 ns / ns_per_s,
                 row.calls == 0 ? 0 : ns / ns_per_us / static_cast<double>(row.calls),
                 static_cast<long long>(row.calls));
    if (row.errors != 0)
        std::fprintf(stderr, "%9lld ", static_cast<long long>(row.errors));
    else
        std::fprintf(stderr, "%9s ", "");
    std::fprintf(stderr, "%s\n", row.call.c_str());
}

} // namespace

void print_summary(dtrace_hdl_t* session)
{
    Rows rows;
    if (dtrace_aggregate_snap(session) != 0 ||
        dtrace_aggregate_walk(session, on_aggregate, &rows) != 0)
        die(session, "failed to read the aggregations");
    std::vector<Row> sorted;
    Row total;
    total.call = "total";
    for (const auto& [call, row] : rows) {
        sorted.push_back(row);
        total.calls += row.calls;
        total.errors += row.errors;
        total.ns += row.ns;
    }
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Row& a, const Row& b) { return a.ns > b.ns; });
    const char* line =
        "------ ----------- ----------- --------- --------- ----------------";
    std::fprintf(stderr,
                 "%% time     seconds  usecs/call     calls    errors syscall\n%s\n",
                 line);
    for (const Row& row : sorted)
        print_row(row, total.ns);
    std::fprintf(stderr, "%s\n", line);
    print_row(total, total.ns);
}
