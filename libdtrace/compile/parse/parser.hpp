// SPDX-License-Identifier: MIT
// Parses tokens into a Unit, by recursive descent with one token of lookahead.
//
//   parser.cpp             program, clauses, probe descriptions, statements
//   parser_blocks.cpp      inline, translator, provider
//   parser_expression.cpp  expressions, by precedence climbing
//   parser_constant.cpp    constant expressions of array sizes and bit-fields
//   declarations.cpp       specifiers, variables, typedefs
//   declarations_tagged.cpp  struct, union, enum
//   declarations_enum.cpp  bodies of enums
//   declarators.cpp        pointers, arrays, functions, keys; type names
//   kernel_type_names.cpp  types of the kernel without a backquote
//   c_header.cpp           parts of C headers that D does not have: attributes,
//                          function bodies, asm
//   c_typeof.cpp           the types of C expressions
//
// Invariants
//   - token_ is the next token to parse. The lexer read it in the mode that was passed
//     to advance(), or in Mode::Code if peek() had already read it.
//   - The depth of recursion and the height of a tree are at most max_depth. So later
//     passes may recurse over the tree without checking the depth.
#pragma once

#include "libdtrace/compile/parse/lexer.hpp"
#include "libdtrace/compile/parse/macro.hpp"
#include "libdtrace/compile/parse/pragma.hpp"
#include "libdtrace/compile/passes.hpp"

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace dt {

class Parser {
public:
    static constexpr int max_depth = 1000;

    explicit Parser(CompileContext& context);

    Unit program();
    const Type* only_type(); // parses text that contains only a type

private:
    enum class Storage { None, Typedef, Extern, Other };

    // The effects of __attribute__ and _Alignas on types.
    struct CAttributes {
        bool packed = false;
        std::uint32_t align = 0;        // in bytes; 0 if not given
        std::uint64_t vector_bytes = 0; // 0 if not given
        std::string mode;               // a machine mode such as "DI"; "" if not given

        void add(const CAttributes& more);
    };

    // The words before the declarators, for example "typedef unsigned" or
    // "self const struct foo".
    struct Specifiers {
        const Type* type = nullptr;
        Storage storage = Storage::None;
        Scope scope = Scope::Global;
        // true if the words declare the tag of a struct, union or enum, or define an
        // enum without a tag
        bool declares_tag = false;
        CAttributes attributes;
        Place at;
    };

    // An integer constant. In D it is signed and has 64 bits; in C headers it has the
    // sign and the width of its type.
    struct Constant {
        std::int64_t value = 0;
        bool is_unsigned = false;
        int bits = 64;
    };

    // A member of a struct or union whose layout has not been computed yet.
    struct MemberLine {
        std::string name;
        Place at;
        const Type* type = nullptr;
        std::optional<std::uint32_t> bits; // width of a bit-field
        CAttributes attributes;
    };

    struct Parameters {
        std::vector<const Type*> types;
        std::vector<std::string> names; // "" for an unnamed parameter
        bool varargs = false;
    };

    // One layer of a declarator. A declarator is a list of layers, from the name
    // outward.
    struct Layer {
        enum Kind { Pointer, Array, Function, Keys } kind = Pointer;
        bool is_const = false, is_volatile = false, userland = false; // for Pointer
        bool sized = false;                                           // for Array
        std::uint64_t count = 0;
        Parameters parameters; // for Function and Keys
        Place at;
    };

    struct Declarator {
        std::string name;
        Place at;
        const Type* type = nullptr;
        bool has_keys = false;
        Parameters keys;
        CAttributes attributes;
    };

    // Whether a declarator must have a name (Needed, Member), may have a name
    // (Optional) or must not have one (None). With Member, the name may be a keyword
    // that only D has.
    enum class Names { Needed, Member, Optional, None };

    struct Depth {
        explicit Depth(Parser& parser) : parser_(parser) { parser.enter(); }
        ~Depth() { --parser_.depth_; }
        Depth(const Depth&) = delete;
        Depth& operator=(const Depth&) = delete;
        Parser& parser_;
    };

    // Tokens
    void advance(Lexer::Mode mode = Lexer::Mode::Code);
    Token lex(Lexer::Mode mode);
    const Token& peek();
    bool at(Tok kind) const { return token_.kind == kind; }
    bool at(Key key) const { return token_.key == key; }
    bool at(CWord word) const { return token_.c_word == word; }
    bool accept(Tok kind);
    void expect(Tok kind);
    std::string take_name();
    // The scope in D`foo, which denotes foo of the D program.
    static constexpr std::string_view own_scope = "D`";

    [[noreturn]] void syntax_error() const;
    void enter();

    // Program
    void top();
    void clause();
    ProbeSpec probe_spec();
    ProbeSpec describe(const Token& token);
    void probe_id(ProbeSpec& spec) const;
    std::vector<Stmt> block();
    std::vector<Stmt> branch();
    Stmt statement();
    Stmt if_statement();
    void add(std::unique_ptr<Decl> decl);

    // Blocks
    void inline_definition();
    void translator();
    void provider();
    ProviderProbe provider_probe();
    void provider_arguments(std::vector<const Type*>& types,
                            std::vector<std::string>& names);

    // Expressions
    NodePtr make(NodeKind kind, Place at) const;
    NodePtr fit(NodePtr node) const;
    NodePtr unary_node(Op op, Place at, NodePtr operand) const;
    NodePtr expression();
    NodePtr assignment();
    NodePtr conditional();
    NodePtr binary(int lowest);
    NodePtr unary();
    NodePtr cast_or_parenthesis();
    NodePtr size_of();
    NodePtr string_of();
    NodePtr offset_of();
    NodePtr translate();
    NodePtr postfix();
    NodePtr primary();
    NodePtr constant();
    NodePtr scoped_variable(Scope scope);
    NodePtr call(NodePtr callee);
    std::vector<NodePtr> arguments(Tok close);
    const Type* integer_type(const Token& token) const;

    // Evaluates a constant expression. Returns nullopt if the expression is not
    // constant.
    std::optional<Constant> evaluate(const Node& node) const;
    std::optional<Constant> evaluate_name(const Node& node) const;
    std::optional<Constant> evaluate_unary(const Node& node) const;
    std::optional<Constant> evaluate_binary(const Node& node) const;
    std::optional<std::int64_t> constant_expression();

    // C headers
    bool is_c_word_of_type(const Token& token) const;
    bool c_specifier(Specifiers& into, struct SpecifierWords& words);
    bool c_declaration();
    void c_extras(CAttributes& into);
    void attribute_list(CAttributes& into);
    void attribute(CAttributes& into);
    std::uint32_t alignment_operand();
    NodePtr align_of();
    void atomic_type(struct SpecifierWords& words);
    const Type* typeof_operand();
    const Type* expression_type(const Node& node) const;
    const Type* with_attributes(const Type* type, const CAttributes& said, Place place);
    const Type* complex_type(const Type* part);
    const Type* vector_type(const Type* element, std::uint64_t bytes, Place place);
    bool parameter_bracket(Layer& layer);
    void skip_brackets(Lexer::Mode after = Lexer::Mode::Code);
    void skip_initialiser();
    void c_function(const Specifiers& base, Declarator declarator);

    // Declarations
    const Type* named_type(std::string_view name) const;
    bool is_type_name(std::string_view name) const;
    // The places in the text where the name of a kernel typedef may appear
    // (kernel_type_names.cpp). `Certain` is a place where every name is a type.
    enum class TypePlace { Declaration, Parenthesis, Sizeof, Certain };
    bool reads_as_type(std::string_view raw, TypePlace place) const;
    bool is_taken(const std::string& name) const;
    const Type* kernel_typedef(std::string_view raw, TypePlace place) const;
    const Type* kernel_tag(TypeKind kind, const std::string& keyword);
    bool starts_type(const Token& token) const;
    bool starts_declaration() const;
    void declaration();
    // Parses the specifiers of a declaration. The attributes in the result apply to the
    // declared object, not to its type.
    Specifiers specifiers(Names names = Names::Needed);
    bool names_member();
    bool is_implicit_int();
    bool specifier(Specifiers& into, struct SpecifierWords& words);
    bool storage_specifier(Specifiers& into);
    const Type* finish_specifiers(const struct SpecifierWords& words);
    const Type* tagged_type(Specifiers& into);
    const Type* target_type(TypeKind kind, const std::string& keyword,
                            const std::string& name);
    void body(Type& into, CAttributes& attributes);
    std::vector<MemberLine> struct_body(const Type& into);
    void struct_member(const Type& into, std::vector<MemberLine>& lines);
    void member_declarator(const Specifiers& base, const Type& into,
                           std::vector<MemberLine>& lines);
    void bit_field(MemberLine& line);
    void lay_out(Type& into, std::vector<MemberLine>& lines,
                 const CAttributes& attributes, std::uint32_t limit) const;
    void enum_body(Type& into);
    Constant enumerator(Type& into, Constant next);
    void finish_enum(Type& into, const CAttributes& attributes, bool is_c) const;
    void declare_one(const Specifiers& base);
    void declare(const Specifiers& base, Declarator declarator);
    void declare_typedef(const Declarator& declarator);
    void declare_variable(const Specifiers& base, Declarator declarator);

    // Declarators
    Declarator declarator(const Specifiers& base, Names names);
    void layers(std::vector<Layer>& into, Declarator& named, Names names);
    void direct_layers(std::vector<Layer>& into, Declarator& named, Names names);
    Layer pointer_layer();
    Layer bracket_layer();
    Layer parameter_layer();
    Parameters parameters(Tok close);
    const Type* apply(const Layer& layer, const Type* base);
    const Type* of_own(const Type* type);
    const Type* type_name();
    const Type* whole_type(const Type* type, Place at, std::string_view what) const;

    CompileContext& context_;
    Unit unit_;
    Macros macros_;
    Pragmas pragmas_;
    Lexer lexer_;
    Token token_;
    std::optional<Token> peeked_;
    int depth_ = 0;
    // The nesting depth of the type names that are being parsed. If it is not 0, an
    // identifier among specifiers can only be the name of a type.
    int n_type_names_ = 0;
    // the last name with a backquote for which no type was found
    mutable std::string unknown_type_;
    int c_parameters_ = 0;  // nesting depth of parameter lists of C functions
    bool in_probe_ = false; // inside the arguments of a provider's probe
    std::unordered_map<std::string, Constant> enumerators_;
    std::unordered_map<std::string, const Type*> c_objects_; // functions, variables
    std::unordered_set<std::string> variables_;
    std::unordered_set<const Type*> open_types_; // types whose bodies are being parsed
};

} // namespace dt
