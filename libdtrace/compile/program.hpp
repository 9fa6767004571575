// SPDX-License-Identifier: MIT
// What the compiler makes: clauses with their DIF and what the consumer must know to
// print their records. write_dof() (dof_writer.hpp) turns it into DOF for the engine.
#pragma once

#include "dif/actions.h"
#include "dif/dof.h"
#include "libdtrace/compile/ast.hpp"
#include "libdtrace/compile/format.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dt {

struct Difo {
    std::vector<std::uint32_t> text;
    std::vector<std::uint64_t> ints;
    std::string strs; // NUL-terminated strings; offset 0 is the empty string
    std::vector<dif_varinfo> vars;
    dif_type rtype{};
};

// Where a piece of the program was written, and that line's text: the program's own text
// has been removed when the consumer reports a fault.
struct Source {
    Place at;
    std::string line;
};

// The origin of a value's text, which decides how it may be printed
// (base/printable.hpp).
enum class TextOrigin {
    Program, // a constant of the D program
    Target,  // data of a target
    Name     // the name of a process, a probe or a file
};

// One entry of a clause's action list, as dof_actdesc takes it. Several values of one
// printf are consecutive entries of its kind; ntuple of the first is their number.
// Key parts of an aggregation come before it, ntuple 0; the aggregation's ntuple is
// the number of its key parts. (dif/arena.h: struct dt_action.)
struct Action {
    std::uint32_t kind = 0;
    std::uint32_t ntuple = 0;
    std::shared_ptr<Difo> difo; // null: none
    std::uint64_t arg = 0;
    std::uint64_t uarg = 0;
    std::string format; // text of the format; empty: none
    bool has_format = false;

    // For the consumer only.
    std::shared_ptr<Format> parsed;
    const Type* type = nullptr; // of the value
    TextOrigin origin = TextOrigin::Target;
    bool is_print = false; // print(), not trace()
    Source source;         // of what is evaluated, for faults at run time
};

struct CompiledClause {
    std::vector<ProbeSpec> probes;
    std::shared_ptr<Difo> predicate;
    std::vector<Action> actions;
    Source source, predicate_source; // for faults at run time
    bool default_action = false;
    bool destructive = false;
    bool needs_kernel =
        false; // names what only the kernel can tell or has in its memory
    // The weakest of what its descriptions match, and of what it names.
    Attributes descriptions, names;
};

// An aggregation by its variable id: what the consumer needs to print it.
struct AggregationInfo {
    std::string name; // without @
    std::uint32_t id = 0;
    std::uint32_t function = 0; // DTRACEAGG_*
    std::uint64_t arg = 0;      // lquantize and llquantize parameters
    std::vector<const Type*> keys;
};

// A provider block, and by part what #pragma D attributes says of it.
struct ProviderBlock {
    std::string name;
    Place at;
    std::vector<ProviderProbe> probes;
    std::map<std::string, Attributes> attributes;
};
// What is said of a part; what is not stays.
void take_attributes(const std::map<std::string, Attributes>& said,
                     ProviderAttributes& parts);

struct Program {
    std::shared_ptr<TypeTable> types;
    std::vector<ProviderBlock> providers;
    std::vector<CompiledClause> clauses;
    std::vector<AggregationInfo> aggregations;
    std::vector<PragmaOption> options;
    bool needs_kernel = false; // one of its clauses does
    std::string text;          // with each if as clauses (CompileOptions::keep_text)
    std::string source_name;   // script file, or empty for command line text
};

} // namespace dt
