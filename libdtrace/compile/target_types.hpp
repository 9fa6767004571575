// SPDX-License-Identifier: MIT
// Types of the traced process' debug data, as D types.
//
//   DebugTypes of a module ── type() ──> Type of the table, one for each entry
//
// What a struct has in it is looked up when complete() is called for it, so that a
// pointer costs its own type and not all that can be reached from it: the checker
// completes the type of every expression. Types that C has too are D's own ones. Pointers
// in such types lead to the process: they are userland.
#pragma once

#include "libdtrace/compile/types.hpp"
#include "libdtrace/symbols/debug_types.hpp"

#include <map>
#include <unordered_map>

namespace dt {

class TargetTypes {
public:
    explicit TargetTypes(TypeTable& types) : types_(types) {}

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
    const Type* make(DebugTypes& from, DebugRef ref, int depth);
    const Type* make_scalar(const DebugType& described);
    const Type* make_opaque(const DebugType& described);
    const Type* make_array(DebugTypes& from, const DebugType& described, int depth);
    const Type* make_tagged(DebugTypes& from, DebugRef ref, const DebugType& described);
    const Type* make_enum(const DebugType& described);
    const Type* make_typedef(DebugTypes& from, const DebugType& described, int depth);
    const Type* make_function(DebugTypes& from, const DebugType& described, int depth);
    void fill(Body body, int depth);
    void complete_value(const Type* type, int depth);

    TypeTable& types_;
    std::map<DebugTypes*, std::unordered_map<DebugRef, const Type*>> made_;
    std::unordered_map<const Type*, Body> bodies_; // that are still to be filled in
};

} // namespace dt
