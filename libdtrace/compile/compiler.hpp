// SPDX-License-Identifier: MIT
// The D compiler's face: text in, Program out.
//
//   text -> lexer -> parser -> Unit -> checker -> Unit with types -> generator -> Program
//
// One Compiler lives as long as a session: globals, aggregations, types and inlines
// declared by one program are known to the next, as dtrace(1) with several -n and -s needs.
#pragma once

#include "base/result.hpp"
#include "libdtrace/compile/program.hpp"
#include "libdtrace/symbols/debug/debug_types.hpp"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace dt {

// Which field the rightmost piece of a short description names (-P -m -f -n).
enum class SpecField { Provider, Module, Function, Name };

// What matching a description gave: ids of probes, made on the way where the provider
// makes them on demand.
struct ProbeMatch {
    std::vector<std::uint32_t> ids;
    bool retained = false; // may match later (a library not loaded yet)
    // Types of args[] where the provider has some and all matched probes agree.
    std::vector<const Type*> args;
};

// A module of the traced process, as a name with a backquote means it.
struct TargetModule {
    std::string name;
    std::uint64_t bias = 0;      // of its link-time addresses
    DebugTypes* types = nullptr; // null: it has no debug data
};

// A symbol of the kernel, and the module that has it.
struct KernelSymbol {
    std::string module;
    std::uint64_t addr = 0, n_bytes = 0;
    bool is_function = false;
};

// Of a probe that says itself of which types its arguments are: arg0 is the first.
struct ArgumentTypes {
    std::vector<std::string> names; // of types that D has
    // What the provider's definition says of all of them, if there is one.
    struct Defined {
        std::string name;
        const Type* type = nullptr;   // of the definition's table
        const Type* native = nullptr; // it is translated from that; null: it is that
        unsigned n = 0;               // which of those that the program passes
    };
    std::vector<Defined> defined;
    std::shared_ptr<const TypeTable> types; // of the definition; null: there is none
    // Of a system call, as C writes them.
    struct Written {
        std::string name, type; // "vec", "const struct iovec *"
        bool operator==(const Written&) const = default;
    };
    std::vector<Written> written;
    DebugTypes* written_in = nullptr; // their names are of these; null: of D's alone
    // Nobody knows those of this probe, and others may have them; empty: they are known.
    std::string why_none;
};

// The function that a probe is in, as its debug data describes it.
struct ProbedFunction {
    enum class At { Entry, Return } at = At::Entry;
    DebugTypes* types = nullptr;
    DebugFunction function;
};

// How stable the descriptions of some probes are, and what they say of their arguments.
struct ProbeStability {
    Attributes descriptions = strongest_attributes, arguments = strongest_attributes;
};

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
    // Values of $target, $pid ...; called by name without the $; nothing: no such name.
    std::function<std::optional<std::uint64_t>(std::string_view)> macro_value;
    // Sets an option from #pragma D option; a text is the reason of a refusal.
    std::function<std::optional<std::string>(std::string_view, std::string_view)>
        set_option;
    // Default frames for ustack() and jstack(), string bytes of jstack().
    std::uint32_t ustackframes = 20, jstackframes = 50, jstackstrsize = 512;
    std::uint32_t stackframes = 20;
    std::uint32_t maxframes = UINT32_MAX; // of any of them, whatever a program asks
    // Is this module, provider or library there, or this member (tag.name) of a struct of
    // the kernel's, or this symbol of it? For #pragma D depends_on; null: yes.
    std::function<bool(std::string_view kind, std::string_view name)> dependency;
    // Matches one description; null: every description matches (unit tests).
    std::function<std::variant<ProbeMatch, Diagnostic>(const ProbeSpec&)> match;
    // Of the probes that a description matched; null: as stable as can be.
    std::function<ProbeStability(std::span<const std::uint32_t>)> stability;
    // Value of a symbol of the target: "a.out`counter"; nothing: unknown.
    std::function<std::optional<std::uint64_t>(std::string_view object,
                                               std::string_view symbol)>
        symbol;
    // What a scope such as "a.out", "pid42`libc.so.6" or "" means; a text says why nothing.
    std::function<std::variant<std::vector<TargetModule>, std::string>(
        std::string_view scope)>
        modules;
    // The session has the kernel module: what only the kernel can tell is allowed.
    bool kernel = false;
    // Names of the kernel, which need no kernel module; null: there are none. A scope is
    // the name of a module, "" the kernel proper, "*" all of them.
    std::function<bool(std::string_view scope)> is_kernel_module;
    std::function<Result<std::vector<TargetModule>>(std::string_view scope)>
        kernel_modules;
    // The module may be empty: any.
    std::function<Result<KernelSymbol>(std::string_view module, std::string_view symbol)>
        kernel_symbol;
    // For args[]; a text says why its arguments are not known.
    std::function<std::variant<ProbedFunction, ArgumentTypes, std::string>(
        std::uint32_t probe)>
        probed_function;
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
