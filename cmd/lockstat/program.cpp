// SPDX-License-Identifier: MIT
#include "program.hpp"

#include "report.hpp"

#include <algorithm>
#include <cstdlib>

unsigned stack_frames(const Arguments& args, const Event& event)
{
    constexpr unsigned all = 40;
    unsigned wanted = args.generated ? all : args.depth;
    return event.kind == 'C' ? std::max(wanted, 1u) + n_lock_frames : wanted;
}

Range resolve(dtrace_hdl_t* session, const Place& place)
{
    char* end = nullptr;
    std::uint64_t addr = std::strtoull(place.name.c_str(), &end, 0);
    if (end != place.name.c_str() && *end == '\0')
        return {addr, addr + std::max(place.n_bytes, std::uint64_t{1})};
    Elf64_Sym symbol{};
    if (dtrace_lookup_by_name(session, DTRACE_OBJ_KMODS, place.name.c_str(), &symbol,
                              nullptr) != 0)
        die(session, "cannot find %s", place.name.c_str());
    const std::uint64_t n_bytes = place.n_bytes != 0 ? place.n_bytes : symbol.st_size;
    return {symbol.st_value, symbol.st_value + std::max(n_bytes, std::uint64_t{1})};
}

namespace {

// Returns a D condition that is true if arg0 is in one of the ranges. Returns "" if
// there are no ranges.
std::string is_in(const std::vector<Range>& ranges)
{
    std::string text;
    for (const Range& range : ranges)
        text += (text.empty() ? "(" : " || ") + std::string("((uint64_t)arg0 >= ") +
                std::to_string(range.begin) + " && (uint64_t)arg0 < " +
                std::to_string(range.end) + ")";
    return text.empty() ? text : text + ")";
}

void also(std::string& predicate, const std::string& condition)
{
    if (!condition.empty())
        predicate += (predicate.empty() ? "" : " && ") + condition;
}

std::string clause(const std::string& probe, const std::string& predicate,
                   const std::string& actions)
{
    return probe + "\n" + (predicate.empty() ? "" : "/" + predicate + "/\n") + "{\n" +
           actions + "}\n";
}

std::string actions(const Arguments& args, const Event& event, const std::string& ns)
{
    const std::string id = std::to_string(event.id);
    std::string keys = event.kind == 'I'   ? "(uint64_t)cpu << 8 | ipl, (uint64_t)arg0"
                       : event.kind == 'C' ? "(uint64_t)arg0, (uint64_t)0"
                                           : "(uint64_t)arg0, (uint64_t)caller";
    if (unsigned n = stack_frames(args, event); n != 0)
        keys += ", stack(" + std::to_string(n) + ")";
    if (args.traced)
        keys += ", timestamp";
    std::string text = "\t@n" + id + "[" + keys + "] = count();\n";
    if (args.detail >= Detail::Times)
        text += "\t@t" + id + "[" + keys + "] = sum(" + ns + ");\n";
    if (args.detail >= Detail::Histogram)
        text += "\t@q" + id + "[" + keys + "] = quantize(" + ns + ");\n";
    return text;
}

// Returns the D variable with the time at which a lock was acquired. A shared lock has
// a variable for each thread. Any other lock has one variable, because the scheduler
// may release the lock of a run queue in another thread.
std::string when_taken(const Event& event)
{
    return (event.shared ? "self->t" : "t") + std::to_string(event.id) + "[arg0]";
}

} // namespace

std::string program_text(const Arguments& args, const std::vector<Range>& locks)
{
    std::string text;
    for (const Event& event : all_events()) {
        if (!args.events.test(static_cast<std::size_t>(event.id)))
            continue;
        std::string probe = event.probe, ns = event.kind == 'I' ? "arg2" : "arg1";
        std::string predicate = event.predicate != nullptr ? event.predicate : "",
                    after;
        if (event.kind == 'I')
            probe += std::to_string(args.rate);
        else
            also(predicate, is_in(locks));
        if (event.kind == 'H') {
            const std::string begun = when_taken(event);
            text += clause(event.acquire, predicate, "\t" + begun + " = timestamp;\n");
            also(predicate, begun + " != 0");
            ns = "timestamp - " + begun;
            after = "\t" + begun + " = 0;\n";
            if (args.shortest_ns != 0)
                text += clause(probe,
                               predicate + " && " + ns + " < " +
                                   std::to_string(args.shortest_ns),
                               after);
        } else if (args.shortest_ns != 0) {
            also(predicate, ns + " >= " + std::to_string(args.shortest_ns));
        }
        text += clause(probe, predicate, actions(args, event, ns) + after);
    }
    return text;
}
