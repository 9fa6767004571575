// SPDX-License-Identifier: MIT
// Types of the traced process' debug data and of the kernel's, as D types.
//
//   DebugTypes of a module ── type() ──> Type of the table, one for each entry
//
// What a struct has in it is looked up when complete() is called for it, so that a
// pointer costs its own type and not all that can be reached from it: the checker
// completes the type of every expression. Types that C has too are D's own ones. Pointers
// in types of a process lead to it: they are userland. Those in the kernel's do not.
//
// The data may lie: a type that is made of itself, or of more than any program has, is void
// there, and a member that is not within its struct is left out. What is made here can be
// walked by recursion.
#pragma once

#include "libdtrace/compile/types/types.hpp"
#include "libdtrace/symbols/debug/debug_types.hpp"

#include <map>
#include <unordered_map>
#include <unordered_set>

namespace dt {

class TargetTypes {
public:
    explicit TargetTypes(TypeTable& types) : types_(types) {}

    TypeTable& table() { return types_; }
    // Of a process, whose memory is not D's.
    const Type* in_process(const Type* type)
    {
        return types_.qualified(type, false, false, true);
    }
    // Of an entry; complete.
    const Type* type(DebugTypes& from, DebugRef ref);
    // The struct or union that the type is, or that it points to: its members.
    void complete(const Type* type);

private:
    struct Body {
        DebugTypes* from = nullptr;
        DebugRef ref = 0;
        Type* into = nullptr;
    };
    // Where a walk over a type is: a struct's members only where it lies in another type.
    struct Extent {
        int height = 0;
        std::uint32_t n_types = 1;
    };
    const Type* make(DebugTypes& from, DebugRef ref, int depth);
    const Type* make_described(DebugTypes& from, DebugRef ref,
                               const DebugType& described, int depth);
    bool measure(const Type* type);
    Extent extent(const Type* type) const;
    const Type* make_scalar(const DebugType& described);
    const Type* make_opaque(const DebugType& described);
    const Type* make_array(DebugTypes& from, const DebugType& described, int depth);
    const Type* make_tagged(DebugTypes& from, DebugRef ref, const DebugType& described);
    const Type* make_enum(const DebugType& described);
    const Type* make_typedef(DebugTypes& from, const DebugType& described, int depth);
    const Type* make_function(DebugTypes& from, const DebugType& described, int depth);
    void fill(Body body, int depth);
    bool fill_member(DebugMember&& member, const Body& body, int depth);
    // False: it is being completed, or lies too deep.
    bool complete_value(const Type* type, int depth);

    TypeTable& types_;
    std::map<DebugTypes*, std::unordered_map<DebugRef, const Type*>> made_;
    std::unordered_map<const Type*, Body> bodies_; // that are still to be filled in
    std::unordered_set<const Type*> filling_;
    std::unordered_map<const Type*, Extent> extents_;
    std::unordered_map<const Type*, std::uint32_t> n_parts_; // of structs
};

} // namespace dt
