// SPDX-License-Identifier: MIT
// The D compiler's interface: text in, Program out.
//
//   text -> lexer -> parser -> Unit -> checker -> Unit with types -> generator -> Program
//
// One Compiler exists for the life of a session. Globals, aggregations, types and
// inlines that one program declares are known to the next, as dtrace(1) with several -n
// and -s requires.
#pragma once

#include "base/result.hpp"
#include "libdtrace/compile/environment.hpp"
#include "libdtrace/compile/program.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace dt {

// The field that the rightmost part of an abbreviated description names (-P -m -f -n).
enum class SpecField { Provider, Module, Function, Name };

struct CompileOptions {
    std::uint64_t strsize = 256;
    int n_registers = 8;       // iregs
    int n_tuple_registers = 8; // tregs
    bool zdefs = false;        // accept descriptions without matching probes
    bool empty = false;        // accept empty programs
    bool argref = false;       // accept unused macro arguments
    bool defaultargs = false;  // missing macro arguments are 0 or ""
    bool pspec = false;
    bool string_program = false; // a program given with -n: bare descriptions are legal
    bool library = false;        // the text is the D library source_name
    bool keep_text = false;      // fill in Program::text
    SpecField field = SpecField::Name;
    Version version = latest_version;    // names from later versions are unknown
    std::optional<Attributes> amin;      // less stable clauses are refused
    std::string source_name;             // script path; empty for command line text
    std::vector<std::string> macro_args; // [0] is $0
    // Answers the compiler's questions while it compiles.
    Environment* environment = &no_environment();
    // Default number of frames of ustack() and jstack(), and of string bytes of
    // jstack().
    std::uint32_t ustackframes = 20, jstackframes = 50, jstackstrsize = 512;
    std::uint32_t stackframes = 20;
    std::uint32_t maxframes = UINT32_MAX; // upper bound for all of them
    // The session has the kernel module: names that only it can compute are allowed.
    bool kernel = false;
};

class Compiler {
public:
    explicit Compiler(std::uint64_t strsize = 256);
    ~Compiler();
    Compiler(const Compiler&) = delete;
    Compiler& operator=(const Compiler&) = delete;

    // Compiles a program or a D library. On error nothing of the program is kept.
    std::variant<Program, Diagnostic> compile(std::string_view text,
                                              const CompileOptions& options);

    // Returns the arguments of a function's probe as C declares them: "int n", "char
    // *name".
    std::vector<std::string> argument_texts(const ProbedFunction& probed);
    std::vector<std::string> argument_texts(const ArgumentTypes& said);

    // Returns a type named as in D, including types of the target: "struct foo *",
    // "a.out`foo_t". Types exist as long as the compiler.
    std::variant<const Type*, Diagnostic> type_named(std::string_view text,
                                                     const CompileOptions& options);
    // Returns the type that programs see for an entry of debug data.
    const Type* target_type(DebugTypes& from, DebugRef ref);
    const Type* target_function(DebugTypes& from, const DebugFunction& function);
    const Type* pointer_to(const Type* type);
    // Call this before you read a type's members.
    void complete(const Type* type);

    // Sets the attributes of a provider's parts from #pragma D attributes. A pragma for
    // mysql also applies to mysql42. Returns false if no pragma names the provider.
    bool set_attributes(std::string_view provider, ProviderAttributes& parts) const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// Returns the libraries that a text declares as its dependencies, without compiling it.
std::vector<std::string> library_dependencies(std::string_view text);

// Returns the source line of a diagnostic with a caret below it, for terminals. Returns
// an empty text if the diagnostic has no place.
std::string quote_source(std::string_view text, Place at);

// Disassembles a DIFO in the format of dtrace -S, with header and tables.
std::string disassemble(const Difo& difo);

// Writes the program as DOF. The uarg of clause k is first_clause + k.
std::vector<std::byte> write_dof(const Program& program, std::uint64_t first_clause);

} // namespace dt
