// SPDX-License-Identifier: MIT
#include "table.hpp"

#include <algorithm>

namespace {

constexpr int lock_width = 22, caller_width = 24;

void print_line(FILE* out)
{
    std::fprintf(out, "%s\n", std::string(79, '-').c_str());
}

std::uint64_t average(const Record& record)
{
    return record.count != 0 ? record.ns / record.count : 0;
}

void print_header(FILE* out, const Arguments& args, const Event& event)
{
    std::fprintf(out, "%5s %4s %4s %4s ", args.rates ? "ops/s" : "Count",
                 args.generated ? "genr" : "indv", "cuml", "rcnt");
    if (args.detail >= Detail::Times)
        std::fprintf(out, "%8s ", "nsec");
    std::fprintf(out, "%-*s %-*s\n", lock_width, event.lock, caller_width, "Caller");
}

// Returns the record's share of all events in percent, or with -P its share of their
// total time.
double part(const Arguments& args, const Rows& rows, const Record& record)
{
    const std::uint64_t all = args.by_product ? rows.ns : rows.count;
    const std::uint64_t own = args.by_product ? record.ns : record.count;
    return all != 0 ? 100.0 * static_cast<double>(own) / static_cast<double>(all) : 0;
}

void print_record(FILE* out, const Arguments& args, const Record& record, double own,
                  double sum, double seconds)
{
    const double n = static_cast<double>(record.count);
    std::fprintf(out, "%5.0f %3.0f%% ", args.rates ? n / seconds : n, own);
    if (args.generated)
        std::fprintf(out, "%4s ", "----");
    else
        std::fprintf(out, "%3.0f%% ", sum);
    // The column "rcnt" is always 0, because Linux does not count references to locks.
    std::fprintf(out, "%4.2f ", 0.0);
    if (args.detail >= Detail::Times)
        std::fprintf(out, "%8llu ", static_cast<unsigned long long>(average(record)));
    std::fprintf(out, "%-*s %s\n", lock_width, record.lock.c_str(),
                 record.caller.c_str());
}

void print_histogram(FILE* out, const Record& record)
{
    constexpr std::size_t width = 30;
    std::fprintf(out, "\n%10s %s %-9s %s\n", "nsec", "------ Time Distribution ------",
                 "count", record.stack.empty() ? "" : "Stack");
    std::size_t first = 0, end = record.histogram.size();
    while (first < end && record.histogram[first] == 0)
        first++;
    while (end > first && record.histogram[end - 1] == 0)
        end--;
    const std::size_t n_lines = std::max(end - first, record.stack.size());
    for (std::size_t i = 0; i < n_lines; i++) {
        const char* frame = i < record.stack.size() ? record.stack[i].c_str() : "";
        if (first + i >= end) {
            std::fprintf(out, "%10s %31s %-9s %s\n", "", "", "", frame);
            continue;
        }
        const std::uint64_t n = record.histogram[first + i];
        const std::string bar(static_cast<std::size_t>(n * width / record.count), '@');
        std::fprintf(out, "%10llu |%-30s %-9llu %s\n", 1ull << (first + i), bar.c_str(),
                     static_cast<unsigned long long>(n), frame);
    }
}

void print_fields(FILE* out, const Event& event, const Record& record)
{
    std::fprintf(out, "%d\t%llu\t%llu\t%s\t%s", event.id,
                 static_cast<unsigned long long>(record.count),
                 static_cast<unsigned long long>(average(record)), record.lock.c_str(),
                 record.caller.c_str());
    for (const std::string& frame : record.stack)
        std::fprintf(out, "\t%s", frame.c_str());
    std::fputc('\n', out);
}

} // namespace

void print_rows(FILE* out, const Arguments& args, const Event& event, const Rows& rows,
                double seconds)
{
    std::size_t n = rows.records.size();
    if (args.top != 0)
        n = std::min<std::size_t>(n, args.top);
    if (args.parsable) {
        for (std::size_t i = 0; i < n; i++)
            print_fields(out, event, rows.records[i]);
        return;
    }
    if (rows.records.empty())
        return;
    std::fprintf(out, "\n%s: %llu events in %.3f seconds (%.0f events/sec)\n\n",
                 event.name, static_cast<unsigned long long>(rows.count), seconds,
                 static_cast<double>(rows.count) / seconds);
    const bool distributed = args.detail >= Detail::Histogram;
    if (!distributed) {
        print_header(out, args, event);
        print_line(out);
    }
    double sum = 0;
    for (std::size_t i = 0; i < n; i++) {
        const Record& record = rows.records[i];
        const double own = part(args, rows, record);
        sum += own;
        if (distributed) {
            print_line(out);
            print_header(out, args, event);
        }
        print_record(out, args, record, own, sum, seconds);
        if (distributed)
            print_histogram(out, record);
    }
    print_line(out);
}
