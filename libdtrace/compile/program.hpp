// SPDX-License-Identifier: MIT
// The compiler's output: clauses with their DIF, and the data that the consumer needs
// to print the records. write_dof() (dof_writer.cpp) converts a Program to DOF.
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

// The place of a part of the program, and a copy of its line. The program's text no
// longer exists when the consumer reports a fault.
struct Source {
    Place at;
    std::string line;
};

// The origin of a value's text, which decides how it may be printed
// (base/printable.hpp).
enum class TextOrigin {
    Program, // a constant of the D program
    Target,  // data from a target
    Name     // the name of a process, a probe or a file
};

// One entry of a clause's action list. write_dof() converts it to a dof_actdesc
// (dif/dof.h). The values of one printf are consecutive entries, and the ntuple of the
// first entry is the number of values. The parts of an aggregation's key have ntuple 0.
// The aggregation's own entry follows, and its ntuple is the number of parts.
struct Action {
    std::uint32_t kind = 0;
    std::uint32_t ntuple = 0;
    std::shared_ptr<Difo> difo; // null if the entry has no expression
    std::uint64_t arg = 0;
    std::uint64_t uarg = 0;
    std::string format; // text of the format; empty if there is none
    bool has_format = false;

    // The following fields are for the consumer only.
    std::shared_ptr<Format> parsed;
    const Type* type = nullptr; // type of the value
    TextOrigin origin = TextOrigin::Target;
    bool is_print = false; // the action is print(), not trace()
    Source source;         // the place of the expression, for reports of faults
};

struct CompiledClause {
    std::vector<ProbeSpec> probes;
    std::shared_ptr<Difo> predicate;
    std::vector<Action> actions;
    Source source, predicate_source; // for reports of faults
    bool default_action = false;
    // The compiler created this clause. It prepares a variable for derived probes.
    bool prepares = false;
    bool destructive = false;
    bool changes_target = false; // for example by raise() or copyout()
    // The clause uses a builtin or an object that only the kernel module can read.
    bool needs_kernel = false;
    // The weakest attributes of the probe descriptions of the clause, and of the names
    // that the clause uses.
    Attributes descriptions, names;
};

// The data that the consumer needs to print one aggregation.
struct AggregationInfo {
    std::string name;           // without the @
    std::uint32_t id = 0;       // variable id
    std::uint32_t function = 0; // DTRACEAGG_*
    std::uint64_t arg = 0;      // lquantize and llquantize parameters
    std::vector<const Type*> keys;
};

// A provider block, and the attributes that #pragma D attributes sets for each part.
struct ProviderBlock {
    std::string name;
    Place at;
    std::vector<ProviderProbe> probes;
    std::map<std::string, Attributes> attributes;
};
// Sets the attributes of the parts whose names are keys of `said`. Other parts are not
// changed.
void take_attributes(const std::map<std::string, Attributes>& said,
                     ProviderAttributes& parts);

struct Program {
    std::shared_ptr<TypeTable> types;
    std::vector<ProviderBlock> providers;
    std::vector<CompiledClause> clauses;
    std::vector<AggregationInfo> aggregations;
    std::vector<PragmaOption> options;
    bool needs_kernel = false; // a clause needs the kernel module
    // the program's text after `if` statements have been rewritten; empty unless
    // CompileOptions::keep_text is set
    std::string text;
    // path of the script; empty for a program on the command line
    std::string source_name;
};

} // namespace dt
