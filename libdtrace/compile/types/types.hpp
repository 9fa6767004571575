// SPDX-License-Identifier: MIT
// The types of D. They are the types of C, and string, stack, symaddr, usymaddr and
// dynamic.
//
// A TypeTable owns all types. Equal types are the same object after resolve(). Complete
// types are immutable. The members of a struct are filled in after the struct is
// created.
#pragma once

#include "libdtrace/symbols/debug/passing.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

enum class TypeKind {
    Void,
    Integer,
    Float,
    Pointer,
    Array,
    Function,
    Struct,
    Union,
    Enum,
    Typedef,
    String,   // char[strsize], by reference
    Stack,    // result of stack() or ustack()
    SymAddr,  // result of sym(), mod() or func()
    UsymAddr, // result of usym(), umod() or uaddr()
    Dynamic, // <DYN>: type not known yet (aggregation result, array before first store)
};

struct Type;

struct Member {
    std::string name; // empty for an anonymous struct or union
    const Type* type = nullptr;
    std::uint64_t offset_bits = 0;
    std::uint32_t bitfield_bits = 0; // 0 if not a bit-field
};

struct Enumerator {
    std::string name;
    std::int64_t value = 0;
};

struct Type {
    TypeKind kind = TypeKind::Void;
    std::string name; // "int", "foo" for struct foo, a typedef's name; may be empty
    std::uint64_t size = 0;      // bytes
    std::uint32_t align = 1;     // bytes
    std::uint32_t own_align = 0; // for Typedef: the alignment that it declares, or 0
    bool is_signed = false;      // for Integer
    bool is_char = false;        // for Integer: char, signed char, unsigned char
    bool is_bool = false;
    // set only in a Typedef without a name, which adds qualifiers to its base
    bool is_const = false, is_volatile = false;
    bool userland = false; // loads read the memory of the traced process
    // Pointer: the pointee; Array: the element type; Typedef: the named type; Function:
    // the return type
    const Type* base = nullptr;
    // Array: number of elements; 0 if it is flexible
    std::uint64_t count = 0;
    std::vector<Member> members;         // for Struct and Union
    std::vector<Enumerator> enumerators; // for Enum
    std::vector<const Type*> parameters; // for Function
    bool varargs = false;
    Passing passing = Passing::ByMembers;
    bool complete = true; // Struct, Union, Enum: has a body; Array: has a size
    // Typedef: the cached result of resolve(); null if not known yet
    const Type* resolved = nullptr;

    // Returns the type without typedefs and qualifiers.
    const Type* resolve() const;
    std::uint32_t alignment() const; // the alignment of a member of this type
    bool is_integer() const;         // Integer or Enum after resolve()
    bool is_float() const;
    bool is_arithmetic() const;
    bool is_pointer() const; // Pointer after resolve()
    bool is_scalar() const;  // arithmetic or pointer
    bool is_string() const;  // String after resolve()
    // Whether the type is a string, an array of char or a pointer to char. Such values
    // are compared as strings.
    bool is_string_compatible() const;
    bool is_struct_or_union() const;
    bool is_by_ref() const; // String, Array, Struct, Union, Stack, SymAddr, UsymAddr
    // Finds a member by name, also in anonymous members. found.offset_bits counts from
    // the start of this type.
    bool find_member(std::string_view name, Member& found) const;
};

// Returns whether the types are the same. Two structs, unions or enums without a name
// are the same if their bodies are equal.
bool is_same_type(const Type& one, const Type& other);
// Compares only the members or enumerators, not the names of the types.
bool has_same_body(const Type& one, const Type& other);

class TypeTable {
public:
    // strsize is the size of `string` in bytes.
    explicit TypeTable(std::uint64_t strsize = 256);
    ~TypeTable();

    const Type* void_type() const;
    const Type* int_type() const;    // "int"
    const Type* int64_type() const;  // "int64_t"
    const Type* uint64_type() const; // "uint64_t"
    const Type* string_type() const;
    const Type* stack_type() const;
    const Type* symaddr_type() const;
    const Type* usymaddr_type() const;
    const Type* dynamic_type() const;

    const Type* pointer_to(const Type* base, bool userland = false);
    const Type* array_of(const Type* base, std::uint64_t count, bool complete = true);
    const Type* function_of(const Type* result, std::vector<const Type*> parameters,
                            bool varargs);
    const Type* qualified(const Type* base, bool is_const, bool is_volatile,
                          bool userland);

    // Finds a type by a name such as "struct foo" or "uint8_t". Returns null if it does
    // not exist.
    const Type* lookup(std::string_view name) const;
    // Like lookup(), but ignores redeclarations by programs. Used for the prototypes of
    // builtins and subroutines.
    const Type* lookup_original(std::string_view name) const;
    // Creates a type, or returns the existing one. The caller fills in the body.
    // Returns null if the name belongs to another kind of type.
    Type* declare(TypeKind kind, std::string_view name);
    // Replaces a type declared before mark() with a new, incomplete type of the same
    // name. Returns null if there is no such type, or if it was declared after mark().
    Type* redeclare(TypeKind kind, std::string_view name);
    // Returns whether the type was declared after the last mark().
    bool is_fresh(const Type* type) const;
    Type* anonymous(TypeKind kind);

    const Enumerator* find_enumerator(std::string_view name, const Type*& in) const;
    void add_enumerator_scope(const Type* enumeration);

    // Sets the size of `string` in bytes. Must be called before the first use of
    // `string`.
    void set_strsize(std::uint64_t strsize);

    // rollback() undoes the declarations and completions since mark(). Pointers to
    // types stay valid.
    std::size_t mark();
    void rollback(std::size_t mark);

private:
    const Type* find_text(std::string_view name, bool original) const;

    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// Returns the text for messages, such as "struct foo *" or "dynamic variable".
std::string type_text(const Type* type);
// Returns a declaration such as "int (*f)(void)". If the name is empty, returns only
// the type.
std::string declaration_text(const Type* type, std::string_view name);

} // namespace dt
