// SPDX-License-Identifier: MIT
// The D compiler's face: text in, Program out.
//
//   text -> lexer -> parser -> Unit -> checker -> Unit with types -> generator -> Program
//
// One Compiler lives as long as a session: globals, aggregations, types and inlines
// declared by one program are known to the next, as dtrace(1) with several -n and -s needs.
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

// Which field the rightmost piece of a short description names (-P -m -f -n).
enum class SpecField { Provider, Module, Function, Name };

struct CompileOptions {
    std::uint64_t strsize = 256;
    int n_registers = 8;       // iregs
    int n_tuple_registers = 8; // tregs
    bool zdefs = false;        // unmatched descriptions are fine
    bool empty = false;        // so are empty programs
    bool argref = false;       // unused macro arguments are fine
    bool defaultargs = false;  // missing ones are 0 or ""
    bool pspec = false;
    bool string_program = false; // -n text: bare descriptions are legal
    bool library = false;        // of the D library source_name
    bool keep_text = false;      // Program::text
    SpecField field = SpecField::Name;
    Version version = latest_version;    // names that came later are not there
    std::optional<Attributes> amin;      // what is less stable is refused
    std::string source_name;             // script path; empty for command line text
    std::vector<std::string> macro_args; // [0] is $0
    // Answers the compiler's questions, for as long as it compiles.
    Environment* environment = &no_environment();
    // Default frames for ustack() and jstack(), string bytes of jstack().
    std::uint32_t ustackframes = 20, jstackframes = 50, jstackstrsize = 512;
    std::uint32_t stackframes = 20;
    std::uint32_t maxframes = UINT32_MAX; // of any of them, whatever a program asks
    // The session has the kernel module: what only the kernel can tell is allowed.
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

    // The arguments of a function's probe as C declares them: "int n", "char *name".
    std::vector<std::string> argument_texts(const ProbedFunction& probed);
    std::vector<std::string> argument_texts(const ArgumentTypes& said);

    // A type as D writes it, the target's among them: "struct foo *", "a.out`foo_t". Types
    // live as long as the compiler.
    std::variant<const Type*, Diagnostic> type_named(std::string_view text,
                                                     const CompileOptions& options);
    // Of an entry of debug data, as programs see it.
    const Type* target_type(DebugTypes& from, DebugRef ref);
    const Type* target_function(DebugTypes& from, const DebugFunction& function);
    const Type* pointer_to(const Type* type);
    // Whoever looks at a type's members asks for them first.
    void complete(const Type* type);

    // Those of a provider's parts as #pragma D attributes sets them, of mysql for mysql42.
    // False: no pragma speaks of it.
    bool set_attributes(std::string_view provider, ProviderAttributes& parts) const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// The libraries that a text says it depends on, found without compiling it.
std::vector<std::string> library_dependencies(std::string_view text);

// Source line of a diagnostic with a caret below, for terminals; empty without place.
std::string quote_source(std::string_view text, Place at);

// Disassembly of a DIFO as dtrace -S prints it, header and tables included.
std::string disassemble(const Difo& difo);

// The program as DOF. numbers: clause k of the program travels as uarg first_clause + k.
std::vector<std::byte> write_dof(const Program& program, std::uint64_t first_clause);

} // namespace dt
