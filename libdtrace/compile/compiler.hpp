// SPDX-License-Identifier: MIT
// The interface of the D compiler, which turns D text into a Program.
//
//   text -> lexer -> parser -> Unit -> checker -> typed Unit -> generator -> Program
//
// One Compiler exists for the life of a session. Later programs of the session can use
// the globals, aggregations, types and inlines of earlier programs.
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

// The meaning of the last part of a probe description: a provider (option -P), module
// (-m), function (-f) or name (-n).
enum class SpecField { Provider, Module, Function, Name };

struct CompileOptions {
    std::uint64_t strsize = 256;
    int n_registers = 8;       // the option iregs
    int n_tuple_registers = 8; // the option tregs
    bool zdefs = false;        // accept descriptions without matching probes
    bool empty = false;        // accept empty programs
    bool argref = false;       // accept unused macro arguments
    bool defaultargs = false;  // missing macro arguments are 0 or ""
    bool pspec = false;
    // the program was given with -n, so a description without a clause is allowed
    bool string_program = false;
    bool library = false;   // the text is a D library, and source_name is its path
    bool keep_text = false; // fill in Program::text
    SpecField field = SpecField::Name;
    // the version of D; names that later versions introduced are unknown
    Version version = latest_version;
    std::optional<Attributes> amin; // a clause that is less stable is refused
    // path of the script; empty for a program on the command line
    std::string source_name;
    std::vector<std::string> macro_args; // [0] is $0
    // Answers the compiler's questions about the session.
    Environment* environment = &no_environment();
    // The default number of frames that ustack() and jstack() record, and the default
    // number of bytes for the strings of jstack().
    std::uint32_t ustackframes = 20, jstackframes = 50, jstackstrsize = 512;
    std::uint32_t stackframes = 20;
    std::uint32_t maxframes = UINT32_MAX; // the maximum for all stacks
    // Whether the session uses the kernel module. Otherwise, names that need the module
    // are refused.
    bool kernel = false;
};

class Compiler {
public:
    explicit Compiler(std::uint64_t strsize = 256);
    ~Compiler();
    Compiler(const Compiler&) = delete;
    Compiler& operator=(const Compiler&) = delete;

    // Compiles a program or a D library. A failure leaves the compiler unchanged.
    std::variant<Program, Diagnostic> compile(std::string_view text,
                                              const CompileOptions& options);

    // Returns the arguments of a function's probe as C declarations, such as "int n"
    // and "char *name".
    std::vector<std::string> argument_texts(const ProbedFunction& probed);
    std::vector<std::string> argument_texts(const ArgumentTypes& said);

    // Returns the type with this name in D, such as "struct foo *" or "a.out`foo_t".
    // The type lives as long as the compiler.
    std::variant<const Type*, Diagnostic> type_named(std::string_view text,
                                                     const CompileOptions& options);
    // Returns the D type of an entry in debug data.
    const Type* target_type(DebugTypes& from, DebugRef ref);
    const Type* target_function(DebugTypes& from, const DebugFunction& function);
    const Type* pointer_to(const Type* type);
    // Fills in the members of a struct or union. Call this before you read them.
    void complete(const Type* type);

    // Sets the attributes of a provider's parts from #pragma D attributes. A pragma for
    // mysql also applies to mysql42, the same provider in process 42. Returns false if
    // no pragma names the provider.
    bool set_attributes(std::string_view provider, ProviderAttributes& parts) const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// Returns the names of the libraries that D text requires with #pragma D depends_on.
// The text is not compiled.
std::vector<std::string> library_dependencies(std::string_view text);

// Returns the source line of a diagnostic with a caret below it. Returns an empty
// string if the diagnostic has no location.
std::string quote_source(std::string_view text, Place at);

// Disassembles a DIFO in the format of dtrace -S, including its header and tables.
std::string disassemble(const Difo& difo);

// Writes the program as DOF. The field uarg of clause k's ECBs is first_clause + k.
std::vector<std::byte> write_dof(const Program& program, std::uint64_t first_clause);

} // namespace dt
